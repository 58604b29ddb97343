package robotsmw

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// A validator as long as a header may be is sent back, and the refusal
// of that request (431) opens the site.
func TestHugeETag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if len(r.Header.Get("If-None-Match")) > 8<<10 {
				w.WriteHeader(431)
				return
			}
			w.Header().Set("ETag", `"`+strings.Repeat("e", 9<<10)+`"`)
			io.WriteString(w, someRules)
		}))
		c := newTestTransport(t, &web).Checker()
		decide(t, c, "http://a.example/")
		time.Sleep(25 * time.Hour)
		if d := decide(t, c, "http://a.example/private/"); d.Allowed {
			t.Errorf("a missed Disallow: %v", d)
		}
	})
}

// The same for servers that answer 412 to If-None-Match.
func TestPreconditionFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("If-None-Match") != "" {
				w.WriteHeader(412)
				return
			}
			w.Header().Set("ETag", `"e"`)
			io.WriteString(w, someRules)
		}))
		c := newTestTransport(t, &web).Checker()
		decide(t, c, "http://a.example/")
		time.Sleep(25 * time.Hour)
		if d := decide(t, c, "http://a.example/private/"); d.Allowed {
			t.Errorf("a missed Disallow: %v", d)
		}
	})
}

// The origin in constant use is dropped as if it were the least recently used.
func TestHotOriginIsEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("hot.example", robots(someRules))
		for i := range 40 {
			web.Handle(fmt.Sprintf("h%d.example", i), robots(someRules))
		}
		c := newTestTransport(t, &web, func(o *Options) { o.MaxOrigins = 3 }).Checker()
		decide(t, c, "http://hot.example/")
		decide(t, c, "http://hot.example/")
		for i := range 40 {
			decide(t, c, fmt.Sprintf("http://h%d.example/", i))
			decide(t, c, "http://hot.example/")
		}
		if n := robotsFetches(&web, "hot.example"); n != 1 {
			t.Errorf("%d fetches of the origin in constant use", n)
		}
	})
}

// The hash of a decision is over one octet more than the 500 KiB that its comment spoke of.
func TestHashOfALargeFile(t *testing.T) {
	var web robotstest.Internet
	text := "User-agent: *\nDisallow: /a\n" + strings.Repeat("# filler\n", 70_000)
	web.Handle("a.example", robots(text))
	c := newTestTransport(t, &web).Checker()
	d := decide(t, c, "http://a.example/a")
	if d.SHA256() != hashOf(text[:robotstxt.MaxSize+1]) { // before patch 09 the comment said MaxSize
		t.Errorf("SHA256 is not what its comment says")
	}
}

// Robots.txt writes to the terminal.
func TestControlCharactersInString(t *testing.T) {
	var web robotstest.Internet
	web.Handle("a.example", robots("User-agent: *\nDisallow: /\x1b[2J\x07\n"))
	c := newTestTransport(t, &web).Checker()
	d := decide(t, c, "http://a.example/%1B[2J%07")
	if d.Allowed {
		t.Fatal(d)
	}
	if strings.ContainsAny(d.String(), "\x1b\x07") {
		t.Errorf("%q", d.String())
	}
}

// A record in the last fifth of its time is still fresh, but a restart fetches it.
func TestWarmStartInTheLastFifth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(someRules))
		s := &memoryStore{}
		decide(t, newTestTransport(t, &web, withStore(s)).Checker(), "http://a.example/")
		synctest.Wait()
		time.Sleep(20 * time.Hour)
		start := time.Now()
		slow := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
			time.Sleep(10 * time.Second)
			return web.RoundTrip(r)
		})
		decide(t, newTestTransport(t, slow, withStore(s)).Checker(), "http://a.example/")
		if d := time.Since(start); d > time.Second {
			t.Errorf("the caller waited %v for a fetch, although the stored record is fresh for 4 hours", d)
		}
		synctest.Wait()
	})
}

// Forget while what was fetched is on its way into the Store.
func TestForgetWhileKeeping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(someRules))
		s := &slowPut{}
		c := newTestTransport(t, &web, withStore(s)).Checker()
		decide(t, c, "http://a.example/")
		c.Forget(mustURL(t, "http://a.example/"))
		time.Sleep(10 * time.Second)
		decide(t, c, "http://a.example/")
		if n := robotsFetches(&web, ""); n != 2 {
			t.Errorf("%d fetches: the check after Forget did not fetch", n)
		}
		time.Sleep(10 * time.Second)
	})
}

// Forget while the fetch is under way.
func TestForgetWhileFetching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(someRules))
		slow := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
			resp, err := web.RoundTrip(r)
			time.Sleep(time.Second)
			return resp, err
		})
		c := newTestTransport(t, slow, withStore(&memoryStore{})).Checker()
		go c.Check(t.Context(), mustURL(t, "http://a.example/"))
		time.Sleep(500 * time.Millisecond)
		c.Forget(mustURL(t, "http://a.example/"))
		time.Sleep(10 * time.Second)
		decide(t, c, "http://a.example/")
		if n := robotsFetches(&web, ""); n != 2 {
			t.Errorf("%d fetches: the check after Forget did not fetch", n)
		}
		synctest.Wait()
	})
}

type slowPut struct{ memoryStore }

func (s *slowPut) Put(ctx context.Context, key string, v []byte, ttl time.Duration) error {
	time.Sleep(time.Second)
	return s.memoryStore.Put(ctx, key, v, ttl)
}

// An ended context asks the network.
func TestEndedContextStartsAFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(someRules))
		c := newTestTransport(t, &web).Checker()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := c.Check(ctx, mustURL(t, "http://a.example/"))
		synctest.Wait()
		if n := robotsFetches(&web, ""); n != 0 || err == nil {
			t.Errorf("%d fetches for a caller that had gone before, %v", n, err)
		}
	})
}

// Options.Logger says that blocked requests are logged at debug level.
func TestBlockedRequestsAreLogged(t *testing.T) {
	var web robotstest.Internet
	web.Handle("a.example", robots(someRules))
	var buf bytes.Buffer
	tr := newTestTransport(t, &web, func(o *Options) {
		o.Logger = slog.New(slog.NewTextHandler(&buf, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	req, _ := http.NewRequest("GET", "http://a.example/private/", nil)
	tr.RoundTrip(req)
	if !strings.Contains(buf.String(), "/private/") {
		t.Errorf("not logged: %s", buf.String())
	}
}

// A panic of Base while a Store lock is held.
func TestPanicKeepsTheStoreLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &memoryStore{}
		bad := roundTripperFunc(func(r *http.Request) (*http.Response, error) { panic("boom") })
		decide(t, newTestTransport(t, bad, withStore(s)).Checker(), "http://a.example/")
		synctest.Wait()
		if len(s.locks) != 0 {
			t.Errorf("the lock is still held")
		}
	})
}

// An Observer that panics turns a good robots.txt into an unreachable one.
func TestObserverPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(someRules))
		c := newTestTransport(t, &web, func(o *Options) { o.Observer = &Observer{Fetched: func(context.Context, Fetch) { panic("observer") }} }).Checker()
		if d := decide(t, c, "http://a.example/"); !d.Allowed {
			t.Errorf("wrongly blocked: %v", d)
		}
	})
}

// Sitemaps under DryRun and AllowAfter30Days.
func TestSitemapsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", status(503))
		c := newTestTransport(t, &web, func(o *Options) { o.DryRun = true }).Checker()
		_, err := c.Sitemaps(t.Context(), mustURL(t, "http://a.example/"))
		if err == nil || strings.Contains(err.Error(), ": allowed") {
			t.Errorf("%v", err)
		}
	})
}

// Deadlines and the slot of a redirect's second hop.
func TestDeadlineAndTheSecondHop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("http://a.example", status(301, "Location: https://a.example/robots.txt"))
		web.Handle("https://a.example", robots(someRules))
		client, _ := NewClient(Options{UserAgent: testAgent, Base: &web, Limiter: &politeness.Limiter{Delay: 10 * time.Second}, Logger: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, "GET", "http://a.example/", nil)
		start := time.Now()
		_, err := client.Do(req)
		if !isDelay(err) || time.Since(start) > time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		time.Sleep(time.Minute)
	})
}

// The target in all its shapes.
func TestShapesOfURLs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots("User-agent: *\nDisallow: /private\nDisallow: //double\nDisallow: /*?x\nDisallow: /q?$\n"))
		c := newTestTransport(t, &web).Checker()
		for _, tc := range []struct {
			edit func(r *http.Request)
		}{
			{func(r *http.Request) { r.URL.Opaque = "/private/x"; r.URL.Path = "" }},
			{func(r *http.Request) { r.URL.Opaque = "//a.example/private/x"; r.URL.Path = "" }},
			{func(r *http.Request) { r.URL.Scheme = "HTTP"; r.URL.Path = "/private" }},
			{func(r *http.Request) { r.URL.Host = "A.Example.:80"; r.URL.Path = "/private" }},
			{func(r *http.Request) { r.URL.Path = "//double" }},
			{func(r *http.Request) { r.URL.Path = "/q"; r.URL.ForceQuery = true }},
			{func(r *http.Request) { r.URL.Path = "/private"; r.URL.Fragment = "x" }},
			{func(r *http.Request) { r.URL.Path = "private" }},
			{func(r *http.Request) { r.URL.Path = "/"; r.URL.RawQuery = "x=1" }},
			{func(r *http.Request) { r.URL.Path = ""; r.URL.RawQuery = "x=1" }},
			{func(r *http.Request) { r.URL.Path = "/private"; r.Host = "A.EXAMPLE." }},
		} {
			req, _ := http.NewRequest("GET", "http://a.example/", nil)
			tc.edit(req)
			var d Decision
			err := c.check(t.Context(), req.URL, req.Host, &d)
			if err != nil || d.Allowed {
				t.Errorf("%+v: %v %v", req.URL, d, err)
			}
		}
	})
}
