package integration

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// These tests combine Courtesy with what a crawler may already have around its
// http.Client: a cache and retries. The order, from the outside in, is
//
//	robots → cache → retries → politeness → http.Transport
//
// Therefore a disallowed URL causes no retry and occupies no slot of its host.
// A page from the cache occupies no slot either. Each retry waits until its
// host is due.
//
// The examples with retries are in peers/retries, because no other test needs a
// library for retries.

func composedWeb() *robotstest.Internet {
	var web robotstest.Internet
	web.Handle("shop.example", robotstest.Site{"/robots.txt": "User-agent: *\nDisallow: /private/\n", "/page": "a page"})
	return &web
}

// With a cache between robotsmw and politeness, a cached page occupies no slot,
// and robots.txt is obeyed.
func TestCacheBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := composedWeb()
		cache := &pageCache{base: &politeness.Transport{Base: web}, pages: make(map[string]string)}
		cache.pages["https://shop.example/private/kept"] = "kept from before"
		transport, err := robotsmw.NewTransport(robotsmw.Options{UserAgent: "ExampleBot/1.0", Base: cache})
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: transport}
		start := time.Now()
		for i := range 10 {
			resp, err := client.Get("https://shop.example/page")
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if string(body) != "a page" {
				t.Errorf("visit %d: the body is %q, want %q", i, body, "a page")
			}
		}
		if took := time.Since(start); took != time.Second { // one interval: between robots.txt and the page
			t.Errorf("10 visits took %v, want 1s", took)
		}
		if _, err := client.Get("https://shop.example/private/kept"); !errors.Is(err, robotsmw.ErrDisallowed) {
			t.Errorf("Get of a disallowed page in the cache: error %v, want ErrDisallowed", err)
		}
		if n := len(web.Log()); n != 2 {
			t.Errorf("%d requests were sent, want 2", n)
		}
	})
}

type pageCache struct {
	base  http.RoundTripper
	mu    sync.Mutex
	pages map[string]string
}

func (c *pageCache) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	page, ok := c.pages[r.URL.String()]
	c.mu.Unlock()
	if !ok {
		resp, err := c.base.RoundTrip(r)
		if err != nil || r.URL.Path == "/robots.txt" {
			return resp, err
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			return nil, err
		}
		page = string(body)
		c.mu.Lock()
		c.pages[r.URL.String()] = page
		c.mu.Unlock()
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header), Body: io.NopCloser(strings.NewReader(page)), ContentLength: int64(len(page)), Request: r,
	}, nil
}
