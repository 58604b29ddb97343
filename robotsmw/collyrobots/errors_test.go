package collyrobots_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// An http.Client adds the URL to an error, so the wrapped error should not
// repeat it, and should contain the host at most once.
func TestErrorOfAClientNamesTheURLOnce(t *testing.T) {
	const host, page, open = "shop.example", "http://shop.example/cart/7", "http://shop.example/open"
	with := func(limiter func() *politeness.Limiter) func(*robotsmw.Options) {
		return func(o *robotsmw.Options) { o.Limiter = limiter() }
	}
	site := func(robots string) http.Handler { return robotstest.Site{"/robots.txt": robots, "/open": "open"} }
	shut := site("User-agent: *\nDisallow: /cart\n")
	failing := func(path string, err error) func(*robotsmw.Options) {
		return func(o *robotsmw.Options) {
			web := o.Base
			o.Base = roundTripper(func(req *http.Request) (*http.Response, error) {
				if req.URL.Path == path {
					return nil, err
				}
				return web.RoundTrip(req)
			})
		}
	}
	loopback := netip.MustParseAddrPort("127.0.0.1:80")
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(loopback), Err: robotsmw.PublicOnly(loopback.Addr())}
	for _, tt := range []struct {
		name      string
		site      http.Handler
		first     string // a URL to request before; "" if there is none
		url       string
		edit      func(*robotsmw.Options)
		want      string // a part of the error
		is        func(error) bool
		skipColly bool // colly changes the URL, or refuses it
	}{
		{"a rule", shut, "", page, nil, `robotsmw: disallowed: rule "Disallow: /cart", line 2 of robots.txt`, as[*robotsmw.DisallowedError], false},
		{"a rule for another form of the path", shut, "", "http://shop.example/x/../cart/7", nil, "line 2 of robots.txt, as /cart/7", as[*robotsmw.DisallowedError], true},
		{"the host spelled otherwise", shut, "", "http://SHOP.example:80/cart/7", nil, "line 2 of http://shop.example/robots.txt", as[*robotsmw.DisallowedError], true},
		{"after a redirect", pages(map[string]http.Handler{"/": http.RedirectHandler("/cart/7", http.StatusFound), "/robots.txt": shut}),
			"", "http://shop.example/", nil, "line 2 of robots.txt", as[*robotsmw.DisallowedError], false},
		{"an override", shut, "", page, func(o *robotsmw.Options) {
			o.Override = map[string]string{"http://shop.example": "User-agent: *\nDisallow: /"}
		}, "line 2 of the robots.txt set for this origin", as[*robotsmw.DisallowedError], false},
		{"a 403 for robots.txt", robotstest.Status(403), "", page, func(o *robotsmw.Options) { o.DisallowForbidden = true },
			"disallowed: robots.txt returned status 403", as[*robotsmw.DisallowedError], false},
		{"a 503 for robots.txt", robotstest.Status(503), "", page, nil, "robotsmw: robots.txt of http://shop.example is unreachable: status 503", as[*robotsmw.DisallowedError], false},
		{"no answer for robots.txt", robotstest.Reset(""), "", page, nil, "robotsmw: robots.txt of http://shop.example is unreachable: ", as[*robotsmw.DisallowedError], false},
		{"an address that is refused", shut, "", page, failing("/robots.txt", refused),
			"is not a public address: loopback", as[*robotsmw.DisallowedError], false},

		{"the interval of the host", shut, open, open, with(func() *politeness.Limiter { return &politeness.Limiter{MaxWait: -1} }), "(delay)", as[*politeness.DelayError], false},
		{"a long Crawl-delay", site("User-agent: *\nCrawl-delay: 300\n"), open, open, nil, "(crawl-delay)", as[*politeness.DelayError], false},
		{"a pause for robots.txt", pages(map[string]http.Handler{"/robots.txt": http.RedirectHandler("http://slow.example/robots.txt", http.StatusFound)}),
			"http://slow.example/", page, with(func() *politeness.Limiter { return &politeness.Limiter{Delay: time.Minute, MaxWait: -1} }), "no request to shop.example is allowed before", as[*politeness.DelayError], false},
		{"a spent budget", shut, open, open, with(func() *politeness.Limiter { return &politeness.Limiter{Budget: politeness.Budget{Requests: 2}} }), "(budget)", as[*politeness.DelayError], false},
		{"a canceled wait", shut, open, open, with(func() *politeness.Limiter { return &politeness.Limiter{Delay: time.Hour} }), "canceled while waiting for shop.example", nil, false},
		{"a Key that fails", shut, open, open, func(o *robotsmw.Options) {
			o.Limiter.Key = func(ctx context.Context, u *url.URL) (string, error) { return "", errors.New("it has no key") }
		}, "no host key for this URL: it has no key", nil, false},
		{"no answer in time", shut, "", open, func(o *robotsmw.Options) {
			o.AttemptTimeout = time.Second
			failing("/open", context.DeadlineExceeded)(o)
		}, "context deadline exceeded", nil, false},
		{"another protocol", pages(map[string]http.Handler{"/": robotstest.Raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"),
			"/robots.txt": shut}), "", open, nil, "switched to another protocol", nil, false},
		{"an identity of another crawler", shut, "", open, func(o *robotsmw.Options) { o.StrictIdentity = true }, "names none of the product tokens", as[*robotsmw.IdentityError], false},
		{"a port that is none", shut, "", "http://shop.example:99999/open", nil, "its port is not a number", nil, true},
		{"a host that is too long", shut, "", "http://" + strings.Repeat("a", 300) + ".example/open", nil, "is longer than", nil, false},
	} {
		for _, through := range []string{"http.Client", "colly"} {
			if through == "colly" && tt.skipColly {
				continue
			}
			t.Run(tt.name+" through "+through, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					if strings.HasPrefix(tt.want, "canceled") {
						time.AfterFunc(time.Minute, cancel)
					}
					var web robotstest.Internet
					web.Handle(host, tt.site)
					web.Handle("slow.example", robotstest.Site{})
					opts := robotsmw.Options{UserAgent: agent, Base: &web, Limiter: new(politeness.Limiter), Logger: slog.New(slog.DiscardHandler)}
					if tt.edit != nil {
						tt.edit(&opts)
					}
					userAgent := agent
					if opts.StrictIdentity {
						userAgent = "Other/1.0"
					}
					var get func(url string) error
					if through == "colly" {
						get = collyGet(t, ctx, opts, userAgent, tt.url)
					} else {
						get = clientGet(t, ctx, opts, userAgent)
					}
					if tt.first != "" {
						get(tt.first)
					}
					err := get(tt.url)
					if err == nil {
						t.Fatalf("the request for %s returned no error, want one that contains %q", tt.url, tt.want)
					}
					text := err.Error()
					u, _ := url.Parse(tt.url)
					hostname := strings.ToLower(u.Hostname())
					target := tt.url
					if wrapper, ok := errors.AsType[*url.Error](err); ok {
						target = wrapper.URL
					}
					if !strings.Contains(text, tt.want) {
						t.Errorf("error %q, want it to contain %q", text, tt.want)
					}
					if tt.is != nil && !tt.is(err) {
						t.Errorf("error %q wraps no error of the type that the test case requires", text)
					}
					if n := strings.Count(text, target); n != 1 {
						t.Errorf("error contains the URL %d times, want once: %v", n, err)
					}
					if n := strings.Count(strings.ToLower(text), hostname); n > 2 {
						t.Errorf("error contains the host %d times, want at most 2: %v", n, err)
					}
				})
			})
		}
	}
}

// collyGet returns a function that visits a URL with an attached collector. If
// robots.txt disallows the page, the function calls Extension.Visit, which
// returns the error without making a request.
func collyGet(t *testing.T, ctx context.Context, opts robotsmw.Options, userAgent, page string) func(url string) error {
	t.Helper()
	c := colly.NewCollector(colly.StdlibContext(ctx), colly.AllowURLRevisit())
	ext := attach(t, c, opts)
	if userAgent != agent {
		c.OnRequest(func(r *colly.Request) { r.Headers.Set("User-Agent", userAgent) })
	}
	if opts.Override == nil && as[*robotsmw.DisallowedError](c.Visit(page)) {
		return ext.Visit
	}
	return c.Visit
}

// clientGet returns a function that requests a URL with an http.Client.
func clientGet(t *testing.T, ctx context.Context, opts robotsmw.Options, userAgent string) func(url string) error {
	t.Helper()
	client, err := robotsmw.NewClient(opts)
	if err != nil {
		t.Fatal(err)
	}
	return func(url string) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if userAgent != agent {
			req.Header.Set("User-Agent", userAgent)
		}
		resp, err := client.Do(req)
		if err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		return err
	}
}

func as[E error](err error) bool { _, ok := errors.AsType[E](err); return ok }

// pages returns a site with the given handlers. The handler of "/", if any,
// serves all other paths.
func pages(of map[string]http.Handler) http.Handler {
	mux := http.NewServeMux()
	for path, h := range of {
		mux.Handle(path, h)
	}
	return mux
}

// A request whose address RefuseAddress refuses is counted neither in
// Unreachable nor in Lost, for robots.txt and for a page. A Retry could not
// succeed, so it returns the error immediately.
func TestRefusedAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := robotsmw.DialControl(robotsmw.PublicOnly)("tcp", "10.0.0.1:80", nil)
		var web robotstest.Internet
		web.Fail("a.example", refused)
		web.Fail("b.example", refused)
		c := colly.NewCollector()
		ext := attach(t, c, robotsmw.Options{
			UserAgent: agent, Base: &web, Limiter: unpaced(), Logger: slog.New(slog.DiscardHandler),
			Override: map[string]string{"http://b.example": ""},
		})
		failures := 0
		c.OnError(func(r *colly.Response, err error) {
			if !errors.Is(err, robotsmw.ErrAddressRefused) || errors.Is(err, robotsmw.ErrUnreachable) {
				t.Errorf("OnError for %s received %v, want ErrAddressRefused and not ErrUnreachable", r.Request.URL, err)
			}
			failures++
			if failures > 2 {
				return // a Retry has sent a request
			}
			time.Sleep(time.Hour)
			start := time.Now()
			err = r.Request.Retry()
			if took := time.Since(start); !errors.Is(err, robotsmw.ErrAddressRefused) || took != 0 {
				t.Errorf("Retry of %s returned %v after %v, want ErrAddressRefused immediately", r.Request.URL, err, took)
			}
		})
		c.Visit("http://a.example/page")
		c.Visit("http://b.example/page")
		if got := ext.Counts(); failures != 2 || got != (collyrobots.Counts{AddressRefused: 2}) {
			t.Errorf("OnError was called %d times, want 2; Counts() = %v, want AddressRefused 2 only", failures, got)
		}
	})
}

// Programs retry if Headers is nil in OnError, which means in plain colly that
// the server did not respond. Headers is not nil if the extension refused the
// request.
func TestHeadersInOnErrorAreNilWithoutAnAnswer(t *testing.T) {
	web := shop()
	web.Handle("reset.example", withRobots(robotstest.Reset("")))
	web.Handle("pages.example", robotsAnd(robotstest.Reset("HTTP/1.1 200 OK\r\n")))
	web.Handle("broken.example", robotsAnd(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) })))
	for target, want := range map[string]string{
		"http://pages.example/":      "nil",   // the connection is reset
		"http://shop.example/cart":   "empty", // disallowed
		"http://reset.example/":      "empty", // robots.txt is unreachable
		"http://unknown.example/":    "empty", // robots.txt is unreachable: no such host
		"http://broken.example/page": "set",
	} {
		c, _ := polite(t, web)
		got := "OnError was not called"
		c.OnError(func(r *colly.Response, err error) {
			switch {
			case r.Headers == nil:
				got = "nil"
			case len(*r.Headers) == 0:
				got = "empty"
			default:
				got = "set"
			}
		})
		c.Visit(target)
		if got != want {
			t.Errorf("%s: Headers in OnError: got %q, want %q", target, got, want)
		}
	}

	c := colly.NewCollector()
	attach(t, c, robotsmw.Options{UserAgent: agent, Base: shop(), Limiter: &politeness.Limiter{MaxWait: -1}})
	var headers []bool
	c.OnError(func(r *colly.Response, err error) { headers = append(headers, r.Headers != nil) })
	for _, path := range []string{"/", "/shoes"} {
		c.Visit("http://shop.example" + path)
	}
	if len(headers) == 0 || slices.Contains(headers, false) {
		t.Errorf("OnError for a host that is not due: Headers != nil is %v, want at least one true and no false", headers)
	}
}

func TestOnErrorHasHeadersOfARefusal(t *testing.T) {
	world := func() *robotstest.Internet {
		web := shop()
		web.Handle("out.example", withRobots(robotstest.Site{}))
		web.Handle("in.example", redirectTo("http://shop.example/cart"))
		return web
	}
	nilHeaders := false
	c := plain(new(robotstest.Internet), colly.IgnoreRobotsTxt())
	c.OnError(func(r *colly.Response, err error) { nilHeaders = r.Headers == nil && r.StatusCode == 0 })
	c.Visit("http://gone.example/")
	if !nilHeaders {
		t.Error("plain colly: Headers in OnError is not nil, want nil" + collyChanged)
	}

	web := world()
	c, ext := polite(t, web)
	var first, second string
	c.OnError(func(r *colly.Response, err error) {
		r.Headers.Get("Retry-After")
		first = r.Request.URL.String()
		if blocked, ok := errors.AsType[*robotsmw.DisallowedError](err); ok {
			second = blocked.Decision.URL.String()
		}
	})
	blocked := false
	ext.OnBlocked(func(*colly.Request, robotsmw.Decision) { blocked = true })
	c.Visit("http://gone.example/")
	c.Visit("http://in.example/here")
	if first != "http://in.example/here" || second != "http://shop.example/cart" || !blocked {
		t.Errorf("attached: OnError received the request %q and a DisallowedError for %q, and OnBlocked was called: %v; want %q, %q and true",
			first, second, blocked, "http://in.example/here", "http://shop.example/cart")
	}
}

// Colly or a handler of the program refuses a request, or the redirect of a
// request. OnError receives the same error with the extension as without it.
func TestOnErrorReceivesTheErrorsOfColly(t *testing.T) {
	for _, test := range []struct {
		name  string
		setUp func(c *colly.Collector)
		want  error // nil means a *colly.AlreadyVisitedError
	}{
		{"a visited URL", func(c *colly.Collector) { c.Visit("http://b.example/new") }, nil},
		{"AllowedDomains", func(c *colly.Collector) { c.AllowedDomains = []string{"a.example"} }, colly.ErrForbiddenDomain},
		{"DisallowedURLFilters", func(c *colly.Collector) {
			c.DisallowedURLFilters = []*regexp.Regexp{regexp.MustCompile("/new")}
		}, colly.ErrForbiddenURL},
		{"URLFilters", func(c *colly.Collector) {
			c.URLFilters = []*regexp.Regexp{regexp.MustCompile("/old")}
		}, colly.ErrNoURLFiltersMatch},
		{"OnRequestHeaders", func(c *colly.Collector) {
			c.OnRequestHeaders(func(r *colly.Request) { r.Abort() })
		}, colly.ErrAbortedBeforeRequest},
		{"OnResponseHeaders", func(c *colly.Collector) {
			c.OnResponseHeaders(func(r *colly.Response) { r.Request.Abort() })
		}, colly.ErrAbortedAfterHeaders},
	} {
		for _, attached := range []bool{false, true} {
			web := new(robotstest.Internet)
			web.Handle("a.example", redirectTo("http://b.example/new"))
			web.Handle("b.example", robotsText(""))
			c := plain(web, colly.IgnoreRobotsTxt())
			if attached {
				attachUnpaced(t, c, web)
			}
			test.setUp(c)
			var got error
			c.OnError(func(_ *colly.Response, err error) { got = err })
			c.Visit("http://a.example/old")
			_, isVisited := errors.AsType[*colly.AlreadyVisitedError](got)
			if isVisited != (test.want == nil) || !isVisited && !errors.Is(got, test.want) {
				t.Errorf("%s, attached %v: OnError received %v", test.name, attached, got)
			}
		}
	}
}

// A transport returns neither a response nor an error, for robots.txt or for a
// page. The request fails, and nothing panics.
func TestTransportReturnsNothing(t *testing.T) {
	for _, failing := range []string{"/robots.txt", "/page"} {
		web := shop()
		c := colly.NewCollector()
		c.WithTransport(roundTripper(func(req *http.Request) (*http.Response, error) {
			if req.URL.Path == failing {
				return nil, nil
			}
			return web.RoundTrip(req)
		}))
		attach(t, c, robotsmw.Options{UserAgent: agent, Limiter: unpaced()})
		err := c.Visit("http://shop.example/page")
		if err == nil || !strings.Contains(err.Error(), "neither a response nor an error") {
			t.Errorf("the transport returns nothing for %s: Visit = %v, want an error that contains %q", failing, err, "neither a response nor an error")
		}
	}
}
