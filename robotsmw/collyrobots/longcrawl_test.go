package collyrobots_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// An asynchronous collector visits 3,000 pages at once. The robots.txt of their
// site expires after five minutes and changes every ten minutes. The last
// change disallows all pages.
func TestAsyncCrawlObeysEachFileItReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lifetime, change = 5 * time.Minute, 10 * time.Minute
		start := time.Now()
		mux := http.NewServeMux()
		mux.HandleFunc("/robots.txt", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "max-age=300")
			w.Header().Set("Content-Type", "text/plain")
			switch n := time.Since(start) / change; {
			case n < 3:
				fmt.Fprintf(w, "User-agent: *\nDisallow: /other-%d/\n", n)
			default:
				io.WriteString(w, "User-agent: *\nDisallow: /\n")
			}
		})
		mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<html>") })
		web := new(robotstest.Internet)
		web.Handle("a.example", mux)

		c := colly.NewCollector(colly.Async(true))
		attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Logger: slog.New(slog.DiscardHandler)})
		var answered, refused atomic.Int32
		var last atomic.Int64
		c.OnResponse(func(*colly.Response) { answered.Add(1) })
		c.OnError(func(r *colly.Response, err error) {
			if !errors.Is(err, robotsmw.ErrDisallowed) {
				t.Errorf("OnError for %v received %v, want ErrDisallowed", r.Request.URL, err)
			}
			refused.Add(1)
			last.Store(int64(time.Since(start)))
		})
		for i := range 3000 {
			if err := c.Visit(fmt.Sprintf("http://a.example/%d", i)); err != nil {
				t.Error(err)
			}
		}
		c.Wait()

		var files []time.Duration
		late := 0
		for _, r := range web.Log() {
			at := r.Time.Sub(start)
			if strings.HasSuffix(r.URL, "/robots.txt") {
				files = append(files, at)
			} else if len(files) > 0 && files[len(files)-1] >= 3*change {
				late++
			}
		}
		if late != 0 {
			t.Errorf("%d pages were requested after the robots.txt that disallows them, want 0", late)
		}
		if answered.Load()+refused.Load() != 3000 || refused.Load() < 900 {
			t.Errorf("%d pages were fetched and %d refused, want 3000 together, of which at least 900 refused", answered.Load(), refused.Load())
		}
		for i := 1; i < len(files); i++ {
			if files[i]-files[i-1] > lifetime+10*time.Second {
				t.Errorf("robots.txt was fetched at %v, want intervals of at most %v", files, lifetime+10*time.Second)
			}
		}
		if end := files[len(files)-1]; end < 3*change || time.Duration(last.Load()) > end+10*time.Second {
			t.Errorf("the last robots.txt was fetched at %v, and the last page refused at %v; want at least %v, and at most 10s later",
				end, time.Duration(last.Load()), 3*change)
		}
	})
}
