package politeness

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A fetch of robots.txt waits neither behind pages nor for a Crawl-delay. If
// another host redirects to the file, the fetch waits its turn.
func TestExemptFetchOvertakesThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		u := mustURL(t, "http://example.com/")
		zero := time.Now()
		var mu sync.Mutex
		var story []string
		var wg sync.WaitGroup
		request := func(what string, crawl time.Duration) {
			wg.Go(func() {
				g, err := l.Acquire(WithCrawlDelay(t.Context(), crawl), u)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				story = append(story, fmt.Sprint(what, " ", time.Since(zero)))
				mu.Unlock()
				g.Done(Outcome{Status: 200})
			})
			synctest.Wait()
		}
		for _, page := range []string{"p1", "p2", "p3"} {
			request(page, 10*time.Second)
		}
		request("redirected", ExemptInTurn)
		time.Sleep(4 * time.Second)
		request("r1", Exempt)
		request("r2", Exempt)
		time.Sleep(5500 * time.Millisecond)
		request("r3", Exempt)
		request("r4", Exempt)
		wg.Wait()
		const want = "p1 0s, r1 4s, r2 5s, r3 9.5s, r4 10.5s, p2 11.5s, p3 21.5s, redirected 22.5s"
		if got := strings.Join(story, ", "); got != want {
			t.Errorf("the requests started at\n%s\nwant\n%s", got, want)
		}
	})
}

func TestTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		u := mustURL(t, "http://example.com/")
		zero := time.Now()
		var story []string
		traced := WithTrace(t.Context(), &Trace{
			Queued: func(until time.Time, why Reason) {
				story = append(story, fmt.Sprint("queued ", until.Sub(zero), " ", why))
			},
			Granted: func(at time.Time) { story = append(story, fmt.Sprint("granted ", at.Sub(zero))) },
		})
		g, _ := l.Acquire(traced, u)
		var wg sync.WaitGroup
		wg.Go(func() {
			g, _ := l.Acquire(traced, u)
			g.Done(Outcome{})
		})
		synctest.Wait()
		time.Sleep(100 * time.Millisecond)
		g.Done(Outcome{Status: 503, Header: retryIn("10")})
		wg.Wait()
		if got := strings.Join(story, ", "); got != "granted 0s, queued 1s delay, queued 10.1s back-off, granted 10.1s" {
			t.Error(got)
		}
		time.Sleep(time.Minute)
		g, _ = l.Acquire(WithTrace(t.Context(), &Trace{}), u) // nil functions are skipped
		g.Done(Outcome{})
	})
}
