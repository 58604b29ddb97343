package robotsmw

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

// An origin whose address has an IPv6 zone is never found in the Store.
func TestStoreAndIPv6Zone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		web := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
			n++
			return answerOf(r, 200, someRules), nil
		})
		s := &memoryStore{}
		decide(t, newTestTransport(t, web, withStore(s)).Checker(), "http://[fe80::1%25eth0]/")
		synctest.Wait()
		decide(t, newTestTransport(t, web, withStore(s)).Checker(), "http://[fe80::1%25eth0]/")
		synctest.Wait()
		if n != 1 {
			t.Errorf("%d fetches", n)
		}
	})
}

// Rubbish validators in the Store.
func TestStoredValidatorsThatCannotBeSent(t *testing.T) {
	srv := newLoopback(t)
	s := &memoryStore{}
	ago := time.Now().Add(-25 * time.Hour)
	old := "User-agent: *\nDisallow: /new\n"
	s.Put(t.Context(), srv, stored(srv, old, record.Record{Source: &record.Source{ETag: "a\nb"}, Fetched: ago, Expires: ago.Add(24 * time.Hour)}), 0)
	d := decide(t, newTestTransport(t, http.DefaultTransport, withStore(s)).Checker(), srv+"/new")
	if !d.Allowed || d.Stale {
		t.Errorf("%v", d)
	}
}

// Everything at once: random redirects among origins that fail, hang and
// change, a tiny cache, a Store, Forget, callers that give up. Nobody hangs.
func TestChaos(t *testing.T) {
	for seed := range uint64(6) {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			rng := rand.New(rand.NewPCG(seed, 1))
			draw := func(n int) int { mu.Lock(); defer mu.Unlock(); return rng.IntN(n) }
			const hosts = 12
			web := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
				select {
				case <-time.After(time.Duration(draw(3000)) * time.Millisecond):
				case <-r.Context().Done():
					return nil, r.Context().Err()
				}
				switch draw(12) {
				case 0:
					return nil, io.ErrUnexpectedEOF
				case 1:
					panic("base")
				case 2:
					return nil, &politeness.DelayError{Host: "x", Until: time.Now().Add(time.Minute)}
				case 3:
					return answerOf(r, 503, ""), nil
				case 4:
					return answerOf(r, 404, ""), nil
				case 5, 6, 7, 8:
					return answerOf(r, 301, "", fmt.Sprintf("Location: http://h%d.example/robots.txt", draw(hosts))), nil
				case 9:
					return nil, nil
				}
				return answerOf(r, 200, fmt.Sprintf("User-agent: *\nDisallow: /%d\n", draw(20)), "Cache-Control: max-age=300", `ETag: "x"`), nil
			})
			var s Store
			if seed%2 == 1 {
				s = &memoryStore{}
			}
			c := newTestTransport(t, web, withStore(s), func(o *Options) { o.MaxOrigins = 1 + int(seed)*2 }).Checker()
			var wg sync.WaitGroup
			for range 30 {
				wg.Go(func() {
					for range 200 {
						u := mustURL(t, fmt.Sprintf("http://h%d.example/%d", draw(hosts), draw(20)))
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(draw(10_000))*time.Millisecond)
						if draw(3) == 0 {
							ctx = context.Background()
						}
						start := time.Now()
						c.Check(ctx, u)
						if d := time.Since(start); d > 5*time.Minute {
							t.Errorf("Check took %v", d)
						}
						cancel()
						if draw(30) == 0 {
							c.Forget(u)
						}
						if draw(50) == 0 {
							time.Sleep(time.Duration(draw(600)) * time.Second)
						}
					}
				})
			}
			wg.Wait()
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			if err := c.cache.Audit(); err != nil {
				t.Error(err)
			}
			if n := c.cache.UnderWay(); n != 0 {
				t.Errorf("%d flights are left", n)
			}
		})
	}
}
