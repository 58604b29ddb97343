package frontier

import (
	"context"
	"net/url"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func newPage(t *testing.T, rawURL string) *Page {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	return &Page{URL: u}
}

func TestFrontier_HostsTakeTurns(t *testing.T) {
	f := NewMemory(10)
	for _, u := range []string{"http://a.example/1", "http://a.example/2", "http://a.example/3", "http://b.example/1"} {
		f.Add(newPage(t, u))
	}
	if f.Add(newPage(t, "http://a.example/2")) != 0 {
		t.Error("a URL was added twice")
	}
	first, _ := f.Take(t.Context())
	second, _ := f.Take(t.Context())
	if first.URL.Host == second.URL.Host {
		t.Errorf("two pages of %s were out at a time", first.URL.Host)
	}
	f.Done(first, time.Now(), 0)
	f.Done(second, time.Now(), 0)
	var rest []string
	for {
		p, ok := f.Take(t.Context())
		if !ok {
			break
		}
		rest = append(rest, p.URL.String())
		f.Done(p, time.Now(), 0)
	}
	if want := []string{"http://a.example/2", "http://a.example/3"}; !slices.Equal(rest, want) {
		t.Errorf("then came %q, want %q", rest, want)
	}
}

func TestFrontier_PutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewMemory(2)
		f.Add(newPage(t, "http://a.example/busy"))
		start := time.Now()
		p, _ := f.Take(t.Context())
		f.PutBack(p, start.Add(time.Minute))

		f.Add(newPage(t, "http://a.example/other")) // the whole host is left alone, not the page
		other, ok := f.Take(t.Context())
		if !ok || time.Since(start) != time.Minute {
			t.Errorf("taken after %v, %t; want after 1m0s", time.Since(start), ok)
		}
		f.Done(other, time.Now(), 0)
		if p, ok := f.Take(t.Context()); !ok || p.URL.Path != "/other" && other.URL.Path != "/other" {
			t.Error("a page was lost")
		}
	})
}

func TestFrontier_Budget(t *testing.T) {
	f := NewMemory(1)
	f.Add(newPage(t, "http://a.example/blocked"))
	f.Add(newPage(t, "http://a.example/1"))
	f.Add(newPage(t, "http://a.example/2"))
	p, _ := f.Take(t.Context())
	f.Refund(p)
	p, ok := f.Take(t.Context())
	if !ok {
		t.Fatal("a page that cost nothing was counted")
	}
	f.Done(p, time.Now(), 0)
	if _, ok := f.Take(t.Context()); ok {
		t.Error("more pages than the budget allows")
	}
	if left := f.State().Queued; left != 1 {
		t.Errorf("%d pages left, want 1", left)
	}
}

// A worker with nothing to do has to stay while another may still find links.
func TestFrontier_WaitsForLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewMemory(10)
		f.Add(newPage(t, "http://a.example/"))
		p, _ := f.Take(t.Context())
		taken := make(chan bool)
		go func() {
			_, ok := f.Take(t.Context())
			taken <- ok
		}()
		synctest.Wait()
		f.Add(newPage(t, "http://b.example/"))
		if !<-taken {
			t.Error("the worker went home before the link was found")
		}
		f.Done(p, time.Now(), 0)
	})
}

func TestFrontier_ContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewMemory(10)
		f.Add(newPage(t, "http://a.example/"))
		p, _ := f.Take(t.Context())
		f.PutBack(p, time.Now().Add(time.Hour))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if _, ok := f.Take(ctx); ok || time.Since(start) != time.Second {
			t.Errorf("take returned %t after %v, want false after 1s", ok, time.Since(start))
		}
		f.Add(newPage(t, "http://b.example/"))
		if _, ok := f.Take(ctx); ok {
			t.Error("a page was handed out after the context had ended")
		}
		if left := f.State().Queued; left != 2 {
			t.Errorf("%d pages left, want 2: nothing is lost", left)
		}
	})
}
