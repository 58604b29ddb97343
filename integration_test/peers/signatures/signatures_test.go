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

// verifyConfig returns the configuration of a verifier for a key and a tag.
func verifyConfig(public ed25519.PublicKey, tag string) *httpsign.VerifyConfig {
	config := httpsign.NewVerifyConfig().SetKeyID(webbotauth.KeyID(public)).SetAllowedTags([]string{tag})
	return config.SetNotOlderThan(time.Minute) // the crawl takes more than the usual 10 s on a busy machine
}

// newVerifier returns a function that verifies the signature of a request with
// a public key.
func newVerifier(t *testing.T, public ed25519.PublicKey, legacy bool) func(*http.Request) error {
	t.Helper()
	fields := httpsign.NewFields().AddHeaders("@authority", "@method", "@path")
	if legacy {
		fields.AddHeader("signature-agent")
	} else {
		fields.AddDictHeader("signature-agent", "sig1")
	}
	verifier, err := httpsign.NewEd25519Verifier(public, verifyConfig(public, "web-bot-auth"), *fields)
	if err != nil {
		t.Fatal(err)
	}
	return func(r *http.Request) error { return httpsign.VerifyRequest("sig1", *verifier, r) }
}

// A server serves every host over TLS, and keeps each request unchanged.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*http.Request
}

// newServer starts a server.
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
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // the server's certificate is for none of these hosts
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, s.Listener.Addr().String())
		},
	}
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kept := r.Clone(context.Background())
	kept.Body = http.NoBody
	s.mu.Lock()
	s.requests = append(s.requests, kept)
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

// targetsFor returns the URLs to request. For a host with capitals outside
// ASCII, net/http (Go 1.26) waits for an HTTP/2 connection and never stops, so
// such a URL is requested only without HTTP/2.
func targetsFor(http2 bool) []string {
	if http2 {
		return targets
	}
	return append([]string{"https://BÜCHER.example/"}, targets...)
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
				verify(t, s, newVerifier(t, public, legacy), len(targets)+3)
			})
		}
	}
}

// Signatures are valid without robotsmw too, which does not normalize the hosts
// then.
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
			verify(t, s, newVerifier(t, public, false), len(targets)+3)
		})
	}
}

// get sends a request and reads the response.
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

// headerStep is the distance between two bytes of a header field that are
// changed in one request. Header fields are similar in all requests, so verify
// changes other bytes in each request, and a crawl covers all of them.
const headerStep = 8

// verify checks every request that the server received. The request must be
// valid unchanged, and invalid if a signed byte is changed.
func verify(t *testing.T, s *server, check func(*http.Request) error, minRequests int) {
	t.Helper()
	if len(s.requests) < minRequests {
		t.Errorf("the server received %d requests, want at least %d", len(s.requests), minRequests)
	}
	hosts := make(map[string]bool)
	for n, r := range s.requests {
		hosts[r.Host] = true
		if err := check(r); err != nil {
			t.Errorf("signature of %s %s%s is invalid: %v\n%v", r.Method, r.Host, r.RequestURI, err, r.Header)
			continue
		}
		all := forgeries(r, n)
		if minForgeries := 300 / headerStep; len(all) < minForgeries {
			t.Errorf("%s%s has %d forgeries, want at least %d", r.Host, r.RequestURI, len(all), minForgeries)
		}
		for _, f := range all {
			if check(f.request) == nil {
				t.Errorf("signature of %s %s%s is valid after a change of %s",
					r.Method, r.Host, r.RequestURI, f.changed)
			}
		}
	}
	for _, host := range []string{"xn--bcher-kva.example", "xn--r8jz45g.xn--zckzah:8443"} {
		if !hosts[host] {
			t.Errorf("requests were sent to %v, want also to %s", hosts, host)
		}
	}
}

// A forgery is a copy of a request in which one signed byte is changed.
type forgery struct {
	request *http.Request
	changed string // the component and the index of the byte
}

// forgeries returns the forgeries of the n-th request.
func forgeries(r *http.Request, n int) (all []forgery) {
	// add adds a forgery for each step-th byte of a component, beginning with
	// the first one. set changes the component, or returns false if no server
	// would accept the value.
	add := func(component, value string, first, step int, set func(forged *http.Request, value string) bool) {
		for i := first; i < len(value); i += step {
			forged := r.Clone(context.Background())
			if set(forged, value[:i]+otherByte(value[i])+value[i+1:]) {
				all = append(all, forgery{forged, fmt.Sprintf("%s (byte %d)", component, i)})
			}
		}
	}
	add("@method", r.Method, 0, 1, func(forged *http.Request, value string) bool {
		forged.Method = value
		return true
	})
	add("@authority", r.Host, 0, 1, func(forged *http.Request, value string) bool {
		forged.Host = value
		return true
	})
	path, query, _ := strings.Cut(r.RequestURI, "?")
	add("@path", path, 0, 1, func(forged *http.Request, value string) bool {
		if query != "" {
			value += "?" + query
		}
		u, err := url.ParseRequestURI(value)
		forged.RequestURI = value
		forged.URL = u
		return err == nil
	})
	for _, name := range []string{"Signature-Agent", "Signature-Input", "Signature"} {
		add(name, r.Header.Get(name), n%headerStep, headerStep, func(forged *http.Request, value string) bool {
			forged.Header.Set(name, value)
			return true
		})
	}
	return all
}

// otherByte returns a byte that is neither equal nor equivalent to c.
func otherByte(c byte) string {
	// Only two bits count in the last base64 digit of a signature.
	const lastDigits = "AQgw"
	isLetter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	switch i := strings.IndexByte(lastDigits, c); {
	case i >= 0:
		return string(lastDigits[(i+1)%len(lastDigits)])
	case '0' <= c && c < '9':
		return string(rune(c + 1))
	case c == '9':
		return "8"
	case c == 'f' || c == 'F' || c == 'z' || c == 'Z':
		return "a"
	case isLetter:
		return string(rune(c + 1))
	}
	return "a"
}

// directoryTag is the tag of the signatures of a key directory.
const directoryTag = "http-message-signatures-directory"

// directoryFields returns the components of a signature of a key directory.
func directoryFields() *httpsign.Fields {
	fields := httpsign.NewFields().AddHeader("content-digest")
	return fields.AddHeaderExt("@authority", false, false, true, false)
}

// A directoryResponse is the response of a Directory to a request.
type directoryResponse struct {
	recorder *httptest.ResponseRecorder
	request  *http.Request
}

// response returns a copy of the response.
func (d directoryResponse) response() *http.Response {
	return &http.Response{
		StatusCode: d.recorder.Code,
		Header:     d.recorder.Header().Clone(),
		Body:       io.NopCloser(bytes.NewReader(d.recorder.Body.Bytes())),
	}
}

// verify verifies the signature with this label in a response to a request.
func (d directoryResponse) verify(
	label string,
	public ed25519.PublicKey,
	resp *http.Response,
	req *http.Request,
) error {
	verifier, err := httpsign.NewEd25519Verifier(public, verifyConfig(public, directoryTag), *directoryFields())
	if err != nil {
		return err
	}
	if err := httpsign.VerifyResponse(label, *verifier, resp, req); err != nil {
		return err
	}
	body := io.NopCloser(bytes.NewReader(d.recorder.Body.Bytes()))
	digests := resp.Header.Values("Content-Digest")
	return httpsign.ValidateContentDigestHeader(digests, &body, []string{httpsign.DigestSha256})
}

// httpsign accepts each signature of a Directory. If the Content-Digest or the
// authority is changed, httpsign rejects the signature.
func TestDirectory(t *testing.T) {
	firstPublic, first := newKey(t)
	secondPublic, second := newKey(t)
	directory := &webbotauth.Directory{Authority: "bot.example", Keys: []ed25519.PrivateKey{first, second}}
	d := directoryResponse{httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, agent, nil)}
	directory.ServeHTTP(d.recorder, d.request)
	for label, public := range map[string]ed25519.PublicKey{"binding": firstPublic, "binding2": secondPublic} {
		if err := d.verify(label, public, d.response(), d.request); err != nil {
			t.Errorf("signature %s is invalid: %v\n%v", label, err, d.recorder.Header())
		}
		resp := d.response()
		digest := resp.Header.Get("Content-Digest")
		resp.Header.Set("Content-Digest", strings.Replace(digest, ":", ":A", 1))
		if d.verify(label, public, resp, d.request) == nil {
			t.Errorf("signature %s is valid with another Content-Digest", label)
		}
		const otherURL = "https://other.example" + webbotauth.DirectoryPath
		if d.verify(label, public, d.response(), httptest.NewRequest(http.MethodGet, otherURL, nil)) == nil {
			t.Errorf("signature %s is valid for another authority", label)
		}
	}
}

// signedDirectory returns the directory of a key, signed by httpsign.
func signedDirectory(req *http.Request, public ed25519.PublicKey, private ed25519.PrivateKey) (*http.Response, error) {
	directory := &webbotauth.Directory{Authority: "bot.example", Keys: []ed25519.PrivateKey{private}}
	header, body, err := directory.Response(time.Now())
	if err != nil {
		return nil, err
	}
	resp := &http.Response{
		StatusCode: http.StatusOK,
		Header:     make(http.Header),
		Body:       io.NopCloser(bytes.NewReader(body)),
		Request:    req,
	}
	for _, name := range []string{"Content-Type", "Content-Digest"} {
		resp.Header.Set(name, header.Get(name))
	}
	config := httpsign.NewSignConfig().SetKeyID(webbotauth.KeyID(public)).SetTag(directoryTag)
	config.SetExpires(time.Now().Add(time.Hour).Unix())
	signer, err := httpsign.NewEd25519Signer(private, config, *directoryFields().AddHeader("content-type"))
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
}

// CheckDirectory accepts a directory that httpsign has signed.
func TestCheckDirectory(t *testing.T) {
	public, private := newKey(t)
	base := roundTripper(func(req *http.Request) (*http.Response, error) {
		return signedDirectory(req, public, private)
	})
	keys, problems := webbotauth.CheckDirectory(t.Context(), base, agent)
	if len(problems) > 0 {
		t.Errorf("CheckDirectory returned the problems %q, want none", problems)
	}
	if len(keys) != 1 {
		t.Fatalf("CheckDirectory returned the keys %+v, want one", keys)
	}
	if keys[0].ID != webbotauth.KeyID(public) || keys[0].Until.IsZero() {
		t.Errorf("CheckDirectory returned the key %+v, want the ID %s and a time", keys[0], webbotauth.KeyID(public))
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
