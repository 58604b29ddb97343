package robotsmw

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/record"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// slowly returns a handler that waits for d before it calls h.
func slowly(d time.Duration, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(d)
		h.ServeHTTP(w, r)
	})
}

func TestTenThousandCallersOnAColdOriginFetchOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", slowly(time.Second, robots(someRules)))
		ev := new(events)
		c := newTestTransport(t, &web, func(o *Options) { o.Observer = ev.observer() }).Checker()
		var wg sync.WaitGroup
		var blocked atomic.Int64
		for i := range 10_000 {
			wg.Go(func() {
				d, err := c.Check(t.Context(), mustURL(t, fmt.Sprintf("http://a.example/private/%d", i)))
				if err == nil && !d.Allowed {
					blocked.Add(1)
				}
			})
		}
		wg.Wait()
		if n := len(web.Log()); n != 1 {
			t.Errorf("%d fetches of robots.txt, want 1", n)
		}
		if blocked.Load() != 10_000 {
			t.Errorf("%d of 10,000 calls were disallowed, want all", blocked.Load())
		}
		if len(ev.decisions) != 10_000 || len(ev.fetches) != 1 {
			t.Errorf("the Observer received %d decisions and %d fetches, want 10,000 and 1", len(ev.decisions),
				len(ev.fetches))
		}
	})
}

func TestLeaderThatGivesUpLeavesTheFetchToTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", slowly(10*time.Second, robots(someRules)))
		c := newTestTransport(t, &web).Checker()
		u := mustURL(t, "http://a.example/private/")

		leader, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := c.Check(leader, u); !errors.Is(err, context.Canceled) {
				t.Errorf("the caller that began the fetch: error %v, want Canceled", err)
			}
		})
		synctest.Wait()
		for range 5 {
			wg.Go(func() {
				if d, err := c.Check(t.Context(), u); err != nil || d.Allowed {
					t.Errorf("follower: got %v and error %v; want disallowed", d, err)
				}
			})
		}
		hurried, cancelHurried := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancelHurried()
		wg.Go(func() {
			start := time.Now()
			if _, err := c.Check(hurried, u); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 3*time.Second {
				t.Errorf("a follower with a deadline: got error %v after %v, want DeadlineExceeded after 3s", err,
					time.Since(start))
			}
		})
		time.Sleep(time.Second)
		cancel()
		wg.Wait()
		if n := len(web.Log()); n != 1 {
			t.Errorf("%d fetches of robots.txt, want 1", n)
		}
	})
}

func TestFetchThatAllHaveLeftIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", slowly(10*time.Second, robots(someRules)))
		c := newTestTransport(t, &web).Checker()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Check(ctx, mustURL(t, "http://a.example/")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Check with a deadline returned error %v, want %v", err, context.DeadlineExceeded)
		}
		time.Sleep(20 * time.Second)
		decide(t, c, "http://a.example/")
		if n := len(web.Log()); n != 1 {
			t.Errorf("%d fetches of robots.txt, want 1", n)
		}
	})
}

func TestPanicInBaseDoesNotWedgeTheOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		base := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
			calls++
			if calls == 1 {
				panic("a bug in some middleware")
			}
			return (&http.Response{StatusCode: 404, Header: http.Header{}, Body: http.NoBody}), nil
		})
		c := newTestTransport(t, base).Checker()
		if d := decide(t, c, "http://a.example/"); d.Allowed || d.Reason != Unreachable {
			t.Errorf("got %v; want disallowed, because robots.txt is unreachable", d)
		}
		time.Sleep(time.Minute)
		if d := decide(t, c, "http://a.example/"); !d.Allowed {
			t.Errorf("after the next try: got %v; want allowed", d)
		}
	})
}

// A panic in Base counts as a failed fetch. The Observer gets an event for it,
// and a good copy in the Store is obeyed.
func TestPanicInBaseIsAFailedFetch(t *testing.T) {
	for name, base := range map[string]roundTripperFunc{
		"RoundTrip": func(r *http.Request) (*http.Response, error) { panic("boom") },
		"Body.Read": func(r *http.Request) (*http.Response, error) {
			resp := newResponse(r, 200, "")
			resp.Body, resp.ContentLength = io.NopCloser(panicReader{}), -1
			return resp, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &memoryStore{}
				ago := time.Now().Add(-25 * time.Hour)
				s.Put(t.Context(), testKind.Key("http://a.example"),
					stored("http://a.example", someRules,
						record.Record{Fetched: ago, Expires: ago.Add(24 * time.Hour)}), 0)
				var asked []string
				var fetched []Fetch
				c := newTestTransport(t, base, withStore(s), func(o *Options) {
					o.Observer = &Observer{
						Asked: func(_ context.Context, _ string, _ *http.Response, _ []byte, err error) {
							asked = append(asked, fmt.Sprint(err))
						},
						Fetched: func(_ context.Context, f Fetch) { fetched = append(fetched, f) },
					}
				}).Checker()
				if d := decide(t, c, "http://a.example/"); !d.Allowed || !d.Stale {
					t.Errorf("with a good copy in the Store: got %v; want allowed by the stale copy", d)
				}
				if d := decide(t, c, "http://a.example/private/"); d.Allowed || d.Reason != ByRule {
					t.Errorf("with a good copy in the Store: got %v; want disallowed by a rule", d)
				}
				synctest.Wait()
				if !slices.Equal(asked, []string{"panic: boom"}) {
					t.Errorf("Asked received the errors %q, want \"panic: boom\"", asked)
				}
				if len(fetched) != 1 || fetched[0].Cause != "panic: boom" {
					t.Errorf("Fetched received %+v, want one fetch with the cause \"panic: boom\"", fetched)
				}
			})
		})
	}
}

type panicReader struct{}

func (panicReader) Read([]byte) (int, error) { panic("boom") }

func TestTarpitIsGivenUpInBoundedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robotstest.Trickle{Chunk: "#", Every: time.Second})
		c := newTestTransport(t, &web).Checker()
		start := time.Now()
		d := decide(t, c, "http://a.example/")
		if d.Reason != Unreachable || time.Since(start) != 30*time.Second {
			t.Errorf("got %v after %v; want unreachable after 30s", d, time.Since(start))
		}
	})
}

func TestEndedContextStartsNoFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(someRules))
		c := newTestTransport(t, &web).Checker()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := c.Check(ctx, mustURL(t, "http://a.example/"))
		synctest.Wait()
		if n := robotsFetches(&web, ""); n != 0 || err == nil {
			t.Errorf("%d fetches of robots.txt and error %v for a context that had ended, want no fetch and an error", n, err)
		}
	})
}
