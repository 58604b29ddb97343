package robotsmw

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// someRules are the rules of most tests. They disallow /private/ and nothing
// else.
const someRules = "User-agent: *\nDisallow: /private/\n"

// A verdict is the effect of a response for robots.txt on the other URLs of the
// origin.
type verdict string

const (
	obey        verdict = "obey"        // the rules of the file decide
	allowAll    verdict = "allow"       // all is allowed (RFC 9309 §2.3.1.3)
	disallowAll verdict = "disallow"    // all is disallowed, because Options.DisallowForbidden is set
	unreachable verdict = "unreachable" // all is disallowed for now (RFC 9309 §2.3.1.4)
)

// TestStatusMatrix tests RFC 9309 §2.3.1: what the response to a request for
// robots.txt means, and when robots.txt is requested again.
func TestStatusMatrix(t *testing.T) {
	day, minute := 24*time.Hour, time.Minute
	for _, tt := range []struct {
		name    string
		handler http.Handler
		fail    error // if set: the connection fails with this error, and no handler is called
		edit    func(*Options)
		want    verdict
		next    time.Duration
	}{
		{name: "200", handler: robots(someRules), want: obey, next: day},
		{name: "200 with max-age", handler: robots(someRules, "Cache-Control: max-age=3600"), want: obey,
			next: time.Hour},
		{name: "200 as HTML with rules in it", handler: robots("<html>\n"+someRules, "Content-Type: text/html"),
			want: obey, next: day},
		{name: "200 without a body", handler: status(200), want: allowAll, next: day},
		{name: "201", handler: answer2xx(201), want: obey, next: day},
		{name: "204", handler: status(204), want: allowAll, next: day},
		{name: "206", handler: answer2xx(206), want: unreachable, next: minute},
		{name: "300", handler: status(300), want: unreachable, next: minute},
		{name: "301 without Location", handler: status(301), want: allowAll, next: time.Hour},
		{name: "302 to a bad Location", handler: status(302, "Location: http://[::1"), want: allowAll, next: time.Hour},
		{name: "303 to another scheme", handler: status(303, "Location: ftp://a.example/robots.txt"), want: allowAll,
			next: time.Hour},
		{name: "304 for an unconditional request", handler: status(304), want: unreachable, next: minute},
		{name: "302 to nothing", handler: status(302, "Location: "), want: allowAll, next: time.Hour},
		{name: "306", handler: status(306), want: unreachable, next: minute},
		{name: "305", handler: status(305, "Location: /other.txt"), want: unreachable, next: minute},
		{name: "307 to itself", handler: status(307, "Location: /robots.txt"), want: allowAll, next: time.Hour},
		{name: "308 to itself by another name", handler: status(308, "Location: HTTP://a.example:80/robots.txt"),
			want: allowAll, next: time.Hour},
		{name: "400", handler: status(400), want: allowAll, next: day},
		{name: "401", handler: status(401), want: allowAll, next: day},
		{name: "403", handler: status(403), want: allowAll, next: day},
		{name: "401 as a disallow", handler: status(401), edit: forbiddenIsDisallow, want: disallowAll, next: day},
		{name: "403 as a disallow", handler: status(403), edit: forbiddenIsDisallow, want: disallowAll, next: day},
		{name: "404", handler: status(404), want: allowAll, next: day},
		{name: "404 as a disallow is for 401 and 403 alone", handler: status(404), edit: forbiddenIsDisallow,
			want: allowAll, next: day},
		{name: "404 with a lifetime", handler: status(404, "Cache-Control: max-age=600"), want: allowAll,
			next: 10 * minute},
		{name: "404 with rules in the page", handler: withBody(404, someRules), want: allowAll, next: day},
		{name: "410", handler: status(410), want: allowAll, next: day},
		{name: "418", handler: status(418), want: allowAll, next: day},
		{name: "429", handler: status(429), want: unreachable, next: minute},
		{name: "430, as Shopify uses it", handler: status(430), want: unreachable, next: minute},
		{name: "430 with Retry-After", handler: status(430, "Retry-After: 120.5"), want: unreachable,
			next: 121 * time.Second},
		{name: "431 is another 4xx", handler: status(431, "Retry-After: 120"), want: allowAll, next: day},
		{name: "529", handler: status(529), want: unreachable, next: minute},
		{name: "429 with Retry-After", handler: status(429, "Retry-After: 120"), want: unreachable, next: 2 * minute},
		{name: "451", handler: status(451), want: allowAll, next: day},
		{name: "499", handler: status(499), want: allowAll, next: day},
		{name: "500", handler: status(500), want: unreachable, next: minute},
		{name: "500 with rules in the page", handler: withBody(500, "User-agent: *\nAllow: /\n"), want: unreachable,
			next: minute},
		{name: "503", handler: status(503), want: unreachable, next: minute},
		{name: "503 with Retry-After", handler: status(503, "Retry-After: 30"), want: unreachable,
			next: 30 * time.Second},
		{name: "503 with Retry-After of a year", handler: status(503, "Retry-After: 31536000"), want: unreachable,
			next: day},
		{name: "503 with Retry-After in the past", handler: status(503, "Retry-After: -5"), want: unreachable,
			next: minute},
		{name: "599", handler: status(599), want: unreachable, next: minute},
		{name: "777", handler: status(777), want: unreachable, next: minute},
		{name: "malformed status line", handler: robotstest.Raw("HTTP/1.1 OK\r\n\r\n"), want: unreachable,
			next: minute},
		{name: "no HTTP at all", handler: robotstest.Raw("SSH-2.0-OpenSSH_9.2\r\n"), want: unreachable, next: minute},
		{name: "reset before the header", handler: robotstest.Reset(""), want: unreachable, next: minute},
		{name: "reset within the header", handler: robotstest.Raw("HTTP/1.1 200 OK\r\nContent-Le"), want: unreachable,
			next: minute},
		{name: "reset within the body", handler: robotstest.Reset(someRules), want: unreachable, next: minute},
		{name: "truncated body",
			handler: robotstest.Raw("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + someRules), want: unreachable,
			next: minute},
		{name: "bad chunk",
			handler: robotstest.Raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n" + someRules),
			want:    unreachable, next: minute},
		{name: "gzip", handler: encoded("gzip", gzipped(someRules)), want: obey, next: day},
		{name: "gzip in gzip", handler: encoded("gzip, gzip", gzipped(gzipped(someRules))), want: unreachable,
			next: minute},
		{name: "deflate", handler: encoded("deflate", zlibbed(someRules)), want: obey, next: day},
		{name: "deflate without zlib", handler: encoded("deflate", deflated(someRules)), want: obey, next: day},
		{name: "gzip of nothing", handler: encoded("gzip", ""), want: allowAll, next: day},
		{name: "truncated gzip", handler: encoded("gzip", gzipped(someRules)[:20]), want: unreachable, next: minute},
		{name: "plain text under gzip", handler: encoded("gzip", someRules), want: obey, next: day},
		{name: "gzip and a newline", handler: encoded("gzip", gzipped(someRules)+"\n"), want: obey, next: day},
		{name: "gzip without a label", handler: encoded("", gzipped(someRules)), want: obey, next: day},
		{name: "UTF-16, little endian", handler: robots("\xff\xfe" + widened(someRules, false)), want: obey, next: day},
		{name: "UTF-16, big endian", handler: robots("\xfe\xff" + widened(someRules, true)), want: obey, next: day},
		{name: "UTF-16 in gzip", handler: encoded("gzip", gzipped("\xff\xfe"+widened(someRules, false))), want: obey,
			next: day},
		{name: "other data under gzip", handler: encoded("gzip", "\x00"+someRules), want: unreachable, next: minute},
		{name: "gzip bomb", handler: encoded("gzip", gzipped(someRules+strings.Repeat("#", 64<<20))), want: obey,
			next: day},
		{name: "an unrequested coding", handler: encoded("br", someRules), want: unreachable, next: minute},
		{name: "ten codings", handler: encoded(strings.Repeat("gzip,", 10), someRules), want: unreachable,
			next: minute},
		{name: "DNS failure", fail: &net.DNSError{Err: "no such host", Name: "a.example", IsNotFound: true},
			want: unreachable, next: minute},
		{name: "connection refused", fail: syscall.ECONNREFUSED, want: unreachable, next: minute},
		{name: "TLS failure", fail: x509.UnknownAuthorityError{}, want: unreachable, next: minute},
		{name: "timeout", handler: robotstest.Hang{}, want: unreachable, next: minute},
		{name: "a tarpit", handler: robotstest.Trickle{Chunk: "#", Every: time.Second}, want: unreachable,
			next: minute},
		{name: "10 GB", handler: robotstest.Trickle{Chunk: someRules + strings.Repeat("#", 1<<20) + "\n"}, want: obey,
			next: day},
		{name: "no response and no error", handler: nil, want: unreachable, next: minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var web robotstest.Internet
				var base http.RoundTripper = &web
				switch {
				case tt.fail != nil:
					web.Fail("a.example", tt.fail)
				case tt.handler != nil:
					web.Handle("a.example", onlyRobots(tt.handler))
				default:
					base = roundTripperFunc(func(*http.Request) (*http.Response, error) { return nil, nil })
				}
				edit := tt.edit
				if edit == nil {
					edit = func(*Options) {}
				}
				c := newTestTransport(t, base, edit).Checker()
				private, public := decide(t, c, "http://a.example/private/x"), decide(t, c, "http://a.example/x")
				if got := classify(private, public); got != tt.want {
					t.Errorf("the verdict is %s, want %s; the decisions are\n%v\n%v", got, tt.want, private, public)
				}
				next := private.Expires
				if tt.want == unreachable {
					next = private.NextTry
					if private.Cause == "" {
						t.Error("Cause is \"\", want the reason why robots.txt is unreachable")
					}
				}
				if got := time.Until(next); got != tt.next {
					t.Errorf("robots.txt is due again in %v, want %v", got, tt.next)
				}
				if tt.handler != nil && len(web.Log()) != 1 {
					t.Errorf("%d requests were sent, want 1", len(web.Log()))
				}
				err := error(&DisallowedError{private})
				if errors.Is(err, ErrUnreachable) != (tt.want == unreachable) || errors.Is(err, ErrDisallowed) == (tt.want == unreachable) {
					t.Errorf("errors.Is reports %v for ErrUnreachable and %v for ErrDisallowed, want only the one for the verdict %s",
						errors.Is(err, ErrUnreachable), errors.Is(err, ErrDisallowed), tt.want)
				}
			})
		})
	}
}

func forbiddenIsDisallow(o *Options) { o.DisallowForbidden = true }

// classify returns the verdict for the decisions about two URLs, of which
// someRules disallows the first and allows the second.
func classify(private, public Decision) verdict {
	switch {
	case private.Reason == Unreachable && !private.Allowed && !public.Allowed:
		return unreachable
	case private.Allowed && public.Allowed:
		return allowAll
	case !private.Allowed && public.Allowed:
		return obey
	case !private.Allowed && !public.Allowed:
		return disallowAll
	}
	return verdict(fmt.Sprintf("private allowed %v, public %v", private.Allowed, public.Allowed))
}

// onlyRobots returns a handler that passes requests for robots.txt to h, and
// panics on any other request.
func onlyRobots(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/robots.txt" || r.Method != http.MethodGet {
			panic("unexpected request " + r.Method + " " + r.URL.Path)
		}
		h.ServeHTTP(w, r)
	})
}

func answer2xx(code int) http.Handler { return withBody(code, someRules) }

func withBody(code int, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(code)
		io.WriteString(w, body)
	})
}

func encoded(coding, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", coding)
		io.WriteString(w, body)
	})
}

// widened returns ASCII text in UTF-16.
func widened(s string, bigEndian bool) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if bigEndian {
			b.WriteString("\x00" + string(rune(c)))
		} else {
			b.WriteString(string(rune(c)) + "\x00")
		}
	}
	return b.String()
}

func gzipped(s string) string {
	return compressed(s, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
}
func zlibbed(s string) string {
	return compressed(s, func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) })
}
func deflated(s string) string {
	return compressed(s, func(w io.Writer) io.WriteCloser {
		z, _ := flate.NewWriter(w, flate.BestCompression)
		return z
	})
}

func compressed(s string, coder func(io.Writer) io.WriteCloser) string {
	var b bytes.Buffer
	w := coder(&b)
	io.WriteString(w, s)
	w.Close()
	return b.String()
}

type roundTripperFunc func(*http.Request) (*http.Response, error)

func (f roundTripperFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A fetch follows up to five redirects, also to other authorities. The file at
// the end of the redirects applies to the first authority (RFC 9309 §2.3.1.2).
func TestRedirects(t *testing.T) {
	chain := func(n int) *robotstest.Internet {
		var web robotstest.Internet
		for i := range n {
			web.Handle(fmt.Sprintf("h%d.example", i),
				status(301, fmt.Sprintf("Location: http://h%d.example/robots.txt", i+1)))
		}
		web.Handle(fmt.Sprintf("h%d.example", n), robots(someRules))
		return &web
	}
	for n, want := range map[int]verdict{0: obey, 1: obey, 5: obey, 6: allowAll, 12: allowAll} {
		t.Run(fmt.Sprintf("%d hops", n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := chain(n)
				c := newTestTransport(t, web).Checker()
				private, public := decide(t, c, "http://h0.example/private/"), decide(t, c, "http://h0.example/")
				if got := classify(private, public); got != want {
					t.Errorf("the verdict is %s, want %s", got, want)
				}
				if private.RobotsURL != "http://h0.example/robots.txt" {
					t.Errorf("RobotsURL is %s, want that of the first authority", private.RobotsURL)
				}
				// Each of these hosts follows its own redirects. The verdict
				// about a host depends on the number of hops from that host to
				// the file.
				for i := range min(n, 6) {
					host := fmt.Sprintf("h%d.example", i)
					private, public := decide(t, c, "http://"+host+"/private/"), decide(t, c, "http://"+host+"/")
					want := obey
					if n-i > 5 {
						want = allowAll
					}
					if got := classify(private, public); got != want {
						t.Errorf("%s, %d hops: the verdict is %s, want %s", host, n-i, got, want)
					}
				}
			})
		})
	}

	t.Run("with a query, a path, a port, or a relative Location", func(t *testing.T) {
		for _, loc := range []string{"/files/robots.txt", "robots2.txt", "//b.example:8080/r.txt", "http://b.example:8080/robots.txt?v=2", "?v=2"} {
			synctest.Test(t, func(t *testing.T) {
				var web robotstest.Internet
				redirect := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.RequestURI() == "/robots.txt" {
						w.Header().Set("Location", loc)
						w.WriteHeader(302)
						return
					}
					io.WriteString(w, someRules)
				})
				web.Handle("a.example", redirect)
				web.Handle("b.example:8080", redirect)
				c := newTestTransport(t, &web).Checker()
				if got := classify(decide(t, c, "http://a.example/private/"), decide(t, c, "http://a.example/")); got != obey {
					t.Errorf("Location %s: the verdict is %s, want %s", loc, got, obey)
				}
			})
		}
	})

	t.Run("do not poison the target's own rules", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var web robotstest.Internet
			web.Handle("a.example", status(302, "Location: http://b.example/robots.txt?from=a"))
			web.Handle("b.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.RawQuery != "" {
					io.WriteString(w, "User-agent: *\nDisallow: /a-only\n")
					return
				}
				io.WriteString(w, "User-agent: *\nDisallow: /b-only\n")
			}))
			c := newTestTransport(t, &web).Checker()
			for url, want := range map[string]bool{
				"http://a.example/a-only": false, "http://a.example/b-only": true,
				"http://b.example/a-only": true, "http://b.example/b-only": false,
			} {
				if d := decide(t, c, url); d.Allowed != want {
					t.Errorf("got %v; want allowed: %t", d, want)
				}
			}
		})
	})

	// Each origin follows its own redirects, but no request is sent to the
	// target's origin while its record is in memory.
	t.Run("to a robots.txt that is known", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var web robotstest.Internet
			var www switchable
			www.set(robots(someRules))
			web.Handle("www.example", &www)
			c := newTestTransport(t, &web).Checker()
			decide(t, c, "http://www.example/")
			check := func(from, to int) {
				for i := from; i < to; i++ {
					host := fmt.Sprintf("h%d.example", i)
					web.Handle(host, status(301, "Location: http://www.example/robots.txt"))
					if d := decide(t, c, "http://"+host+"/private/"); d.Allowed || d.Reason != ByRule {
						t.Errorf("got %v; want disallowed by a rule", d)
					}
				}
			}
			check(0, 10)
			if n := robotsFetches(&web, "www.example"); n != 1 {
				t.Errorf("www.example's robots.txt was fetched %d times by 10 redirects and itself, want once", n)
			}
			www.set(status(503))
			time.Sleep(25 * time.Hour)
			decide(t, c, "http://www.example/")
			check(10, 20)
			if n := robotsFetches(&web, "www.example"); n != 2 {
				t.Errorf("www.example, which is unreachable, received %d requests because of 10 redirects and a check, want 1",
					n-1)
			}
		})
	})

	t.Run("in a circle", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var web robotstest.Internet
			for i := range 3 {
				web.Handle(fmt.Sprintf("h%d.example", i),
					status(302, fmt.Sprintf("Location: http://h%d.example/robots.txt", (i+1)%3)))
			}
			c := newTestTransport(t, &web).Checker()
			for _, a := range checkAll(t.Context(), c, mustURLs(t, []string{"http://h0.example/", "http://h1.example/", "http://h2.example/"})) {
				if a.Err != nil || !a.Decision.Allowed || a.Decision.Reason != Unavailable {
					t.Errorf("got %v and error %v; want allowed, because there is no robots.txt", a.Decision, a.Err)
				}
			}
		})
	})

	t.Run("to a server that is down", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var web robotstest.Internet
			web.Handle("a.example", status(302, "Location: http://gone.example/robots.txt"))
			c := newTestTransport(t, &web).Checker()
			if d := decide(t, c, "http://a.example/"); d.Allowed || d.Reason != Unreachable {
				t.Errorf("got %v; want disallowed, because robots.txt is unreachable", d)
			}
		})
	})

	t.Run("carry neither cookies nor a caller's header", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var web robotstest.Internet
			web.Handle("a.example",
				status(302, "Location: http://user:pw@b.example/robots.txt", "Set-Cookie: id=1; Domain=example"))
			web.Handle("b.example", robots(someRules))
			req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://a.example/private/", nil)
			req.Header.Set("Authorization", "secret")
			req.Header.Set("Cookie", "id=2")
			if _, err := newTestTransport(t, &web).RoundTrip(req); !errors.Is(err, ErrDisallowed) {
				t.Fatalf("RoundTrip returned error %v, want ErrDisallowed", err)
			}
			for _, r := range web.Log() {
				for name := range r.Header {
					if name != "User-Agent" && name != "Accept" && name != "Accept-Encoding" {
						t.Errorf("the request for %s has the header %s, want only User-Agent, Accept and Accept-Encoding",
							r.URL, name)
					}
				}
				if r.Header.Get("User-Agent") != testAgent {
					t.Errorf("the request for %s has the User-Agent %q, want %q", r.URL, r.Header.Get("User-Agent"),
						testAgent)
				}
			}
		})
	})
}

func mustURLs(t testing.TB, raw []string) []*url.URL {
	t.Helper()
	var us []*url.URL
	for _, s := range raw {
		us = append(us, mustURL(t, s))
	}
	return us
}

// The client obeys only the first 500 KiB of a robots.txt (RFC 9309 §2.5). It
// reads one byte more, to detect that the file is longer. If the limit cuts a
// rule, the rule is ignored.
func TestOnlyTheFirst500KiBAreRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		line := "Disallow: /" + strings.Repeat("x", 89) + "\n"
		head := "User-agent: *\n"
		body := head + strings.Repeat(line, (512000-len(head))/len(line)) +
			"Disallow: /cut-here/and-not-before\nDisallow: /beyond\n"
		for len(body) < 1<<20 {
			body += strings.Repeat("#", 1000) + "\n"
		}
		var web robotstest.Internet
		web.Handle("a.example", robots(body))
		read := 0
		c := newTestTransport(t, &web, func(o *Options) {
			o.Observer = &Observer{Asked: func(_ context.Context, _ string, _ *http.Response, body []byte, _ error) {
				read += len(body)
			}}
		}).Checker()
		for path, want := range map[string]bool{"/xxx": true, "/" + strings.Repeat("x", 89): false, "/cut": true, "/beyond": true} {
			if d := decide(t, c, "http://a.example"+path); d.Allowed != want {
				t.Errorf("%s: allowed %v, want %v", path, d.Allowed, want)
			}
		}
		if read > 512001 {
			t.Errorf("%d bytes were read, want 512,000 and one to see that there are more", read)
		}
	})
}

func TestOtherSchemesAreNotOurs(t *testing.T) {
	c := newTestTransport(t, new(robotstest.Internet)).Checker()
	if d := decide(t, c, "file:///etc/hosts"); !d.Allowed || d.Reason != NotApplicable {
		t.Errorf("got %v; want allowed, because robots.txt does not apply", d)
	}
}

// An ftp URL has an origin and a robots.txt like any other. If Base cannot
// fetch ftp, the robots.txt is unreachable.
func TestFTP(t *testing.T) {
	base := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if r.URL.String() != "ftp://a.example/robots.txt" {
			return nil, fmt.Errorf("no such file %v", r.URL)
		}
		return &http.Response{StatusCode: 200, Header: http.Header{},
			Body: io.NopCloser(strings.NewReader(someRules))}, nil
	})
	c := newTestTransport(t, base).Checker()
	if got := classify(decide(t, c, "ftp://a.example/private/"), decide(t, c, "ftp://a.example:21/")); got != obey {
		t.Errorf("the verdict is %s, want %s", got, obey)
	}
	c = newTestTransport(t, http.DefaultTransport).Checker()
	if d := decide(t, c, "ftp://a.example/"); d.Allowed || d.Reason != Unreachable {
		t.Errorf("got %v; want disallowed, because robots.txt is unreachable", d)
	}
}

func TestOriginsAreIsolated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		names := []string{"http://a.example", "https://a.example", "http://a.example:8080", "http://b.example",
			"http://[2001:db8::1]", "http://xn--bcher-kva.example"}
		for i, name := range names {
			web.Handle(name, robots(fmt.Sprintf("User-agent: *\nDisallow: /only-%d\n", i)))
		}
		c := newTestTransport(t, &web).Checker()
		asked := []string{"HTTP://A.example:80", "https://a.EXAMPLE.:443", "http://a.example:8080",
			"http://b.example.", "http://[2001:DB8::1]:80", "http://BÜCHER.example"}
		for i, name := range asked {
			for j := range names {
				d := decide(t, c, fmt.Sprintf("%s/only-%d", name, j))
				if d.Allowed == (i == j) {
					t.Errorf("%s/only-%d: got %v; want allowed: %t", name, j, d, i != j)
				}
			}
		}
		if n := robotsFetches(&web, ""); n != len(names) {
			t.Errorf("robots.txt was fetched %d times for %d origins, want once for each", n, len(names))
		}
	})
}

func TestHostHeaderMakesAnOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("127.0.0.1:8080", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				fmt.Fprintf(w, "User-agent: *\nDisallow: /%s\n", r.Host)
			}
		}))
		client := &http.Client{Transport: newTestTransport(t, &web)}
		get := func(host, path string) error {
			req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://127.0.0.1:8080"+path, nil)
			req.Host = host
			resp, err := client.Do(req)
			if err == nil {
				resp.Body.Close()
			}
			return err
		}
		for _, tt := range []struct {
			host, path string
			allowed    bool
		}{
			{"a.example", "/a.example", false}, {"a.example", "/b.example", true},
			{"b.example", "/b.example", false}, {"b.example", "/a.example", true},
			{"", "/127.0.0.1:8080", false}, {"", "/a.example", true},
		} {
			if err := get(tt.host, tt.path); errors.Is(err, ErrDisallowed) == tt.allowed || tt.allowed && err != nil {
				t.Errorf("Host %q, %s: error %v, want allowed: %t", tt.host, tt.path, err, tt.allowed)
			}
		}
	})
}

// With a context that has ended, Check returns the context's error.
func TestEndedContext(t *testing.T) {
	var web robotstest.Internet
	web.Handle("a.example", robotstest.Hang{})
	c := newTestTransport(t, &web, func(o *Options) { o.RobotsTimeout = time.Millisecond }).Checker()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Check(ctx, mustURL(t, "http://a.example/")); !errors.Is(err, context.Canceled) {
		t.Errorf("Check with a canceled context: error %v, want %v", err, context.Canceled)
	}
}
