package collyrobots_test

import (
	"errors"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/debug"
	"github.com/gocolly/colly/v2/storage"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

func shop() *robotstest.Internet {
	web := new(robotstest.Internet)
	web.Handle("shop.example", robotstest.Site{
		"/robots.txt": "User-agent: *\nDisallow: /cart",
		"/":           "<a href=/cart>cart</a> <a href=/shoes>shoes</a>",
		"/cart":       "<p>cart",
		"/shoes":      "<p>shoes",
	})
	return web
}

func TestBlockedURLComesToOnErrorTyped(t *testing.T) {
	for _, async := range []bool{false, true} {
		web := shop()
		c, ext := polite(t, web, colly.Async(async))
		var decisions notes
		ext.OnBlocked(func(r *colly.Request, d robotsmw.Decision) {
			decisions.add(r.URL.Path + " line " + d.RobotsURL + " " + d.Rule)
		})
		var failed notes
		c.OnError(func(r *colly.Response, err error) {
			failed.add(r.Request.URL.Path + r.Headers.Get("Retry-After"))
			if !errors.Is(err, colly.ErrRobotsTxtBlocked) || !errors.Is(err, robotsmw.ErrDisallowed) {
				t.Errorf("OnError received %v, want ErrRobotsTxtBlocked and ErrDisallowed", err)
			}
			if blocked, ok := errors.AsType[*robotsmw.DisallowedError](err); !ok || blocked.Decision.Line != 2 {
				t.Errorf("OnError received %#v, want a *DisallowedError for line 2 of robots.txt", err)
			}
		})
		c.OnHTML("a[href]", func(e *colly.HTMLElement) { e.Request.Visit(e.Attr("href")) })
		if err := c.Visit("http://shop.example/"); err != nil {
			t.Fatal(err)
		}
		c.Wait()
		wantAsked(t, web, "GET http://shop.example/", "GET http://shop.example/shoes")
		if got := failed.sorted(); !slices.Equal(got, []string{"/cart"}) {
			t.Errorf("OnError was called for %v, want [/cart]", got)
		}
		if got, want := decisions.sorted(), []string{"/cart line http://shop.example/robots.txt /cart"}; !slices.Equal(got, want) {
			t.Errorf("OnBlocked received %q, want %q", got, want)
		}
		if got, want := ext.Counts().String(), "fetched 2, disallowed 1"; got != want {
			t.Errorf("Counts() = %s, want %s", got, want)
		}
		for _, r := range web.Log() {
			if got := r.Header.Get("User-Agent"); got != agent {
				t.Errorf("%s was requested with User-Agent %q, want %q", r.URL, got, agent)
			}
		}
	}
}

func TestAttachSaysWhatIsWrong(t *testing.T) {
	good := robotsmw.Options{UserAgent: agent}
	withDialer := colly.NewCollector()
	withDialer.WithTransport(&http.Transport{DialContext: new(net.Dialer).DialContext})
	invalid := &politeness.Limiter{Jitter: -1}
	within := &politeness.Limiter{Within: invalid}
	sendsWith := func(transport http.RoundTripper) *colly.Collector {
		c := colly.NewCollector()
		c.WithTransport(transport)
		return c
	}
	wrapInNil := func(http.RoundTripper) http.RoundTripper { return nil }
	twice := colly.NewCollector()
	attach(t, twice, good)
	for name, c := range map[string]struct {
		collector *colly.Collector
		opts      robotsmw.Options
		want      string
	}{
		"nil collector":                    {nil, good, "colly.NewCollector"},
		"collector never set up":           {new(colly.Collector), good, "colly.NewCollector"},
		"no user agent":                    {colly.NewCollector(), robotsmw.Options{}, "UserAgent"},
		"colly's user agent":               {colly.NewCollector(), robotsmw.Options{UserAgent: colly.NewCollector().UserAgent}, "colly"},
		"a transport that dials by itself": {withDialer, robotsmw.Options{UserAgent: agent, RefuseAddress: robotsmw.PublicOnly}, "DialControl"},
		"attached before already":          {twice, good, "already"},
		"invalid Limiter":                  {colly.NewCollector(), robotsmw.Options{UserAgent: agent, Limiter: invalid}, "Limiter.Jitter is -1"},
		"invalid Within":                   {colly.NewCollector(), robotsmw.Options{UserAgent: agent, Limiter: within}, "Limiter.Within: Limiter.Jitter is -1"},
		"invalid Limiter in Base": {
			colly.NewCollector(), robotsmw.Options{UserAgent: agent, Base: &politeness.Transport{Limiter: invalid}}, "Limiter.Jitter is -1",
		},
		"invalid Limiter in the transport": {sendsWith(&politeness.Transport{Limiter: within}), good, "Limiter.Within: Limiter.Jitter is -1"},
		"invalid Limiter in the transport, beside a valid one": {
			sendsWith(&politeness.Transport{Limiter: invalid}), robotsmw.Options{UserAgent: agent, Limiter: unpaced()}, "Limiter.Jitter is -1",
		},
		"Wrap returns nil": {colly.NewCollector(), robotsmw.Options{UserAgent: agent, Wrap: wrapInNil}, "Options.Wrap"},
	} {
		ext, err := collyrobots.Attach(c.collector, c.opts)
		if err == nil || ext != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Attach returned error %v (and an Extension: %v), want an error that contains %q and no Extension", name, err, ext != nil, c.want)
		}
		if c.collector == nil || c.collector == twice || c.collector.Context == nil {
			continue
		}
		// After the error, Attach succeeds with valid options.
		c.collector.WithTransport(shop())
		if _, err := collyrobots.Attach(c.collector, good); err != nil {
			t.Errorf("%s: after the error, Attach with valid options returned error %v, want none", name, err)
		}
	}
	withDialer = sendsWith(&http.Transport{DialContext: new(net.Dialer).DialContext})
	if _, err := collyrobots.Attach(withDialer, robotsmw.Options{UserAgent: agent, Base: http.DefaultTransport}); err != nil {
		t.Errorf("Attach with Options.Base, which replaces the transport, returned error %v, want none", err)
	}
}

// Attach fails if a field of colly is missing or has another type. The error
// contains the code to use instead of Attach.
func TestUnknownVersionsOfCollyAreRefused(t *testing.T) {
	collector := reflect.TypeFor[struct {
		backend *struct {
			LimitRules []*colly.LimitRule
			Client     *http.Client
			lock       *sync.RWMutex
		}
		requestHeadersCallbacks []colly.RequestCallback
		requestCallbacks        []colly.RequestCallback
		responseCallbacks       []colly.ResponseCallback
		errorCallbacks          []colly.ErrorCallback
		store                   storage.Storage
	}]()
	rule := reflect.TypeFor[struct {
		waitChan     chan bool
		compiledGlob interface{ Match(string) bool }
	}]()
	if err := collyrobots.Known(collector, rule); err != nil {
		t.Errorf("Known of the expected types = %v, want nil", err)
	}
	if err := collyrobots.Known(reflect.TypeFor[colly.Collector](), reflect.TypeFor[colly.LimitRule]()); err != nil {
		t.Errorf("Known of the types of this version of colly = %v, want nil", err)
	}
	for name, c := range map[string]struct{ collector, rule reflect.Type }{
		"no backend":            {reflect.TypeFor[struct{}](), rule},
		"a backend by value":    {reflect.TypeFor[struct{ backend struct{} }](), rule},
		"an empty backend":      {reflect.TypeFor[struct{ backend *struct{} }](), rule},
		"another kind of slots": {collector, reflect.TypeFor[struct{ waitChan chan struct{} }]()},
		"no matcher":            {collector, reflect.TypeFor[struct{ waitChan chan bool }]()},
		"another matcher": {collector, reflect.TypeFor[struct {
			waitChan     chan bool
			compiledGlob interface{ MatchURL(string) bool }
		}]()},
		"no client": {reflect.TypeFor[struct {
			backend                 *struct{ lock *sync.RWMutex }
			requestHeadersCallbacks []colly.RequestCallback
		}](), rule},
	} {
		err := collyrobots.Known(c.collector, c.rule)
		if err == nil || !strings.Contains(err.Error(), "WithTransport") || !strings.Contains(err.Error(), "colly v2.3.0") {
			t.Errorf("%s: Known = %v, want an error that contains %q and %q", name, err, "WithTransport", "colly v2.3.0")
		}
	}
}

// TestAttachAnywhere calls Attach before each step in which a program sets up a
// collector, and after the last step.
func TestAttachAnywhere(t *testing.T) {
	steps := []struct {
		name string
		do   func(t *testing.T, c *colly.Collector)
	}{
		{"callbacks", func(t *testing.T, c *colly.Collector) {
			c.OnHTML("a[href]", follow)
			c.OnXML("//a", func(*colly.XMLElement) {})
		}},
		{"Limit", func(t *testing.T, c *colly.Collector) {
			if err := c.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 2}); err != nil {
				t.Error(err)
			}
		}},
		{"SetRequestTimeout", func(t *testing.T, c *colly.Collector) { c.SetRequestTimeout(time.Minute) }},
		{"SetStorage", func(t *testing.T, c *colly.Collector) {
			if err := c.SetStorage(&storage.InMemoryStorage{}); err != nil {
				t.Error(err)
			}
		}},
		{"DisableCookies", func(t *testing.T, c *colly.Collector) { c.DisableCookies() }},
		{"a debugger", func(t *testing.T, c *colly.Collector) { c.SetDebugger(&debug.LogDebugger{Output: &strings.Builder{}}) }},
		{"TraceHTTP", func(t *testing.T, c *colly.Collector) {
			c.TraceHTTP = true
			c.OnResponse(func(r *colly.Response) {
				if r.Trace == nil {
					t.Errorf("the response of %s has no Trace, want one", r.Request.URL)
				}
			})
		}},
		{"MaxDepth", func(t *testing.T, c *colly.Collector) { c.MaxDepth = 2 }},
		{"ParseHTTPErrorResponse", func(t *testing.T, c *colly.Collector) { c.ParseHTTPErrorResponse = true }},
		{"IgnoreRobotsTxt off", func(t *testing.T, c *colly.Collector) { c.IgnoreRobotsTxt = false }},
		{"DetectCharset", func(t *testing.T, c *colly.Collector) { c.DetectCharset = true }},
	}
	for _, async := range []bool{false, true} {
		for first := range len(steps) + 1 {
			web := shop()
			c := colly.NewCollector(colly.Async(async))
			var blocked notes
			c.OnError(func(r *colly.Response, err error) {
				if errors.Is(err, colly.ErrRobotsTxtBlocked) {
					blocked.add(r.Request.URL.Path)
				}
			})
			for i, step := range steps {
				if i == first {
					attachUnpaced(t, c, web)
				}
				step.do(t, c)
			}
			if first == len(steps) {
				attachUnpaced(t, c, web)
			}
			c.Visit("http://shop.example/")
			c.Wait()
			wantAsked(t, web, "GET http://shop.example/", "GET http://shop.example/shoes")
			// If colly's own check was enabled again, it refuses the request
			// first, and OnError is not called.
			if got := blocked.sorted(); !slices.Equal(got, []string{"/cart"}) && c.IgnoreRobotsTxt {
				t.Errorf("attached before step %d: OnError received ErrRobotsTxtBlocked for %v, want [/cart]", first, got)
			}
		}
	}
}

// A handler calls Attach for its own collector. Each handler is called once
// for the request that is under way, as without Attach.
func TestAttachInAHandler(t *testing.T) {
	for name, register := range map[string]func(*colly.Collector, func()){
		"OnRequest":  func(c *colly.Collector, f func()) { c.OnRequest(func(*colly.Request) { f() }) },
		"OnResponse": func(c *colly.Collector, f func()) { c.OnResponse(func(*colly.Response) { f() }) },
		"OnError":    func(c *colly.Collector, f func()) { c.OnError(func(*colly.Response, error) { f() }) },
	} {
		web := new(robotstest.Internet)
		mux := http.NewServeMux()
		mux.Handle("/robots.txt", http.NotFoundHandler())
		status := http.StatusOK
		if name == "OnError" {
			status = http.StatusInternalServerError
		}
		mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status) })
		web.Handle("a.example", mux)
		c := colly.NewCollector()
		c.WithTransport(web)
		var calls []string
		register(c, func() {
			calls = append(calls, "first")
			if len(calls) == 1 {
				attach(t, c, robotsmw.Options{UserAgent: agent, Limiter: unpaced()})
			}
		})
		register(c, func() { calls = append(calls, "second") })
		c.Visit("http://a.example/")
		if !slices.Equal(calls, []string{"first", "second"}) {
			t.Errorf("%s: the handlers were called in the order %v, want [first second]", name, calls)
		}
	}
}

// A collector that was initialized again keeps its callbacks, and therefore its
// Extension. Neither Attach nor Add of another Extension succeeds, even before
// the next request, and the Extension continues to work.
func TestAttachAgainAfterInit(t *testing.T) {
	for _, isFirst := range []bool{true, false} {
		web := shop()
		c, ext := polite(t, web)
		if !isFirst {
			c = colly.NewCollector()
			if err := ext.Add(c); err != nil {
				t.Fatal(err)
			}
		}
		c.Init()
		if _, err := collyrobots.Attach(c, robotsmw.Options{UserAgent: agent}); err == nil || !strings.Contains(err.Error(), "already") {
			t.Errorf("first %v: Attach = %v, want an error that contains %q", isFirst, err, "already")
		}
		_, other := polite(t, shop())
		if err := other.Add(c); err == nil {
			t.Errorf("first %v: Add of another Extension returned no error, want one", isFirst)
		}
		if err := c.Visit("http://shop.example/shoes"); err != nil {
			t.Errorf("first %v: Visit = %v, want nil", isFirst, err)
		}
		if ext.Counts().Pages != 1 {
			t.Errorf("first %v: Counts().Pages = %d, want 1", isFirst, ext.Counts().Pages)
		}
		clone := c.Clone()
		clone.Init()
		if _, err := collyrobots.Attach(clone, robotsmw.Options{UserAgent: agent}); err != nil {
			t.Errorf("first %v: Attach of a clone with another backend = %v, want nil", isFirst, err)
		}
	}
}
