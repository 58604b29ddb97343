package collyrobots_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// A pause of a host for more than a minute is logged once.
func TestLongPausesAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var log strings.Builder
		web := busy(http.StatusTooManyRequests, 1, "3600")
		c := colly.NewCollector(colly.Async())
		attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: new(politeness.Limiter),
			Logger: slog.New(slog.NewTextHandler(lockedWriter{&mu, &log}, nil))})
		c.Visit("http://busy.example/first")
		c.Wait()
		for i := range 3 {
			c.Visit(fmt.Sprintf("http://busy.example/%d", i))
		}
		time.Sleep(time.Second)
		mu.Lock()
		got := log.String()
		mu.Unlock()
		if strings.Count(got, "level=INFO") != 1 || !strings.Contains(got, "host=busy.example") || !strings.Contains(got, "reason=back-off") ||
			!strings.Contains(got, "until=2000-01-01T01:00:01") {
			t.Errorf("got the log\n%s\nwant one INFO line, with host=busy.example, reason=back-off and until=2000-01-01T01:00:01", got)
		}
		c.Wait()
	})
}

// A wait for the program's own Delay is not logged, however long it is.
func TestLongDelaysAreNotLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		web := new(robotstest.Internet)
		web.Handle("a.example", robotsText(""))
		c := colly.NewCollector()
		ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: neverWait(2 * time.Minute),
			Logger: slog.New(slog.NewTextHandler(&log, nil))})
		ext.PutBack = true
		for i := range 3 {
			c.Visit(fmt.Sprintf("http://a.example/%d", i))
		}
		ext.Wait()
		if got := len(asked(web)); got != 3 || log.String() != "" {
			t.Errorf("%d pages were fetched, want 3; got the log\n%s\nwant an empty log", got, &log)
		}
	})
}

type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (w lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.w.Write(p)
}

// A Retry waits for a minute because the response to robots.txt was a 503
// without Retry-After. The pause is logged, although it began before the Retry.
func TestMinuteOfAnUnreachableRobotsTxtIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		var mu sync.Mutex
		tries := 0
		web := new(robotstest.Internet)
		web.Handle("a.example", withRobots(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(100 * time.Millisecond)
			if tries++; tries == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})))
		c := colly.NewCollector()
		attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: new(politeness.Limiter), Logger: slog.New(slog.NewTextHandler(lockedWriter{&mu, &log}, nil))})
		c.OnError(func(r *colly.Response, err error) {
			if errors.Is(err, robotsmw.ErrUnreachable) {
				time.Sleep(time.Second)
				r.Request.Retry()
			}
		})
		start := time.Now()
		c.Visit("http://a.example/")
		wantAsked(t, web, "GET http://a.example/")
		if took := time.Since(start); took < time.Minute || took > 2*time.Minute {
			t.Errorf("the crawl took %v, want 1m0s to 2m0s", took)
		}
		if got := log.String(); strings.Count(got, "a host is paused") != 1 || !strings.Contains(got, "robots.txt is unreachable") {
			t.Errorf("got the log\n%s\nwant %q once, and %q", got, "a host is paused", "robots.txt is unreachable")
		}
	})
}
