package collyrobots_test

import (
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/queue"

	"github.com/goodbots/courtesy/robotsmw/collyrobots"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// In a callback, colly's AddURL does not wake a waiting thread of the queue.
// AddRequest does, but it blocks while the queue does not run.
func TestQueueInCallbacks(t *testing.T) {
	for _, way := range []string{"AddURL", "AddRequest"} {
		synctest.Test(t, func(t *testing.T) {
			web := new(robotstest.Internet)
			web.Handle("slow.example", robotsAnd(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(5 * time.Second) })))
			web.Handle("quick.example", robotstest.Site{"/": "<a href=/1>", "/1": "<p>"})
			c, _ := polite(t, web)
			q, err := queue.New(2, nil)
			if err != nil {
				t.Fatal(err)
			}
			c.OnHTML("a[href]", func(e *colly.HTMLElement) {
				target := e.Request.AbsoluteURL(e.Attr("href"))
				if way == "AddURL" {
					q.AddURL(target)
				} else if r, err := e.Request.New("GET", target, nil); err == nil {
					q.AddRequest(r)
				}
			})
			start := time.Now()
			took := time.Duration(-1)
			c.OnResponse(func(r *colly.Response) {
				if r.Request.URL.Path == "/1" {
					took = time.Since(start)
				}
			})
			q.AddURL("http://slow.example/")
			q.AddURL("http://quick.example/")
			q.Run(c)
			if quick := took < time.Second; took < 0 || quick != (way == "AddRequest") {
				t.Errorf("%s: the link was fetched after %v", way, took)
			}
			if way == "AddURL" {
				return
			}
			added := make(chan struct{})
			go func() {
				defer close(added)
				q.AddRequest(&colly.Request{Method: "GET", URL: &url.URL{Scheme: "http", Host: "quick.example", Path: "/later"}})
			}()
			synctest.Wait()
			select {
			case <-added:
				t.Error("AddRequest does not block any more while the queue does not run: the doc may say so")
			default:
				<-collyrobots.WakeOf(q)
			}
			<-added
		})
	}
}
