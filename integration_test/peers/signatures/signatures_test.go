package signatures

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yaronf/httpsign"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/webbotauth"
)

const agent = "https://bot.example" + webbotauth.DirectoryPath

func newKey(t *testing.T) (ed25519.PublicKey, ed25519.PrivateKey) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return public, private
}

// referee returns a function that verifies the signature of a request with a
// public key.
func referee(t *testing.T, public ed25519.PublicKey, legacy bool) func(*http.Request) error {
	t.Helper()
	fields := httpsign.NewFields().AddHeaders("@authority", "@method", "@path")
	if legacy {
		fields.AddHeader("signature-agent")
	} else {
		fields.AddDictHeader("signature-agent", "sig1")
	}
	config := httpsign.NewVerifyConfig().SetKeyID(webbotauth.KeyID(public)).SetAllowedTags([]string{"web-bot-auth"})
	config.SetNotOlderThan(time.Minute) // the crawl takes more than the usual 10 s on a busy machine
	verifier, err := httpsign.NewEd25519Verifier(public, config, *fields)
	if err != nil {
		t.Fatal(err)
	}
	return func(r *http.Request) error { return httpsign.VerifyRequest("sig1", *verifier, r) }
}

// A server answers for every host over TLS, and keeps each request as it was
// received.
type server struct {
	*httptest.Server
	mu   sync.Mutex
	seen []*http.Request
}

func newServer(t *testing.T, http2 bool) *server {
	s := new(server)
	s.Server = httptest.NewUnstartedServer(s)
	s.EnableHTTP2 = http2
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// base returns a transport that sends every request to s, whatever its host.
func (s *server) base(http2 bool) *http.Transport {
	return &http.Transport{
		ForceAttemptHTTP2: http2,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // the server's certificate names none of these hosts
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, s.Listener.Addr().String())
		},
	}
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kept := r.Clone(context.Background())
	kept.Body = http.NoBody
	s.mu.Lock()
	s.seen = append(s.seen, kept)
	s.mu.Unlock()
	switch r.URL.Path {
	case "/robots.txt":
		io.WriteString(w, "User-agent: *\nDisallow: /no\n")
	case "/moved":
		http.Redirect(w, r, "/on%2Fward?to=b", http.StatusMovedPermanently)
	case "/on/ward":
		http.Redirect(w, r, "https://Other.example:8443/%7Eend;v=1?x=%20y", http.StatusTemporaryRedirect)
	}
}

var targets = []string{
	"https://a.example/",
	"https://a.example",
	"https://a.example:443/default-port",
	"https://A.Example/Capitals",
	"https://a.example:8443/another/port",
	"https://a.example/a?b=c&d=%C3%A4#fragment",
	"https://a.example/?",
	"https://a.example/%7euser/%E4%BD%A0%e5%a5%bd/a%2Fb%3Fc%25",
	"https://a.example/你好/ä b",
	"https://a.example/;p=1,2/$&'()*+:@!~-._",
	"https://a.example//double//slash/",
	"https://a.example/[x]|^`{}\"<>\\",
	"https://bücher.example/straße?q=ü",
	"https://例え.テスト:8443/",
	"https://xn--bcher-kva.example/",
	"https://a.example./dot",
	"https://192.0.2.1/v4",
	"https://[2001:DB8::1]:8443/v6",
	"https://a_b.example/underscore",
	"https://a.example/moved",
}

// This URL is tested only without HTTP/2. For a host with capitals outside
// ASCII, net/http (Go 1.26) waits for an HTTP/2 connection and never stops.
const capitals = "https://BÜCHER.example/"

func targetsFor(http2 bool) []string {
	if http2 {
		return targets
	}
	return append([]string{capitals}, targets...)
}

// Each request of a crawl has a valid signature, including requests for
// robots.txt and requests after redirects.
func TestCrawl(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		for _, legacy := range []bool{false, true} {
			t.Run(fmt.Sprintf("HTTP/2 %v, legacy %v", http2, legacy), func(t *testing.T) {
				s := newServer(t, http2)
				public, private := newKey(t)
				base := s.base(http2)
				defer base.CloseIdleConnections()
				client, err := robotsmw.NewClient(robotsmw.Options{
					UserAgent: "ExampleBot/1.0 (+https://bot.example/)",
					Base: &webbotauth.Transport{
						Base:        base,
						Key:         private,
						Agent:       agent,
						LegacyAgent: legacy,
					},
					Limiter: &politeness.Limiter{Delay: -1},
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, target := range targetsFor(http2) {
					get(t, client, http.MethodGet, target)
				}
				get(t, client, http.MethodHead, "https://a.example/head")
				verify(t, s, referee(t, public, legacy), len(targets)+3)
			})
		}
	}
}

// Signatures are valid without robotsmw too. In this case, hosts stay as the
// caller wrote them.
func TestTransportAlone(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("HTTP/2 %v", http2), func(t *testing.T) {
			s := newServer(t, http2)
			public, private := newKey(t)
			base := s.base(http2)
			defer base.CloseIdleConnections()
			client := &http.Client{Transport: &webbotauth.Transport{Base: base, Key: private, Agent: agent}}
			for _, target := range targetsFor(http2) {
				get(t, client, http.MethodGet, target)
			}
			get(t, client, http.MethodPost, "https://a.example/post")
			verify(t, s, referee(t, public, false), len(targets)+3)
		})
	}
}

func get(t *testing.T, client *http.Client, method, target string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
}

// oneOf is how few of the bytes of a request's header fields are changed, which
// are much the same in all requests. Another request has the next ones changed,
// so that over a crawl each of them is.
const oneOf = 8

// verify calls judge() for every request that the server saw. Each request must
// be valid as it was received, and invalid if a signed byte is changed.
func verify(t *testing.T, s *server, judge func(*http.Request) error, atLeast int) {
	t.Helper()
	if len(s.seen) < atLeast {
		t.Errorf("%d requests, want %d at least", len(s.seen), atLeast)
	}
	hosts := make(map[string]bool)
	for n, r := range s.seen {
		hosts[r.Host] = true
		if err := judge(r); err != nil {
			t.Errorf("%s %s%s: %v\n%v", r.Method, r.Host, r.RequestURI, err, r.Header)
			continue
		}
		changed := 0
		for what, forged := range forgeries(r, n) {
			changed++
			if judge(forged) == nil {
				t.Errorf("%s %s%s: still verified with another %s", r.Method, r.Host, r.RequestURI, what)
			}
		}
		if changed < 300/oneOf {
			t.Errorf("%s%s: %d forgeries alone", r.Host, r.RequestURI, changed)
		}
	}
	for _, host := range []string{"xn--bcher-kva.example", "xn--r8jz45g.xn--zckzah:8443"} {
		if !hosts[host] {
			t.Errorf("%s was not asked; these were: %v", host, hosts)
		}
	}
}

// forgeries yields copies of the request. In each copy, another signed byte is
// changed; in header fields every oneOf-th, counted from n. The string that
// comes with the copy says which byte.
func forgeries(r *http.Request, n int) func(yield func(string, *http.Request) bool) {
	return func(yield func(string, *http.Request) bool) {
		each := func(what, value string, first, step int, set func(forged *http.Request, value string) bool) bool {
			for i := first; i < len(value); i += step {
				forged := r.Clone(context.Background())
				if set(forged, value[:i]+otherByte(value[i])+value[i+1:]) && !yield(fmt.Sprintf("%s (byte %d)",
					what, i), forged) {
					return false
				}
			}
			return true
		}
		header := func(name string) bool {
			return each(name, r.Header.Get(name), n%oneOf, oneOf, func(forged *http.Request, value string) bool {
				forged.Header.Set(name, value)
				return true
			})
		}
		path, query, _ := strings.Cut(r.RequestURI, "?")
		_ = each("@method",
			r.Method, 0, 1, func(forged *http.Request, value string) bool { forged.Method = value; return true }) &&
			each("@authority",
				r.Host, 0, 1, func(forged *http.Request, value string) bool { forged.Host = value; return true }) &&
			each("@path", path, 0, 1, func(forged *http.Request, value string) bool {
				if query != "" {
					value += "?" + query
				}
				u, err := url.ParseRequestURI(value)
				if err != nil {
					return false // no server would accept this path
				}
				forged.RequestURI, forged.URL = value, u
				return true
			}) && header("Signature-Agent") && header("Signature-Input") && header("Signature")
	}
}

// otherByte returns a byte that is neither equal nor equivalent to c.
func otherByte(c byte) string {
	switch {
	case strings.IndexByte("AQgw", c) >= 0: // only two bits count in the last base64 digit of a signature
		return string("QgwA"[strings.IndexByte("AQgw", c)])
	case c == '9':
		return "8"
	case '0' <= c && c < '9':
		return string(rune(c + 1))
	case c == 'f' || c == 'F':
		return "a"
	case 'a' <= c && c < 'z' || 'A' <= c && c < 'Z':
		return string(rune(c + 1))
	}
	return "a"
}

// httpsign accepts each signature of a Directory. If the Content-Digest or the
// authority is changed, httpsign rejects the signature.
func TestDirectory(t *testing.T) {
	_, first := newKey(t)
	_, second := newKey(t)
	d := &webbotauth.Directory{Authority: "bot.example", Keys: []ed25519.PrivateKey{first, second}}
	w := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodGet, agent, nil)
	d.ServeHTTP(w, req)
	answer := func() *http.Response {
		return &http.Response{
			StatusCode: w.Code,
			Header:     w.Header().Clone(),
			Body:       io.NopCloser(bytes.NewReader(w.Body.Bytes())),
		}
	}
	for label, key := range map[string]ed25519.PrivateKey{"binding": first, "binding2": second} {
		public := key.Public().(ed25519.PublicKey)
		fields := httpsign.NewFields().AddHeaderExt("@authority",
			false, false, true, false).AddHeader("content-digest")
		config := httpsign.NewVerifyConfig().SetKeyID(webbotauth.KeyID(public)).SetAllowedTags([]string{"http-message-signatures-directory"})
		config.SetNotOlderThan(time.Minute)
		verifier, err := httpsign.NewEd25519Verifier(public, config, *fields)
		if err != nil {
			t.Fatal(err)
		}
		judge := func(resp *http.Response, req *http.Request) error {
			if err := httpsign.VerifyResponse(label, *verifier, resp, req); err != nil {
				return err
			}
			body := io.NopCloser(bytes.NewReader(w.Body.Bytes()))
			return httpsign.ValidateContentDigestHeader(resp.Header.Values("Content-Digest"), &body, []string{httpsign.DigestSha256})
		}
		if err := judge(answer(), req); err != nil {
			t.Errorf("%s: %v\n%v", label, err, w.Header())
		}
		resp := answer()
		resp.Header.Set("Content-Digest", strings.Replace(resp.Header.Get("Content-Digest"), ":", ":A", 1))
		if judge(resp, req) == nil {
			t.Errorf("%s is verified with another Content-Digest", label)
		}
		if judge(answer(), httptest.NewRequest(http.MethodGet, "https://other.example"+webbotauth.DirectoryPath, nil)) == nil {
			t.Errorf("%s is verified for another authority", label)
		}
	}
}

// CheckDirectory accepts a directory that httpsign has signed.
func TestCheckDirectory(t *testing.T) {
	public, private := newKey(t)
	made, body, err := (&webbotauth.Directory{
		Authority: "bot.example",
		Keys:      []ed25519.PrivateKey{private},
	}).Response(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	base := roundTripper(func(req *http.Request) (*http.Response, error) {
		resp := &http.Response{
			StatusCode: http.StatusOK,
			Header:     http.Header{},
			Body:       io.NopCloser(bytes.NewReader(body)),
			Request:    req,
		}
		for _, name := range []string{"Content-Type", "Content-Digest"} {
			resp.Header.Set(name, made.Get(name))
		}
		fields := httpsign.NewFields().AddHeader("content-digest").AddHeaderExt("@authority",
			false, false, true, false).AddHeader("content-type")
		config := httpsign.NewSignConfig().SetKeyID(webbotauth.KeyID(public)).SetTag("http-message-signatures-directory").SetExpires(time.Now().Add(time.Hour).Unix())
		signer, err := httpsign.NewEd25519Signer(private, config, *fields)
		if err != nil {
			return nil, err
		}
		input, signature, err := httpsign.SignResponse("theirs", *signer, resp, req)
		if err != nil {
			return nil, err
		}
		resp.Header.Set("Signature-Input", input)
		resp.Header.Set("Signature", signature)
		return resp, nil
	})
	keys, problems := webbotauth.CheckDirectory(t.Context(), base, agent)
	if len(problems) > 0 || len(keys) != 1 || keys[0].ID != webbotauth.KeyID(public) || keys[0].Until.IsZero() {
		t.Errorf("%+v, %q", keys, problems)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
