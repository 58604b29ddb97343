package robotsmw

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

func TestBlockedRequestIsNeverSent(t *testing.T) {
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "PROPFIND"} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var web robotstest.Internet
				web.Handle("a.example", robots(someRules))
				client := &http.Client{Transport: newTestTransport(t, &web)}
				body := &closeCounter{Reader: strings.NewReader("a form")}
				req, _ := http.NewRequestWithContext(t.Context(), method, "http://a.example/private/x?y", body)
				_, err := client.Do(req)
				blocked, ok := errors.AsType[*DisallowedError](err)
				if !ok || !errors.Is(err, ErrDisallowed) || errors.Is(err, ErrUnreachable) {
					t.Fatalf("the request for /private/ returned error %v, want a DisallowedError that is ErrDisallowed", err)
				}
				d := blocked.Decision
				isRule := d.Reason == ByRule && d.Rule == "/private/" && d.Line == 2
				if !isRule || d.RobotsURL != "http://a.example/robots.txt" {
					t.Errorf("got %+v; want the rule /private/ of line 2 of http://a.example/robots.txt", d)
				}
				if want := `: robotsmw: disallowed: rule "Disallow: /private/", line 2 of robots.txt`; !strings.Contains(err.Error(), want) {
					t.Errorf("error %q, want it to contain %q", err, want)
				}
				if ue, ok := errors.AsType[*url.Error](err); !ok || ue.Timeout() || blocked.Timeout() {
					t.Errorf("a blocked request: error %#v, want a *url.Error that is not a timeout", err)
				}
				if body.closed != 1 {
					t.Errorf("the request's body was closed %d times, want once", body.closed)
				}
				if n := len(web.Log()); n != 1 {
					t.Errorf("%d requests were sent, want only that for robots.txt", n)
				}
			})
		})
	}
}

type closeCounter struct {
	io.Reader
	closed int
}

func (c *closeCounter) Close() error { c.closed++; return nil }

func TestEveryRedirectHopIsChecked(t *testing.T) {
	for _, tt := range []struct {
		name, start string
		hops        []string // all requests except those for robots.txt
	}{
		{"into a disallowed path, first hop", "http://a.example/1", []string{"http://a.example/1"}},
		{"into a disallowed path, fifth hop", "http://a.example/5",
			[]string{"http://a.example/5", "http://a.example/4", "http://a.example/3", "http://a.example/2",
				"http://a.example/1"}},
		{"into another host that disallows", "http://a.example/away", []string{"http://a.example/away"}},
	} {
		for _, method := range []string{"GET", "HEAD", "POST"} {
			t.Run(tt.name+" "+method, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var web robotstest.Internet
					mux := http.NewServeMux()
					mux.Handle("/robots.txt", robots(someRules))
					for _, hop := range []string{"/5 /4", "/4 /3", "/3 /2", "/2 /1", "/1 /private/x", "/away http://b.example/private/x"} {
						from, to, _ := strings.Cut(hop, " ")
						mux.Handle(from, http.RedirectHandler(to, http.StatusTemporaryRedirect))
					}
					web.Handle("a.example", mux)
					web.Handle("b.example", robots(someRules))
					client := &http.Client{Transport: newTestTransport(t, &web)}
					req, _ := http.NewRequestWithContext(t.Context(), method, tt.start, nil)
					if _, err := client.Do(req); !errors.Is(err, ErrDisallowed) {
						t.Fatalf("Do returned error %v, want ErrDisallowed", err)
					}
					var pages []string
					for _, r := range web.Log() {
						if !strings.HasSuffix(r.URL, "/robots.txt") {
							pages = append(pages, r.URL)
						}
					}
					if strings.Join(pages, " ") != strings.Join(tt.hops, " ") {
						t.Errorf("the pages %q were requested, want %q", pages, tt.hops)
					}
				})
			})
		}
	}
}

// The query is matched as it is sent: not sorted, not decoded, and with the "?"
// of an empty query. If a check sorted the query, it would miss the first of
// these rules.
func TestQueryIsMatchedAsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots("User-agent: *\nDisallow: /p?z=1&a=2\nDisallow: /q?$\nDisallow: /r%2Fs\n"))
		c := newTestTransport(t, &web).Checker()
		for u, want := range map[string]bool{
			"http://a.example/p?z=1&a=2":   false,
			"http://a.example/p?a=2&z=1":   true,
			"http://a.example/q?":          false,
			"http://a.example/q":           true,
			"http://a.example/q?x":         true,
			"http://a.example/r%2fs":       false,
			"http://a.example/r/s":         true,
			"http://a.example//p?a=2&z=1":  true,
			"http://a.example/p?z=1&a=2#f": false,
		} {
			if d := decide(t, c, u); d.Allowed != want {
				t.Errorf("got %v; want allowed: %t", d, want)
			}
		}
	})
}

func TestRobotsTxtItselfIsAlwaysAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(shutRules))
		web.Handle("down.example", status(503))
		client := &http.Client{Transport: newTestTransport(t, &web)}
		for _, host := range []string{"a.example", "down.example"} {
			resp, err := client.Get("http://" + host + "/robots.txt")
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		if n := len(web.Log()); n != 2 {
			t.Errorf("%d requests were sent, want only the caller's 2", n)
		}
	})
}

func TestIdentityOnTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(someRules))
		var logged bytes.Buffer
		tr := newTestTransport(t, &web, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&logged, nil)) })
		send := func(tr *Transport, agent ...string) (string, error) {
			req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://a.example/", nil)
			if agent != nil {
				req.Header["User-Agent"] = agent
			}
			before := req.Header.Clone()
			resp, err := tr.RoundTrip(req)
			if err != nil {
				return "", err
			}
			resp.Body.Close()
			if len(before) != len(req.Header) {
				t.Error("RoundTrip changed the caller's header, want it unchanged")
			}
			log := web.Log()
			return log[len(log)-1].Header.Get("User-Agent"), nil
		}
		for _, agent := range [][]string{nil, {""}, {testAgent}} {
			if got, err := send(tr, agent...); err != nil || got != testAgent {
				t.Errorf("User-Agent %q: sent as %q, error %v; want %q", agent, got, err, testAgent)
			}
		}
		if got, err := send(tr, "examplebot/2.0"); err != nil || got != "examplebot/2.0" || logged.Len() > 0 {
			t.Errorf("another version: sent as %q, error %v; logged %s; want it unchanged, and no log", got, err,
				&logged)
		}
		for range 3 {
			if got, err := send(tr, "OtherBot/1.0"); err != nil || got != "OtherBot/1.0" {
				t.Errorf("a foreign agent: sent as %q, error %v; want it unchanged", got, err)
			}
		}
		if n := strings.Count(logged.String(), "OtherBot/1.0"); n == 0 || strings.Count(logged.String(), "\n") != 1 {
			t.Errorf("the log is %q, want one line about the foreign agent", &logged)
		}
		strict := newTestTransport(t, &web, func(o *Options) { o.StrictIdentity = true })
		before := len(web.Log())
		_, err := send(strict, "OtherBot/1.0")
		if ie, ok := errors.AsType[*IdentityError](err); !ok || ie.userAgent != "OtherBot/1.0" {
			t.Errorf("strict: got error %v, want an IdentityError for OtherBot/1.0", err)
		}
		if len(web.Log()) != before {
			t.Errorf("strict: %d requests were sent, want none", len(web.Log())-before)
		}
		if got, err := send(strict); err != nil || got != testAgent {
			t.Errorf("strict, no agent of its own: sent as %q, error %v; want %q", got, err, testAgent)
		}
	})
}

// Requests for robots.txt prefer text/plain, also after a redirect. Requests
// for pages keep the caller's Accept.
func TestAcceptOfRobotsTxtAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(someRules))
		web.Handle("from.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				http.Redirect(w, r, "http://to.example/robots.txt", http.StatusFound)
			}
		}))
		web.Handle("to.example", robots(someRules))
		tr := newTestTransport(t, &web)
		pages := map[string][]string{"http://a.example/": nil, "http://from.example/": {"text/html"}}
		for page, accept := range pages {
			req, _ := http.NewRequestWithContext(t.Context(), "GET", page, nil)
			if accept != nil {
				req.Header["Accept"] = accept
			}
			resp, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		if n := robotsFetches(&web, ""); n != 3 {
			t.Errorf("%d requests for a robots.txt, want 3", n)
		}
		for _, r := range web.Log() {
			want := []string{"text/plain, */*;q=0.5"}
			if accept, isPage := pages[r.URL]; isPage {
				want = accept
			}
			if got := r.Header["Accept"]; !slices.Equal(got, want) {
				t.Errorf("%s was sent the Accept %q, want %q", r.URL, got, want)
			}
		}
	})
}

func TestSeveralProductTokensInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example",
			robots("User-agent: *\nDisallow: /\n\nUser-agent: OldBot\nDisallow: /old\n\nUser-agent: NewBot\nDisallow: /new\n"))
		web.Handle("b.example", robots("User-agent: *\nDisallow: /\n\nUser-agent: OldBot\nDisallow: /old\n"))
		c := newTestTransport(t, &web, func(o *Options) { o.ProductTokens = []string{"NewBot", "OldBot"} }).Checker()
		for u, want := range map[string]bool{
			"http://a.example/new": false, "http://a.example/old": true,
			"http://b.example/new": true, "http://b.example/old": false,
		} {
			if d := decide(t, c, u); d.Allowed != want {
				t.Errorf("%s: got %v; want allowed: %t", u, d, want)
			}
		}
	})
}

func TestOverride(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("mine.example", robots(shutRules))
		web.Handle("other.example", robots(shutRules))
		c := newTestTransport(t, &web, func(o *Options) {
			o.Override = map[string]string{
				"https://mine.example":   "User-agent: ExampleBot\nDisallow: /admin\nCrawl-delay: 2\n",
				"http://shut.example:80": shutRules,
				"http://open.example/":   "",
			}
		}).Checker()
		for u, want := range map[string]bool{
			"https://mine.example/": true, "https://mine.example/admin/": false,
			"http://mine.example/": false, // http and https are different origins
			"http://shut.example/": false, "http://open.example/": true,
		} {
			if d := decide(t, c, u); d.Allowed != want {
				t.Errorf("%s: got %v; want allowed: %t", u, d, want)
			}
		}
		if n := len(web.Log()); n != 1 {
			t.Errorf("%d fetches of robots.txt, want 1, of http://mine.example", n)
		}
		if d := decide(t, c, "https://mine.example/x"); d.CrawlDelay != 2*time.Second {
			t.Errorf("Crawl-delay is %v, want 2s", d.CrawlDelay)
		}
	})
	for _, bad := range []map[string]string{
		{"mine.example": ""}, {"https://mine.example/shop": ""}, {"http://a.example": "", "HTTP://A.example:80": ""},
	} {
		if _, err := NewTransport(Options{UserAgent: testAgent, Override: bad}); err == nil {
			t.Errorf("Override %v: got no error, want one", bad)
		}
	}
}

func TestBadOptions(t *testing.T) {
	limiter := new(politeness.Limiter)
	for name, opts := range map[string]Options{
		"Base and Proxy":         {Base: new(robotstest.Internet), Proxy: http.ProxyFromEnvironment},
		"Base and RefuseAddress": {Base: new(robotstest.Internet), RefuseAddress: PublicOnly},
		"pacing twice":           {Base: &politeness.Transport{Limiter: limiter}, Limiter: limiter},
		"negative RobotsTimeout": {RobotsTimeout: -1},
		"negative MaxOrigins":    {MaxOrigins: -1},
		"negative MaxBytes":      {MaxBytes: -1},
	} {
		opts.UserAgent = testAgent
		if _, err := NewTransport(opts); err == nil || !strings.HasPrefix(err.Error(), "robotsmw: ") {
			t.Errorf("%s: NewTransport returned error %v, want one of robotsmw", name, err)
		}
		if _, err := NewClient(opts); err == nil {
			t.Errorf("%s: NewClient returned no error, want one", name)
		}
	}
}

func TestBadURLs(t *testing.T) {
	c := newTestTransport(t, new(robotstest.Internet)).Checker()
	for _, u := range []*url.URL{nil, {}, {Path: "/x"}, {Scheme: "http", Path: "/x"}, {Scheme: "http", Host: "."}} {
		if d, err := c.Check(t.Context(), u); err == nil {
			t.Errorf("Check(%v) = %v, want an error", u, d)
		}
	}
}

// RefuseAddress is called before each connection. With PublicOnly, no
// connection leads to an address that is not public.
func TestRefuseAddress(t *testing.T) {
	server := httptest.NewServer(robots(someRules))
	defer server.Close()
	var asked []netip.Addr
	tr := newTestTransport(t, nil, func(o *Options) {
		o.RefuseAddress = func(a netip.Addr) error {
			asked = append(asked, a)
			return PublicOnly(a)
		}
	})
	defer tr.CloseIdleConnections()
	if d := decide(t, tr.Checker(), server.URL+"/"); d.Reason != Unreachable || !strings.Contains(d.Cause, "127.0.0.1 is not a public address") {
		t.Errorf("got %v; want robots.txt unreachable, because 127.0.0.1 is not a public address", d)
	}
	if len(asked) == 0 {
		t.Error("RefuseAddress was not called, want at least one call")
	}
	for addr, public := range map[string]bool{
		"8.8.8.8": true, "2606:4700:4700::1111": true, "192.0.2.1": false, "2001:db8::1": false, "10.0.0.1": false,
		"172.16.0.1": false, "192.168.1.1": false,
		"169.254.169.254": false, "127.0.0.1": false, "::1": false, "fe80::1": false, "fd00::1": false,
		"0.0.0.0": false, "100.64.1.1": false, "224.0.0.1": false, "::ffff:10.0.0.1": false,
	} {
		if err := PublicOnly(netip.MustParseAddr(addr)); (err == nil) != public {
			t.Errorf("PublicOnly(%s) = %v, want public: %t", addr, err, public)
		}
	}
}

func TestProxy(t *testing.T) {
	var seen []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.URL.String())
		io.WriteString(w, someRules)
	}))
	defer proxy.Close()
	tr := newTestTransport(t, nil, func(o *Options) { o.Proxy = http.ProxyURL(mustURL(t, proxy.URL)) })
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Get("http://a.example/page")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if strings.Join(seen, " ") != "http://a.example/robots.txt http://a.example/page" {
		t.Errorf("the proxy received %q, want robots.txt and the page", seen)
	}
}

// Through a proxy, RefuseAddress receives only the proxy's address, although
// the URL contains a private one, so the proxy itself must refuse to connect to
// it. Without a proxy, the same URL is refused.
func TestRefuseAddress_ThroughAProxy(t *testing.T) {
	proxy := httptest.NewServer(robots(""))
	defer proxy.Close()
	for name, tt := range map[string]struct {
		proxy  *url.URL
		passes bool
		sees   string
	}{
		"through the proxy": {mustURL(t, proxy.URL), true, "127.0.0.1"},
		"without a proxy":   {nil, false, "10.1.2.3"},
	} {
		var mu sync.Mutex
		seen := make(map[string]bool)
		tr := newTestTransport(t, nil, func(o *Options) {
			o.Proxy = http.ProxyURL(tt.proxy)
			o.RefuseAddress = func(addr netip.Addr) error {
				mu.Lock()
				defer mu.Unlock()
				seen[addr.String()] = true
				if addr.IsPrivate() {
					return errors.New("a private address")
				}
				return nil
			}
		})
		resp, err := (&http.Client{Transport: tr}).Get("http://10.1.2.3/")
		if err == nil {
			resp.Body.Close()
		}
		tr.CloseIdleConnections()
		if (err == nil) != tt.passes || len(seen) != 1 || !seen[tt.sees] {
			t.Errorf("%s: RefuseAddress received %v, and the error is %v; want %s, and success: %t", name, seen, err,
				tt.sees, tt.passes)
		}
	}
}

func TestCloseIdleConnectionsIsPassedOn(t *testing.T) {
	base := &idleCloser{}
	newTestTransport(t, base).CloseIdleConnections()
	if !base.closed {
		t.Error("CloseIdleConnections did not call CloseIdleConnections of Base, want a call")
	}
	withoutMethod := newTestTransport(t, roundTripperFunc(nil)) // its Base has no such method
	(&http.Client{Transport: withoutMethod}).CloseIdleConnections()
}

type idleCloser struct {
	http.RoundTripper
	closed bool
}

func (c *idleCloser) CloseIdleConnections() { c.closed = true }

// A check that fails or waits does not affect the others.
func TestChecksOfManyOrigins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", slowly(time.Second, robots(someRules)))
		web.Handle("b.example", slowly(time.Second, status(503)))
		web.Handle("slow.example", robotstest.Hang{})
		c := newTestTransport(t, &web).Checker()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		urls := append(mustURLs(t,
			[]string{"http://a.example/private/", "http://slow.example/", "http://b.example/", "http://a.example/"}),
			nil)
		got := checkAll(ctx, c, urls)
		if time.Since(start) != 10*time.Second {
			t.Errorf("the checks took %v, want 10s", time.Since(start))
		}
		isFirstDisallowed := got[0].Err == nil && !got[0].Decision.Allowed
		if !isFirstDisallowed || got[2].Decision.Reason != Unreachable || !got[3].Decision.Allowed {
			t.Errorf("got %v; want the first disallowed, the third unreachable and the fourth allowed", got)
		}
		if !errors.Is(got[1].Err, context.DeadlineExceeded) || got[4].Err == nil {
			t.Errorf("got errors %v and %v, want DeadlineExceeded and one about the nil URL", got[1].Err, got[4].Err)
		}
		for _, a := range checkAll(t.Context(), c, []*url.URL{urls[0], urls[2], urls[3]}) {
			if a.Err != nil {
				t.Errorf("second check: got error %v, want none", a.Err)
			}
		}
		if n := robotsFetches(&web, "a.example"); n != 1 {
			t.Errorf("%d fetches of a.example, want 1", n)
		}
		time.Sleep(time.Minute) // no caller waits for this fetch, which ends by itself
	})
}
