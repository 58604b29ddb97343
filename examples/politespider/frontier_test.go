package main

import (
	"context"
	"net/url"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func newPage(t *testing.T, rawURL string) *page {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	return &page{url: u}
}

func TestFrontier_HostsTakeTurns(t *testing.T) {
	f := newFrontier(10)
	for _, u := range []string{"http://a.example/1", "http://a.example/2", "http://a.example/3", "http://b.example/1"} {
		f.add(newPage(t, u))
	}
	if f.add(newPage(t, "http://a.example/2")) {
		t.Error("a URL was added twice")
	}
	first, _ := f.take(t.Context())
	second, _ := f.take(t.Context())
	if first.url.Host == second.url.Host {
		t.Errorf("two pages of %s were out at a time", first.url.Host)
	}
	f.done(first, time.Now())
	f.done(second, time.Now())
	var rest []string
	for {
		p, ok := f.take(t.Context())
		if !ok {
			break
		}
		rest = append(rest, p.url.String())
		f.done(p, time.Now())
	}
	if want := []string{"http://a.example/2", "http://a.example/3"}; !slices.Equal(rest, want) {
		t.Errorf("then came %q, want %q", rest, want)
	}
}

func TestFrontier_PutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFrontier(2)
		f.add(newPage(t, "http://a.example/busy"))
		start := time.Now()
		p, _ := f.take(t.Context())
		f.putBack(p, start.Add(time.Minute))

		f.add(newPage(t, "http://a.example/other")) // the whole host is left alone, not the page
		other, ok := f.take(t.Context())
		if !ok || time.Since(start) != time.Minute {
			t.Errorf("taken after %v, %t; want after 1m0s", time.Since(start), ok)
		}
		f.done(other, time.Now())
		if p, ok := f.take(t.Context()); !ok || p.url.Path != "/other" && other.url.Path != "/other" {
			t.Error("a page was lost")
		}
	})
}

func TestFrontier_Budget(t *testing.T) {
	f := newFrontier(1)
	f.add(newPage(t, "http://a.example/blocked"))
	f.add(newPage(t, "http://a.example/1"))
	f.add(newPage(t, "http://a.example/2"))
	p, _ := f.take(t.Context())
	f.refund(p)
	p, ok := f.take(t.Context())
	if !ok {
		t.Fatal("a page that cost nothing was counted")
	}
	f.done(p, time.Now())
	if _, ok := f.take(t.Context()); ok {
		t.Error("more pages than the budget allows")
	}
	if left := f.left(); len(left) != 1 {
		t.Errorf("%d pages left, want 1", len(left))
	}
}

// A worker with nothing to do has to stay while another may still find links.
func TestFrontier_WaitsForLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFrontier(10)
		f.add(newPage(t, "http://a.example/"))
		p, _ := f.take(t.Context())
		taken := make(chan bool)
		go func() {
			_, ok := f.take(t.Context())
			taken <- ok
		}()
		synctest.Wait()
		f.add(newPage(t, "http://b.example/"))
		if !<-taken {
			t.Error("the worker went home before the link was found")
		}
		f.done(p, time.Now())
	})
}

func TestFrontier_ContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFrontier(10)
		f.add(newPage(t, "http://a.example/"))
		p, _ := f.take(t.Context())
		f.putBack(p, time.Now().Add(time.Hour))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if _, ok := f.take(ctx); ok || time.Since(start) != time.Second {
			t.Errorf("take returned %t after %v, want false after 1s", ok, time.Since(start))
		}
		f.add(newPage(t, "http://b.example/"))
		if _, ok := f.take(ctx); ok {
			t.Error("a page was handed out after the context had ended")
		}
		if left := f.left(); len(left) != 2 {
			t.Errorf("%d pages left, want 2: nothing is lost", len(left))
		}
	})
}
