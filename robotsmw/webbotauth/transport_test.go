package webbotauth

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

var signatureInput = regexp.MustCompile(`^sig1=(\("@authority" "@method" "@path" "signature-agent"(?:;key="sig1")?\);created=(\d+);expires=(\d+);keyid="([^"]+)";alg="ed25519";tag="web-bot-auth")$`)

// verified checks the signature of a request that a server received. It does
// not use the package's code to build the signed text. It returns the times
// between which the signature is valid.
func verified(r *http.Request, public ed25519.PublicKey) (created, expires time.Time, err error) {
	m := signatureInput.FindStringSubmatch(r.Header.Get("Signature-Input"))
	if m == nil {
		return created, expires, fmt.Errorf("the Signature-Input is %q, want one in the form of a Transport", r.Header["Signature-Input"])
	}
	path, _, _ := strings.Cut(r.RequestURI, "?")
	agent, isMember := strings.CutPrefix(r.Header.Get("Signature-Agent"), "sig1=")
	agentID := `"signature-agent"`
	if isMember {
		agentID += `;key="sig1"`
	}
	base := fmt.Sprintf("\"@authority\": %s\n"+
		"\"@method\": %s\n"+
		"\"@path\": %s\n"+
		"%s: %s\n"+
		"\"@signature-params\": %s",
		strings.ToLower(strings.TrimSuffix(r.Host, ":443")), r.Method, path, agentID, agent, m[1])
	signature, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(strings.TrimPrefix(r.Header.Get("Signature"), "sig1=:"), ":"))
	if err != nil || !ed25519.Verify(public, []byte(base), signature) {
		return created, expires, fmt.Errorf("the signature of %s %s is not valid, want a valid one; the signature base of the server is\n%s",
			r.Method, r.URL, base)
	}
	if m[4] != KeyID(public) {
		return created, expires, fmt.Errorf("the keyid is %s, want %s", m[4], KeyID(public))
	}
	seconds := func(text string) time.Time {
		n, _ := strconv.ParseInt(text, 10, 64)
		return time.Unix(n, 0)
	}
	return seconds(m[2]), seconds(m[3]), nil
}

// verifier returns a handler that responds with 200 to a request with a valid
// signature, and with 401 to any other.
func verifier(public ed25519.PublicKey) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, _, err := verified(r, public); err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
		}
	})
}

func get(t *testing.T, rt http.RoundTripper, method, url string, change func(*http.Request)) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(req)
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Request != req {
		t.Errorf("got a response to the request %p, want %p", resp.Request, req)
	}
	return resp.StatusCode, string(data)
}

func TestTransport_Signs(t *testing.T) {
	key := newKey(t)
	for _, legacy := range []bool{false, true} {
		var web robotstest.Internet
		for _, host := range []string{"a.example", "xn--bcher-kva.example", "a.example:8443", "192.0.2.1"} {
			web.Handle(host, verifier(publicKey(key)))
		}
		transport := &Transport{
			Base:        &web,
			Key:         key,
			Agent:       testAgent + DirectoryPath,
			LegacyAgent: legacy,
		}
		for _, tt := range []struct {
			name, method, url string
			change            func(*http.Request)
		}{
			{"a page", "GET", "https://a.example/", nil},
			{"no path", "GET", "https://a.example", nil},
			{"HEAD", "HEAD", "https://a.example/", nil},
			{"no method", "GET", "https://a.example/", func(r *http.Request) { r.Method = "" }},
			{"a query", "GET", "https://a.example/a?b=c&d", nil},
			{"escapes", "GET", "https://a.example/%7Ea/%e4%bd%a0%2F;x=1,2/$&'()*+:@", nil},
			{"what has to be escaped", "GET", "https://a.example/ä b/\"[]^|", nil},
			{"the default port", "GET", "https://a.example:443/", nil},
			{"another port", "GET", "https://A.example:8443/", nil},
			{"capitals", "GET", "https://A.EXAMPLE/Path", nil},
			{
				name:   "another script",
				method: "GET",
				url:    "https://bücher.example/",
				change: func(r *http.Request) { r.URL.Host = "xn--bcher-kva.example"; r.Host = "bücher.example" },
			},
			{
				name:   "another Host",
				method: "GET",
				url:    "https://192.0.2.1/",
				change: func(r *http.Request) { r.Host = "Other.example" },
			},
			{"no headers", "GET", "https://a.example/", func(r *http.Request) { r.Header = nil }},
		} {
			t.Run(fmt.Sprintf("%s, legacy %v", tt.name, legacy), func(t *testing.T) {
				status, body := get(t, transport, tt.method, tt.url, tt.change)
				if status != 200 {
					t.Errorf("got the status %d and the body %q, want the status 200", status, body)
				}
			})
		}
		for _, r := range web.Log() {
			want := `sig1="` + testAgent + DirectoryPath + `"`
			if legacy {
				want = strings.TrimPrefix(want, "sig1=")
			}
			if got := r.Header["Signature-Agent"]; len(got) != 1 || got[0] != want {
				t.Errorf("got the Signature-Agent %q, want %q", got, want)
			}
		}
	}
}

func TestTransport_LeavesAlone(t *testing.T) {
	var web robotstest.Internet
	web.Handle("a.example", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	tests := []struct {
		name, url string
		header    http.Header
	}{
		{"plain http", "http://a.example/", nil},
		{"a Signature", "https://a.example/?secret#f", http.Header{"Signature": {"x=:YQ==:"}}},
		{"a Signature-Input", "https://a.example/", http.Header{"Signature-Input": {"x=()"}}},
		{"a Signature-Agent", "https://a.example/", http.Header{"Signature-Agent": {testAgent}}},
		{"a field that is not to be sent", "https://a.example/", http.Header{"Signature": nil}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			get(t, &Transport{
				Base:  &web,
				Key:   newKey(t),
				Agent: testAgent,
			}, "GET", tt.url, func(r *http.Request) {
				if tt.header != nil {
					r.Header = tt.header.Clone()
				}
			})
			requests := web.Log()
			got := requests[len(requests)-1].Header
			if !maps.EqualFunc(got, tt.header, slices.Equal) {
				t.Errorf("got a request with the header %v, want %v", got, tt.header)
			}
		})
	}
}

// TestTransport_DoesNotChangeTheRequest checks that the caller's request is not
// modified, as required of an http.RoundTripper.
func TestTransport_DoesNotChangeTheRequest(t *testing.T) {
	header := http.Header{"Accept": {"text/html"}, "X-Shared": make([]string, 1, 4)}
	req, err := http.NewRequestWithContext(
		t.Context(),
		"POST",
		"https://A.example:443/a?b",
		strings.NewReader("body"),
	)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	before := *req
	url := *req.URL
	transport := &Transport{Key: newKey(t), Agent: testAgent, Base: roundTripper(func(r *http.Request) (*http.Response, error) {
		if r == req {
			t.Error("Base got the caller's request, want a copy")
		}
		if r.URL.String() != url.String() || r.Host != "a.example" {
			t.Errorf("Base got a request of %s with the Host %q, want %s and %q", r.URL, r.Host, &url, "a.example")
		}
		if r.Body != req.Body || r.ContentLength != 4 {
			t.Errorf("Base got a body of %d bytes, want the caller's of 4", r.ContentLength)
		}
		r.Header.Add("X-Shared", "changed by Base")
		r.Header.Set("Accept", "*/*")
		return nil, errors.New("not sent")
	})}
	if _, err := transport.RoundTrip(req); err == nil || err.Error() != "not sent" {
		t.Errorf("RoundTrip returns the error %v, want that of Base, not sent", err)
	}
	if len(req.Header) != 2 || req.Header.Get("Accept") != "text/html" {
		t.Errorf("RoundTrip changed the header to %v, want it unchanged", req.Header)
	}
	shared := req.Header["X-Shared"]
	if len(shared) != 1 || shared[:2][1] != "" {
		t.Errorf("RoundTrip changed the values of X-Shared to %q, want them unchanged", shared[:2])
	}
	if *req.URL != url || req.Host != before.Host || req.Method != before.Method {
		t.Errorf("RoundTrip changed the request to %s %s with the Host %q, want it unchanged", req.Method, req.URL, req.Host)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type closeCounter struct {
	io.Reader
	closed int
}

func (c *closeCounter) Close() error { c.closed++; return nil }

func TestTransport_Misconfigured(t *testing.T) {
	key := newKey(t)
	tests := []struct {
		name string
		t    *Transport
		want string
	}{
		{"no key", &Transport{Agent: testAgent}, "Transport.Key: the key is empty"},
		{"half a key", &Transport{Key: key[:32], Agent: testAgent}, "not have the size"},
		{
			name: "two halves",
			t:    &Transport{Key: append(key.Seed(), newKey(t)[32:]...), Agent: testAgent},
			want: "public and private parts",
		},
		{"a test key", &Transport{Key: testKey(t), Agent: testAgent}, "test key of RFC 9421"},
		{"no agent", &Transport{Key: key}, "Transport.Agent: the URL is empty"},
		{"plain http", &Transport{Key: key, Agent: "http://bot.example/"}, "begins with https://"},
		{"no host", &Transport{Key: key, Agent: "https:///keys"}, "begins with https://"},
		{"no URL", &Transport{Key: key, Agent: "https://a b/"}, "Agent"},
		{
			name: "a password",
			t:    &Transport{Key: key, Agent: "https://me:hunter2@bot.example/"},
			want: "must not contain a user, password or fragment",
		},
		{"a quote", &Transport{Key: key, Agent: `https://bot.example/"`}, "ASCII"},
		{"another script", &Transport{Key: key, Agent: "https://bücher.example/"}, "ASCII"},
		{"no time", &Transport{Key: key, Agent: testAgent, Validity: time.Millisecond}, "Validity"},
		{
			name: "a negative time",
			t:    &Transport{Key: key, Agent: testAgent, Validity: -time.Minute},
			want: "Validity",
		},
		{
			name: "a long time",
			t:    &Transport{Key: key, Agent: testAgent, Validity: 25 * time.Hour},
			want: "Validity",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.t.Base = roundTripper(func(r *http.Request) (*http.Response, error) {
				t.Error("Base got a request, want none")
				return nil, io.EOF
			})
			invalid := tt.t.Validate()
			if invalid == nil || !strings.Contains(invalid.Error(), tt.want) {
				t.Fatalf("Validate = %v, want an error that contains %q", invalid, tt.want)
			}
			body := &closeCounter{Reader: strings.NewReader("x")}
			for range 2 {
				req, err := http.NewRequestWithContext(
					t.Context(),
					"POST",
					"https://a.example/",
					body,
				)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := tt.t.RoundTrip(req)
				if resp != nil || err == nil {
					t.Fatalf("RoundTrip = %v, %v, want only an error", resp, err)
				}
				if !strings.HasPrefix(err.Error(), "webbotauth: ") {
					t.Fatalf("RoundTrip returns the error %v, want one of webbotauth", err)
				}
				checkSecret(t, err.Error(), key, nil)
				if err.Error() != invalid.Error() {
					t.Errorf("RoundTrip returns the error %v, want that of Validate: %v", err, invalid)
				}
			}
			if body.closed != 2 {
				t.Errorf("the body was closed %d times, want 2", body.closed)
			}
		})
	}
}

// TestTransport_InvalidHost checks that a request is not sent if its Host
// cannot be written in a header. net/http would send an empty Host, which is
// not the one that is signed, and a line break would add a line to the signed
// text.
func TestTransport_InvalidHost(t *testing.T) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{
		"shop.example/path",
		"shop example",
		"shop.example\r\nX-Injected: 1",
		"shop\"\n\"@method\": POST",
	} {
		sent := 0
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			sent++
			return nil, io.EOF
		})
		tr := &Transport{Base: base, Key: key, Agent: "https://bot.example" + DirectoryPath}
		body := &closeCounter{Reader: strings.NewReader("body")}
		req, err := http.NewRequest(http.MethodPost, "https://shop.example/", body)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		_, err = tr.RoundTrip(req)
		if err == nil || !strings.Contains(err.Error(), "is not valid in a Host header") {
			t.Errorf(`RoundTrip with the Host %q: got the error %v, want "is not valid in a Host header"`, host, err)
		}
		if sent != 0 || body.closed != 1 {
			t.Errorf("RoundTrip with the Host %q: sent %d requests and closed the body %d times, want 0 and 1",
				host, sent, body.closed)
		}
	}
}

// TestTransport_ValidateAsksBase checks that Validate returns the error of
// Base, because constructors do not validate the Base of a Transport.
func TestTransport_ValidateAsksBase(t *testing.T) {
	signing := &Transport{Key: newKey(t), Agent: testAgent}
	if err := signing.Validate(); err != nil {
		t.Errorf("Validate without a Base = %v, want nil", err)
	}
	signing.Base = &politeness.Transport{Limiter: &politeness.Limiter{Jitter: -1}}
	if err := signing.Validate(); err == nil || !strings.Contains(err.Error(), "Limiter.Jitter") {
		t.Errorf("Validate = %v, want the error of Base about Limiter.Jitter", err)
	}
	signing.Base = new(politeness.Transport)
	if err := signing.Validate(); err != nil {
		t.Errorf("Validate with a valid Base = %v, want nil", err)
	}
}

// In a crawl with delays, each request is signed when it is sent, and not when
// its wait begins. Redirect hops and fetches of robots.txt are signed too.
func TestTransport_UnderThePace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := newKey(t)
		var mu sync.Mutex
		var seen []string
		check := func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				created, expires, err := verified(r, publicKey(key))
				now := time.Now()
				if err != nil {
					t.Error(err)
				} else if !created.Equal(now.Truncate(time.Second)) || expires.Sub(created) != time.Minute {
					t.Errorf("%s at %v is signed from %v to %v, want from then for a minute", r.URL, now, created, expires)
				}
				mu.Lock()
				seen = append(seen, r.Host+r.RequestURI)
				mu.Unlock()
				h.ServeHTTP(w, r)
			})
		}
		var web robotstest.Internet
		web.Handle("a.example", check(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/robots.txt":
				io.WriteString(w, "User-agent: *\nCrawl-delay: 7\n")
			case "/old":
				http.Redirect(w, r, "/mid?x=1", http.StatusFound)
			case "/mid":
				http.Redirect(w, r, "https://b.example:8443/%7Enew", http.StatusMovedPermanently)
			}
		})))
		web.Handle("b.example:8443", check(robotstest.Site{"/robots.txt": "", "/%7Enew": "new"}))
		client, err := robotsmw.NewClient(robotsmw.Options{
			UserAgent: "ExampleBot/1.0 (+https://bot.example/)",
			Base:      &Transport{Base: &web, Key: key, Agent: testAgent, Validity: time.Minute},
			Limiter:   &politeness.Limiter{},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, url := range []string{"https://a.example/old", "https://a.example/1", "https://a.example/2"} {
			resp, err := client.Get(url)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		want := "a.example/robots.txt a.example/old a.example/mid?x=1 b.example:8443/robots.txt b.example:8443/%7Enew a.example/1 a.example/2"
		if got := strings.Join(seen, " "); got != want {
			t.Errorf("the signed requests are\n%s\nwant\n%s", got, want)
		}
	})
}

func TestTransport_SignsEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := newKey(t)
		var web robotstest.Internet
		web.Handle("a.example", verifier(publicKey(key)))
		transport := &Transport{Base: &web, Key: key, Agent: testAgent}
		req, err := http.NewRequestWithContext(t.Context(), "GET", "https://a.example/", nil)
		if err != nil {
			t.Fatal(err)
		}
		signatures := make(map[string]bool)
		for range 3 {
			resp, err := transport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != 200 {
				t.Errorf("the response has the status %s, want 200", resp.Status)
			}
			time.Sleep(time.Second)
		}
		for _, r := range web.Log() {
			signatures[r.Header.Get("Signature")] = true
		}
		if len(signatures) != 3 {
			t.Errorf("3 attempts have %d different signatures, want 3", len(signatures))
		}
	})
}

func TestTransport_ClosesIdleConnections(t *testing.T) {
	closed := 0
	transport := &Transport{Base: idleCloser{func() { closed++ }}}
	(&http.Client{Transport: transport}).CloseIdleConnections()
	(&Transport{Base: roundTripper(nil)}).CloseIdleConnections()
	(&Transport{}).CloseIdleConnections()
	if closed != 1 {
		t.Errorf("CloseIdleConnections of Base was called %d times, want once", closed)
	}
}

type idleCloser struct{ close func() }

func (c idleCloser) RoundTrip(*http.Request) (*http.Response, error) { return nil, io.EOF }
func (c idleCloser) CloseIdleConnections()                           { c.close() }

// Signing and sending one request should take less than 60 µs.
func BenchmarkTransport(b *testing.B) {
	key := newKey(b)
	resp := &http.Response{StatusCode: 200, Body: http.NoBody}
	var last *http.Request
	transport := &Transport{Key: key, Agent: testAgent + DirectoryPath, Base: roundTripper(func(r *http.Request) (*http.Response, error) {
		last = r
		return resp, nil
	})}
	req, err := http.NewRequest("GET", "https://www.example.com/path/to/page?query", nil)
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("User-Agent", "ExampleBot/1.0")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := transport.RoundTrip(req); err != nil {
			b.Fatal(err)
		}
	}
	last.RequestURI = last.URL.RequestURI()
	if _, _, err := verified(last, publicKey(key)); err != nil {
		b.Error(err)
	}
}
