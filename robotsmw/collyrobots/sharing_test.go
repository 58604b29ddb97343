package collyrobots_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/refusal"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// Several collectors are attached and begin to crawl the same site at the same
// time. Its robots.txt is fetched once if they have the same transport: the
// default one, one that was set before or after Attach, or Options.Base.
func TestCollectorsThatStartTogetherFetchRobotsTxtOnce(t *testing.T) {
	var fetches atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			fetches.Add(1)
			time.Sleep(50 * time.Millisecond) // long enough for all to need it
			io.WriteString(w, "User-agent: *\nDisallow: /no\n")
		}
	}))
	defer server.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	for name, setUp := range map[string]func(t *http.Transport, c *colly.Collector, limiter *politeness.Limiter){
		"no transport": func(_ *http.Transport, c *colly.Collector, limiter *politeness.Limiter) {
			attach(t, c, robotsmw.Options{UserAgent: agent, Limiter: limiter})
		},
		"before": func(own *http.Transport, c *colly.Collector, limiter *politeness.Limiter) {
			c.WithTransport(own)
			attach(t, c, robotsmw.Options{UserAgent: agent, Limiter: limiter})
		},
		"after": func(own *http.Transport, c *colly.Collector, limiter *politeness.Limiter) {
			attach(t, c, robotsmw.Options{UserAgent: agent, Limiter: limiter})
			c.WithTransport(own)
		},
		"Base": func(own *http.Transport, c *colly.Collector, limiter *politeness.Limiter) {
			attach(t, c, robotsmw.Options{UserAgent: agent, Limiter: limiter, Base: own})
		},
	} {
		fetches.Store(0)
		limiter, own := unpaced(), new(http.Transport)
		var wait sync.WaitGroup
		for range 3 {
			c := colly.NewCollector()
			setUp(own, c, limiter)
			wait.Go(func() {
				if err := c.Visit(server.URL + "/no"); !errors.Is(err, colly.ErrRobotsTxtBlocked) {
					t.Errorf("%s: Visit of a disallowed page = %v, want ErrRobotsTxtBlocked", name, err)
				}
			})
		}
		wait.Wait()
		own.CloseIdleConnections()
		if n := fetches.Load(); n != 1 {
			t.Errorf("%s: robots.txt was fetched %d times, want once", name, n)
		}
	}
}

// Collectors with the same options share robots.txt, until one of them gets a
// transport of its own.
func TestCollectorsShareRobotsTxt(t *testing.T) {
	var fetches atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			fetches.Add(1)
			io.WriteString(w, "User-agent: *\nDisallow: /no\n")
		}
	}))
	defer server.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	limiter := unpaced()
	own := func(c *colly.Collector) { c.WithTransport(&http.Transport{DisableKeepAlives: true}) }
	for _, c := range []struct {
		name   string
		opts   robotsmw.Options
		before func(*colly.Collector)
		after  func(*colly.Collector)
		want   int32
	}{
		{name: "the first", want: 1},
		{name: "the second"},
		{name: "another Logger and Observer", opts: robotsmw.Options{Logger: slog.New(slog.DiscardHandler), Observer: new(robotsmw.Observer)}},
		{name: "another agent", opts: robotsmw.Options{UserAgent: "OtherBot/1.0 (+https://example.com/bot)"}, want: 1},
		{name: "rules for block pages", opts: robotsmw.Options{Refusals: new(refusal.Detector)}, want: 1},
		{name: "other tokens", opts: robotsmw.Options{ProductTokens: []string{"x"}}, want: 1},
		{name: "another Limiter", opts: robotsmw.Options{Limiter: unpaced()}, want: 1},
		{name: "an Override", opts: robotsmw.Options{Override: map[string]string{"http://x.example": ""}}, want: 1},
		{name: "a transport of its own", before: own, want: 1},
		{name: "a transport later", after: own, want: 1},
		{name: "a Base", opts: robotsmw.Options{Base: http.DefaultTransport}, want: 1},
		{name: "the last"},
	} {
		if c.opts.UserAgent == "" {
			c.opts.UserAgent = agent
		}
		if c.opts.Limiter == nil {
			c.opts.Limiter = limiter
		}
		visit := func() int32 {
			fetches.Store(0)
			collector := colly.NewCollector()
			if c.before != nil {
				c.before(collector)
			}
			attach(t, collector, c.opts)
			if c.after != nil {
				c.after(collector)
			}
			if err := collector.Visit(server.URL + "/"); err != nil {
				t.Errorf("%s: Visit of an allowed page = %v, want nil", c.name, err)
			}
			if err := collector.Visit(server.URL + "/no"); !errors.Is(err, colly.ErrRobotsTxtBlocked) {
				t.Errorf("%s: Visit of a disallowed page = %v, want ErrRobotsTxtBlocked", c.name, err)
			}
			return fetches.Load()
		}
		n := visit()
		// A file is stored shortly after its first use, so a collector that
		// needs it before then fetches it too.
		for tries := 0; n > c.want && tries < 10; tries++ {
			runtime.Gosched()
			n = visit()
		}
		if n != c.want {
			t.Errorf("%s: robots.txt was fetched %d times, want %d", c.name, n, c.want)
		}
	}
}

// Two collectors, each with an Observer of its own, share robots.txt. The
// second Observer receives the file too, although the first collector fetched
// it.
func TestCollectorsThatShareRobotsTxtHaveObserversOfTheirOwn(t *testing.T) {
	const text = "User-agent: *\nDisallow: /no\n"
	server := httptest.NewServer(robotstest.Site{"/robots.txt": text, "/": "page"})
	defer server.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	limiter := unpaced()
	for _, name := range []string{"the first", "the second"} {
		var read, loaded, fetched atomic.Int32
		observer := &robotsmw.Observer{
			Read: func(_ context.Context, _ string, got []byte) {
				if string(got) == text {
					read.Add(1)
				}
			},
			Fetched: func(context.Context, robotsmw.Fetch) { fetched.Add(1) },
			Loaded:  func(context.Context, robotsmw.Fetch) { loaded.Add(1) },
		}
		c := colly.NewCollector()
		attach(t, c, robotsmw.Options{UserAgent: agent, Limiter: limiter, Observer: observer})
		if err := c.Visit(server.URL + "/no"); !errors.Is(err, colly.ErrRobotsTxtBlocked) {
			t.Errorf("%s: Visit of a disallowed page = %v, want ErrRobotsTxtBlocked", name, err)
		}
		if read.Load() != 1 {
			t.Errorf("%s: Observer.Read received the file %d times, want once", name, read.Load())
		}
		for range 1000 { // the result of a fetch is observed and shared a moment after it has been used
			if fetched.Load()+loaded.Load() > 0 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if fetched.Load()+loaded.Load() != 1 {
			t.Errorf("%s: Observer.Fetched was called %d times and Observer.Loaded %d times, want one call in all", name, fetched.Load(), loaded.Load())
		}
	}
}

// A crawler sets another transport before each page. It fetches robots.txt
// once, because the file remains in force.
func TestTransportsOfOneCollectorNeedOneRobotsTxt(t *testing.T) {
	var fetches atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			fetches.Add(1)
		}
	}))
	defer server.Close()
	c := colly.NewCollector()
	attach(t, c, robotsmw.Options{UserAgent: agent, Limiter: unpaced()})
	for page := range 5 {
		c.WithTransport(&http.Transport{DisableKeepAlives: true})
		if err := c.Visit(fmt.Sprintf("%s/%d", server.URL, page)); err != nil {
			t.Error(err)
		}
	}
	if n := fetches.Load(); n != 1 {
		t.Errorf("robots.txt was fetched %d times, want once", n)
	}
}

// A job server makes a collector for each job. Robots.txt is fetched for the
// first job only, even if the earlier collectors have been garbage collected.
func TestRobotsTxtOutlivesTheCollector(t *testing.T) {
	var fetches atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			fetches.Add(1)
		}
	}))
	defer server.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	limiter := unpaced()
	visit := func() int32 {
		fetches.Store(0)
		c := colly.NewCollector()
		attach(t, c, robotsmw.Options{UserAgent: agent, Limiter: limiter})
		if err := c.Visit(server.URL); err != nil {
			t.Error(err)
		}
		return fetches.Load()
	}
	visit()
	for tries := 0; tries < 10 && visit() > 0; tries++ {
		runtime.Gosched() // what was fetched is shared a moment after it has been used
	}
	for range 3 {
		runtime.GC()
		runtime.Gosched() // cleanups run
		if n := visit(); n > 0 {
			t.Errorf("robots.txt was fetched %d times for a later job, want 0", n)
		}
	}
	runtime.KeepAlive(limiter)
}
