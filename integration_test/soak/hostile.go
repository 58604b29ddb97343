package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/goodbots/courtesy/robotsmw/diskstore"
)

// A hostileWeb is a RoundTripper that serves all hosts, and selects each
// response at random.
type hostileWeb struct {
	hosts atomic.Int64 // number of new hosts in the URLs that url has returned
	open  atomic.Int64 // number of bodies that are not closed
}

// url returns the URL of a page. One in four is on one of 50 hosts, and all
// others are on new hosts. Some URLs are long.
func (w *hostileWeb) url(rng *rand.Rand) string {
	host := fmt.Sprintf("known%d.example", rng.IntN(50))
	if rng.IntN(4) > 0 {
		host = fmt.Sprintf("new%d.example", w.hosts.Add(1))
	}
	path := fmt.Sprintf("/page/%d", rng.IntN(1000))
	if rng.IntN(10) == 0 {
		path += "?" + strings.Repeat("q", 8000)
	}
	return "http://" + host + path
}

const large = 500_000

var (
	manyLines  = "User-agent: *\n" + strings.Repeat("Disallow: /x\nAllow: /x/y\n", large/25)
	oneRule    = "User-agent: *\nDisallow: /" + strings.Repeat("r", large)
	unfinished = "User-agent: *\nDisallow: /private/\n" + strings.Repeat("#", large)
	sitemaps   = strings.Repeat("Sitemap: https://a.example/"+strings.Repeat("s", 470)+"\n", large/500)
	largeValue = strings.Repeat("v", large)
	metas      = "<html><head>" + strings.Repeat(`<meta name="robots" content="unavailable_after: 2031-01-01, max-snippet:7">`, 4000)
	zipped     = func() string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write(make([]byte, 8<<20))
		z.Close()
		return b.String()
	}()
)

func (w *hostileWeb) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if r.URL.Path == "/robots.txt" {
		return w.robotsTxt(r)
	}
	return w.page(r)
}

func (w *hostileWeb) robotsTxt(r *http.Request) (*http.Response, error) {
	switch rand.IntN(14) {
	case 0:
		return w.answer(r, 200, unfinished, false)
	case 1:
		return w.answer(r, 200, manyLines, true)
	case 2:
		return w.answer(r, 200, oneRule, true)
	case 3:
		v := own(largeValue)
		return w.answer(r, 200, unfinished[:100], false, "ETag", `"`+v+`"`, "Cache-Control", v, "Last-Modified", v)
	case 4:
		return w.answer(r, 200, zipped, true, "Content-Encoding", "gzip")
	case 5:
		return w.answer(r, 301, "", true, "Location", fmt.Sprintf("http://new%d.example/robots.txt", w.hosts.Add(1)))
	case 6:
		return w.answer(r, 503, "", true, "Retry-After", "86400")
	case 7:
		return w.answer(r, 429, "", true, "Retry-After", own(largeValue))
	case 8:
		return nil, errors.New("refused: " + own(largeValue))
	case 9:
		return w.answer(r, 200, sitemaps, true, "ETag", `"`+own(largeValue)[:8000]+`"`)
	case 10:
		return w.answer(r, 200, "U", false) // the body never ends, and has no second byte
	case 11:
		return w.answer(r, 403, "<html><title>Just a moment...</title>"+largeValue, false)
	case 12:
		panic("in Base")
	}
	return w.answer(r, 200, fmt.Sprintf("User-agent: *\nDisallow: /private/%d\n", rand.IntN(1e9)), true)
}

func (w *hostileWeb) page(r *http.Request) (*http.Response, error) {
	switch rand.IntN(10) {
	case 0:
		return w.answer(r, 200, largeValue, false, "Content-Type", "text/html")
	case 1:
		return w.answer(r, 200, metas, true, "Content-Type", "text/html")
	case 2:
		return w.answer(r, 200, "page", true, "X-Robots-Tag", "noindex, "+own(largeValue), "Link", own(largeValue))
	case 3:
		return w.answer(r, 200, "page", true, "ETag", `"`+own(largeValue)+`"`, "Cache-Control", "max-age=60, "+own(largeValue))
	case 4:
		return w.answer(r, 429, "slow down", true, "Retry-After", "3600", "RateLimit", own(largeValue))
	case 5:
		return w.answer(r, 302, "", true, "Location", w.url(rand.New(rand.NewPCG(rand.Uint64(), 1))))
	case 6:
		return nil, errors.New("reset: " + own(largeValue))
	case 7:
		return w.answer(r, 200, metas, false, "Content-Type", "text/html", "Set-Cookie", own(largeValue))
	}
	return w.answer(r, 200, "<html><title>page</title>", true, "Content-Type", "text/html", "ETag", fmt.Sprintf(`"%d"`, rand.Int()),
		"Last-Modified", time.Now().UTC().Format(http.TimeFormat))
}

// own returns a copy of s, so that each response has its own memory, as if it
// had been read from a connection.
func own(s string) string { return strings.Clone(s) }

// answer returns a response. If whole is true, its body is text. Otherwise, the
// body begins with text, and then Read blocks until the request is canceled.
func (w *hostileWeb) answer(r *http.Request, status int, text string, whole bool, header ...string) (*http.Response, error) {
	resp := &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header), ContentLength: -1, Request: r,
	}
	for i := 0; i < len(header); i += 2 {
		resp.Header.Add(header[i], header[i+1])
	}
	w.open.Add(1)
	resp.Body = &body{web: w, ctx: r.Context(), text: strings.NewReader(text), whole: whole}
	return resp, nil
}

type body struct {
	web    *hostileWeb
	ctx    context.Context
	text   *strings.Reader
	whole  bool
	closed atomic.Bool
}

func (b *body) Read(p []byte) (int, error) {
	if b.closed.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := b.text.Read(p)
	if err == io.EOF && !b.whole {
		<-b.ctx.Done()
		return 0, context.Cause(b.ctx)
	}
	return n, err
}

func (b *body) Close() error {
	if !b.closed.Swap(true) {
		b.web.open.Add(-1)
	}
	return nil
}

// A hostileStore sometimes returns garbage, fails, or blocks for a while.
type hostileStore struct{ disk *diskstore.Store }

func (s *hostileStore) Get(ctx context.Context, key string) ([]byte, error) {
	switch rand.IntN(100) {
	case 0:
		return []byte(own(largeValue)), nil
	case 1:
		return nil, errors.New("get: " + own(largeValue))
	case 2:
		time.Sleep(50 * time.Millisecond)
	}
	value, err := s.disk.Get(ctx, key)
	if err == nil && len(value) > 0 && rand.IntN(10) == 0 {
		value[rand.IntN(len(value))]++
	}
	return value, err
}

func (s *hostileStore) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	switch rand.IntN(100) {
	case 0:
		return errors.New("put: " + own(largeValue))
	case 1:
		time.Sleep(50 * time.Millisecond)
	}
	if rand.IntN(20_000) == 0 {
		time.Sleep(5 * time.Second) // longer than callers wait
	}
	return s.disk.Put(ctx, key, value, ttl)
}

func (s *hostileStore) Delete(ctx context.Context, key string) error { return s.disk.Delete(ctx, key) }
