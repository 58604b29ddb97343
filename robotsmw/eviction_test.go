package robotsmw

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// A changingSite changes its robots.txt every few minutes: in turn, /0 and /1
// are disallowed. A changingSite counts the requests for pages, and those for
// pages that the file it served last disallows.
type changingSite struct {
	mu         sync.Mutex
	served     int // which of the two files; -1 means none
	pages      int
	disallowed int
}

func (s *changingSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.URL.Path == "/robots.txt" {
		s.served = int(time.Now().Unix()/420) % 2
		w.Header().Set("Cache-Control", "max-age=300")
		fmt.Fprintf(w, "User-agent: *\nDisallow: /%d\n", s.served)
		return
	}
	s.pages++
	if strings.HasPrefix(r.URL.Path, fmt.Sprintf("/%d", s.served)) {
		s.disallowed++
	}
}

// 40 requests at a time wait for four hosts, and memory has room for one to
// three origins. Meanwhile, files expire and change. Every request obeys the
// newest file that was fetched. Without pins, the origin of a waiting request
// would be evicted together with its newer file, and in its last turn (see
// maxTurns), the request would obey the older file, to which it still refers.
func TestEviction_NoPageFollowsAnOlderFile(t *testing.T) {
	for _, maxOrigins := range []int{1, 2, 3} {
		t.Run(fmt.Sprint(maxOrigins), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := new(robotstest.Internet)
				sites := make([]*changingSite, 4)
				for i := range sites {
					sites[i] = &changingSite{served: -1}
					web.Handle(fmt.Sprintf("h%d.example", i), sites[i])
				}
				client := newLimitedClient(t,
					Options{Base: web, Limiter: new(politeness.Limiter), MaxOrigins: maxOrigins})
				var wg sync.WaitGroup
				end := time.Now().Add(time.Hour)
				for worker := range 40 {
					wg.Go(func() {
						rng := rand.New(rand.NewPCG(uint64(maxOrigins), uint64(worker)))
						for time.Now().Before(end) {
							resp, err := client.Get(fmt.Sprintf("http://h%d.example/%d", rng.IntN(4), rng.IntN(2)))
							if err == nil {
								io.Copy(io.Discard, resp.Body)
								resp.Body.Close()
							} else {
								time.Sleep(time.Second)
							}
						}
					})
				}
				wg.Wait()
				time.Sleep(time.Minute) // the last refreshes end
				pages, disallowed := 0, 0
				for _, s := range sites {
					pages += s.pages
					disallowed += s.disallowed
				}
				if disallowed > 0 || pages < 10_000 {
					t.Errorf("%d of %d pages followed an older file; want none, of at least 10,000", disallowed, pages)
				}
				if n := client.Transport.(*Transport).Checker().Stats().Origins; n > maxOrigins {
					t.Errorf("%d origins are in memory at the end, want at most %d", n, maxOrigins)
				}
			})
		})
	}
}

// A panic in a callback or in Base leaves no origin pinned: when another origin
// is checked, the first one is evicted.
func TestEviction_AfterAPanic(t *testing.T) {
	web := new(robotstest.Internet)
	web.Handle("a.example", robots(open))
	web.Handle("b.example", robots(open))
	panics := true
	for name, opts := range map[string]Options{
		"Observer": {Base: web, Observer: &Observer{Decided: func(context.Context, Decision) {
			if panics {
				panic("in the Observer")
			}
		}}},
		"Base": {Base: roundTripperFunc(func(r *http.Request) (*http.Response, error) {
			if panics && r.URL.Path == "/page" {
				panic("in Base")
			}
			return web.RoundTrip(r)
		})},
	} {
		t.Run(name, func(t *testing.T) {
			opts.MaxOrigins = 1
			client := newLimitedClient(t, opts)
			panics = true
			func() {
				defer func() {
					if recover() == nil {
						t.Error("Get returned, want a panic")
					}
				}()
				client.Get("http://a.example/page")
			}()
			panics = false
			resp, err := client.Get("http://b.example/page")
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if n := client.Transport.(*Transport).Checker().Stats().Origins; n != 1 {
				t.Errorf("%d origins are in memory, want 1", n)
			}
		})
	}
}
