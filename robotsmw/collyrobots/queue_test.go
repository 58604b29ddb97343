package collyrobots_test

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/queue"

	"github.com/goodbots/courtesy/robotsmw/collyrobots"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// In a callback, colly's AddURL does not wake a waiting thread of the queue.
// AddRequest does, but it blocks while the queue is not running.
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
				t.Errorf("%s: the link was fetched after %v (negative: never); want less than 1s: %v", way, took, way == "AddRequest")
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
				t.Error("AddRequest returned while the queue was not running, want it to block; colly's behavior has changed, so the documentation can be corrected")
			default:
				<-collyrobots.WakeOf(q)
			}
			<-added
		})
	}
}

func TestQueueAndRetryObey(t *testing.T) {
	web := shop()
	c, ext := polite(t, web)
	q, err := queue.New(2, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/cart", "/cart?again", "/shoes"} {
		q.AddURL("http://shop.example" + path)
	}
	c.OnError(func(r *colly.Response, err error) { r.Request.Retry() })
	if err := q.Run(c); err != nil {
		t.Fatal(err)
	}
	got := asked(web)
	slices.Sort(got)
	if want := []string{"GET http://shop.example/", "GET http://shop.example/shoes"}; !slices.Equal(got, want) {
		t.Errorf("the servers received %v, want %v", got, want)
	}
	if n := ext.Counts().Disallowed; n != 2 { // a Retry of a disallowed URL only returns the error, and is not counted
		t.Errorf("Counts().Disallowed = %d, want 2", n)
	}
}

// A refused request that is added to a queue still has its body.
func TestRefusedRequestCanBeQueued(t *testing.T) {
	c, _ := polite(t, shop(), colly.AllowURLRevisit())
	q, err := queue.New(1, nil)
	if err != nil {
		t.Fatal(err)
	}
	added := false
	c.OnError(func(r *colly.Response, err error) {
		if !added {
			added = true
			q.AddRequest(r.Request)
		}
	})
	var body []byte
	c.PostRaw("http://shop.example/cart", []byte("a=b"))
	c.OnRequest(func(r *colly.Request) { body, _ = io.ReadAll(r.Body) })
	q.Run(c)
	if string(body) != "a=b" {
		t.Errorf("the request of the queue has the body %q, want %q", body, "a=b")
	}
}
