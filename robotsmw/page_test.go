package robotsmw

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

const noIndexPage = `<html><head><meta name="robots" content="noindex"></head><body>hello</body></html>`

// pageWeb returns an internet in which h serves a.example, whose /robots.txt
// has status 404.
func pageWeb(h http.HandlerFunc) *robotstest.Internet {
	web := new(robotstest.Internet)
	web.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			w.WriteHeader(404)
			return
		}
		h(w, r)
	}))
	return web
}

func getPage(t *testing.T, client *http.Client, edit ...func(*http.Request)) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://a.example/page", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range edit {
		f(req)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func checkPage(t *testing.T, resp *http.Response, state PageState, noIndex bool) {
	t.Helper()
	p := PageDirectives(resp)
	if p.State != state || p.NoIndex() != noIndex {
		t.Errorf("PageDirectives: state %v, noindex %v; want state %v, noindex %v", p.State, p.NoIndex(), state, noIndex)
	}
}

func encodedPage(t testing.TB, coding, s string) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	}
	io.WriteString(w, s)
	w.Close()
	return b.Bytes()
}

func TestPageStates(t *testing.T) {
	html := func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/html; charset=utf-8") }
	for _, test := range []struct {
		name    string
		handler http.HandlerFunc
		method  string
		opts    PageOptions
		before  PageState
		after   PageState // the state after the whole body was read
		noIndex bool
	}{
		{name: "HTML", handler: func(w http.ResponseWriter, _ *http.Request) { html(w); io.WriteString(w, noIndexPage) },
			before: PagePending, after: PageComplete, noIndex: true},
		{name: "XHTML", handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/xhtml+xml")
			io.WriteString(w, noIndexPage)
		}, before: PagePending, after: PageComplete, noIndex: true},
		{name: "no type", handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			io.WriteString(w, noIndexPage)
		}, before: PagePending, after: PageComplete, noIndex: true},
		{name: "a type without its semicolon", handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "Text/HTML charset=utf-8")
			io.WriteString(w, noIndexPage)
		}, before: PagePending, after: PageComplete, noIndex: true},
		{name: "a type without a slash", handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "html")
			io.WriteString(w, noIndexPage)
		}, before: PagePending, after: PageComplete, noIndex: true},
		{name: "two types", handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{"application/octet-stream", "text/html"}
			io.WriteString(w, noIndexPage)
		}, before: PagePending, after: PageComplete, noIndex: true},
		{name: "text that is not HTML", handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html-template")
			io.WriteString(w, noIndexPage)
		}, before: PageHeaderOnly, after: PageHeaderOnly},
		{name: "an error page", handler: func(w http.ResponseWriter, _ *http.Request) {
			html(w)
			w.WriteHeader(404)
			io.WriteString(w, noIndexPage)
		}, before: PagePending, after: PageComplete, noIndex: true},
		{name: "PDF", handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/pdf")
			w.Header().Set("X-Robots-Tag", "noindex")
			io.WriteString(w, "%PDF")
		}, before: PageHeaderOnly, after: PageHeaderOnly, noIndex: true},
		{name: "HEAD", method: "HEAD", handler: func(w http.ResponseWriter, _ *http.Request) { html(w) },
			before: PageHeaderOnly, after: PageHeaderOnly},
		{name: "204", handler: func(w http.ResponseWriter, _ *http.Request) { html(w); w.WriteHeader(204) },
			before: PageHeaderOnly, after: PageHeaderOnly},
		{name: "206", handler: func(w http.ResponseWriter, _ *http.Request) {
			html(w)
			w.WriteHeader(206)
			io.WriteString(w, noIndexPage)
		}, before: PageHeaderOnly, after: PageHeaderOnly},
		{name: "304", handler: func(w http.ResponseWriter, _ *http.Request) {
			html(w)
			w.Header().Set("X-Robots-Tag", "examplebot: noindex")
			w.WriteHeader(304)
		}, before: PageHeaderOnly, after: PageHeaderOnly, noIndex: true},
		{name: "gzip", handler: func(w http.ResponseWriter, _ *http.Request) {
			html(w)
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(encodedPage(t, "gzip", noIndexPage))
		}, before: PagePending, after: PageComplete, noIndex: true},
		{name: "deflate", handler: func(w http.ResponseWriter, _ *http.Request) {
			html(w)
			w.Header().Set("Content-Encoding", "Deflate")
			w.Write(encodedPage(t, "deflate", noIndexPage))
		}, before: PagePending, after: PageComplete, noIndex: true},
		{name: "gzip that is none", handler: func(w http.ResponseWriter, _ *http.Request) {
			html(w)
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, noIndexPage)
		}, before: PagePending, after: PageNotExamined},
		{name: "a coding without a decoder", handler: func(w http.ResponseWriter, _ *http.Request) {
			html(w)
			w.Header().Set("Content-Encoding", "br")
			io.WriteString(w, noIndexPage)
		}, before: PageNotExamined, after: PageNotExamined},
		{name: "a coding that is not known", handler: func(w http.ResponseWriter, _ *http.Request) {
			html(w)
			w.Header().Set("Content-Encoding", "br")
			io.WriteString(w, noIndexPage)
		}, before: PageNotExamined, after: PageNotExamined},
		{name: "two codings", handler: func(w http.ResponseWriter, _ *http.Request) {
			html(w)
			w.Header().Set("Content-Encoding", "gzip, gzip")
			w.Write(encodedPage(t, "gzip", noIndexPage))
		}, before: PageNotExamined, after: PageNotExamined},
		{name: "no body", handler: func(w http.ResponseWriter, _ *http.Request) {
			html(w)
			w.Header().Set("X-Robots-Tag", "noindex")
		}, before: PageHeaderOnly, after: PageHeaderOnly, noIndex: true},
		{name: "UTF-16 by its charset", handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=UTF-16BE")
			for _, c := range " " + noIndexPage {
				w.Write([]byte{0, byte(c)})
			}
		}, before: PagePending, after: PageComplete, noIndex: true},
		{name: "broken off", handler: func(w http.ResponseWriter, _ *http.Request) {
			html(w)
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, noIndexPage)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, before: PagePending, after: PagePartial, noIndex: true},
		{name: "in the body", handler: func(w http.ResponseWriter, _ *http.Request) {
			html(w)
			io.WriteString(w, "<body>"+noIndexPage)
		}, before: PagePending, after: PageComplete, noIndex: true},
		{name: "a long page", handler: func(w http.ResponseWriter, _ *http.Request) {
			html(w)
			io.WriteString(w, noIndexPage+strings.Repeat("<p>text</p>", 100_000))
			panic(http.ErrAbortHandler) // the page is examined only up to a place before this failure
		}, before: PagePending, after: PageComplete, noIndex: true},
		{name: "a gzip bomb", handler: func(w http.ResponseWriter, _ *http.Request) {
			html(w)
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(encodedPage(t, "gzip", noIndexPage+strings.Repeat(" ", 8<<20)))
		}, before: PagePending, after: PageComplete, noIndex: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			client := &http.Client{Transport: newTestTransport(t, pageWeb(test.handler),
				func(o *Options) { o.Page = test.opts })}
			resp := getPage(t, client, func(r *http.Request) {
				r.Header.Set("Accept-Encoding", "anything")
				if test.method != "" {
					r.Method = test.method
				}
			})
			defer resp.Body.Close()
			if p := PageDirectives(resp); p.State != test.before {
				t.Errorf("before the body is read, the state is %v, want %v", p.State, test.before)
			}
			io.Copy(io.Discard, resp.Body)
			checkPage(t, resp, test.after, test.noIndex)
			resp.Body.Close()
			checkPage(t, resp, test.after, test.noIndex)
		})
	}
}

func TestPageClosedEarlyIsPartial(t *testing.T) {
	page := strings.Repeat("<p>", 2000) + noIndexPage
	client := &http.Client{Transport: newTestTransport(t, pageWeb(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, page)
	}))}
	resp := getPage(t, client)
	io.ReadFull(resp.Body, make([]byte, 100))
	checkPage(t, resp, PagePending, false)
	resp.Body.Close()
	checkPage(t, resp, PagePartial, false)
}

// A page of known length is complete when it has been read to this length, even
// if the caller has not received io.EOF.
func TestPageReadToItsLengthIsComplete(t *testing.T) {
	client := &http.Client{Transport: newTestTransport(t, pageWeb(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(noIndexPage)))
		io.WriteString(w, noIndexPage)
	}))}
	resp := getPage(t, client)
	io.ReadFull(resp.Body, make([]byte, resp.ContentLength))
	resp.Body.Close()
	checkPage(t, resp, PageComplete, true)
}

func TestRestrictionCountsAsSoonAsItIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &http.Client{Transport: newTestTransport(t, pageWeb(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, noIndexPage)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}))}
		resp := getPage(t, client)
		io.ReadFull(resp.Body, make([]byte, len(noIndexPage)))
		checkPage(t, resp, PagePending, true)
		resp.Body.Close()
	})
}

// dribble returns a handler that sends page in small pieces, one each second.
// size is the number of bytes of a piece.
func dribble(page string, size int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		for len(page) > 0 {
			n := min(size, len(page))
			if _, err := io.WriteString(w, page[:n]); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			page = page[n:]
			select {
			case <-time.After(time.Second):
			case <-r.Context().Done():
				return
			}
		}
	}
}

func TestDribblingPageReachesTheCallerWithoutDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := strings.Repeat("<p>slow</p>", 4000) + noIndexPage
		client := &http.Client{Transport: newTestTransport(t, pageWeb(dribble(page, 1024)))}
		start := time.Now()
		resp := getPage(t, client)
		defer resp.Body.Close()
		buf := make([]byte, 32<<10)
		for second := range 10 {
			n, err := resp.Body.Read(buf)
			if took := time.Since(start); err != nil || n != 1024 || took != time.Duration(second)*time.Second {
				t.Fatalf("read %d of the body: %d bytes after %v, error %v; want 1024 bytes a second and no error", second, n, took, err)
			}
			PageDirectives(resp)
		}
	})
}

func TestReadAhead(t *testing.T) {
	long := noIndexPage + strings.Repeat("<p>slow</p>", 1000)
	for _, test := range []struct {
		name  string
		page  string
		rate  int // bytes per second
		opts  PageOptions
		took  time.Duration // how long RoundTrip takes
		found bool
	}{
		{"up to the body", long, 100, PageOptions{ReadAhead: time.Minute}, 0, true},
		{"a slow head", strings.Repeat(" ", 500) + long, 100, PageOptions{ReadAhead: time.Minute}, 5 * time.Second,
			true},
		{"a head that is too slow", strings.Repeat(" ", 500) + long, 100,
			PageOptions{ReadAhead: 3500 * time.Millisecond}, 3500 * time.Millisecond, false},
		{"a head that is too long", strings.Repeat(" ", 70_000) + long, 30_000, PageOptions{ReadAhead: time.Minute},
			2 * time.Second, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := &http.Client{Transport: newTestTransport(t, pageWeb(dribble(test.page, test.rate)),
					func(o *Options) { o.Page = test.opts })}
				start := time.Now()
				resp := getPage(t, client)
				if took := time.Since(start); took != test.took {
					t.Errorf("RoundTrip took %v, want %v", took, test.took)
				}
				checkPage(t, resp, PagePending, test.found)
				b, err := io.ReadAll(resp.Body)
				if err != nil || string(b) != test.page {
					t.Errorf("read %d bytes (error %v), want the %d bytes of the page", len(b), err, len(test.page))
				}
				checkPage(t, resp, PageComplete, true)
				if _, err := resp.Body.Read(make([]byte, 1)); err != io.EOF {
					t.Errorf("Read after the end returned %v, want io.EOF", err)
				}
				resp.Body.Close()
			})
		})
	}
}

func TestReadAheadKeepsTheErrorForLater(t *testing.T) {
	client := &http.Client{Transport: newTestTransport(t, pageWeb(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Length", "1000")
		io.WriteString(w, "<head><title>cut")
	}), func(o *Options) { o.Page.ReadAhead = time.Minute })}
	resp := getPage(t, client)
	b, err := io.ReadAll(resp.Body)
	if string(b) != "<head><title>cut" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the body is %q (error %v), want what was sent and ErrUnexpectedEOF", b, err)
	}
	checkPage(t, resp, PagePartial, false)
	resp.Body.Close()
}

// When the time of ReadAhead is over, a read may still be waiting for bytes.
// The caller's Close ends this read.
func TestReadAheadLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &http.Client{Transport: newTestTransport(t, pageWeb(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}), func(o *Options) { o.Page.ReadAhead = time.Second })}
		resp := getPage(t, client)
		resp.Body.Close()
		synctest.Wait() // the test can end only if no goroutine remains
		checkPage(t, resp, PagePartial, false)
	})
}

func TestReadAheadOfGzip(t *testing.T) {
	client := &http.Client{Transport: newTestTransport(t, pageWeb(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(encodedPage(t, "gzip", noIndexPage+strings.Repeat("<p>slow</p>", 1000)))
	}), func(o *Options) { o.Page.ReadAhead = time.Minute })}
	resp := getPage(t, client, func(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip") })
	if !PageDirectives(resp).NoIndex() {
		t.Error("noindex is false before the body is read, want true")
	}
	z, err := gzip.NewReader(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(z); err != nil || !strings.HasPrefix(string(b), noIndexPage) {
		t.Errorf("the body is %.100q (error %v), want it to begin with %q", b, err, noIndexPage)
	}
	resp.Body.Close()
	checkPage(t, resp, PageComplete, true)
}

func TestPageIsThatOfTheLastHop(t *testing.T) {
	client := &http.Client{Transport: newTestTransport(t, pageWeb(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/page" {
			w.Header().Set("X-Robots-Tag", "noindex")
			http.Redirect(w, r, "/other", http.StatusFound)
			return
		}
		w.Header().Set("X-Robots-Tag", "nofollow")
		io.WriteString(w, "<p>other")
	}))}
	resp := getPage(t, client)
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if p := PageDirectives(resp); p.NoIndex() || !p.NoFollow() || p.State != PageComplete {
		t.Errorf("PageDirectives returned %+v; want nofollow without noindex, and PageComplete", p)
	}
}

func TestPageDirectivesOfForeignResponses(t *testing.T) {
	if p := PageDirectives(nil); p.State != PageNotExamined || p.NoIndex() {
		t.Errorf("PageDirectives(nil) = %+v, want no directives, not examined", p)
	}
	resp := &http.Response{Header: http.Header{"X-Robots-Tag": {"noindex"}}, Body: http.NoBody}
	if p := PageDirectives(resp); p.State != PageNotExamined || !p.NoIndex() {
		t.Errorf("PageDirectives of a response without a Transport: %+v, want noindex, not examined", p)
	}
	// This Base does not set Response.Request.
	forgetful := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/robots.txt" {
			return &http.Response{StatusCode: 404, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
		}
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/html"}},
			Body: io.NopCloser(strings.NewReader(noIndexPage))}, nil
	})
	req, _ := http.NewRequest("GET", "http://a.example/", nil)
	resp, err := newTestTransport(t, forgetful).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, resp.Body)
	checkPage(t, resp, PageComplete, true)
}

func TestPageDirectivesWhileReading(t *testing.T) {
	for _, ahead := range []time.Duration{0, time.Second} {
		client := &http.Client{Transport: newTestTransport(t, pageWeb(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			for range 200 {
				io.WriteString(w, strings.Repeat("<p>text</p>", 20))
			}
		}), func(o *Options) { o.Page.ReadAhead = ahead })}
		resp := getPage(t, client)
		var wg sync.WaitGroup
		stop := make(chan struct{})
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					PageDirectives(resp)
				}
			}
		})
		io.CopyN(io.Discard, resp.Body, 20_000)
		wg.Go(func() { io.Copy(io.Discard, resp.Body) })
		resp.Body.Close()
		close(stop)
		wg.Wait()
	}
}

func TestPageOptionsAreChecked(t *testing.T) {
	for _, o := range []PageOptions{{ReadAhead: -1}} {
		if _, err := NewTransport(Options{UserAgent: testAgent, Page: o}); err == nil || !strings.HasPrefix(err.Error(), "robotsmw: Page.") {
			t.Errorf("NewTransport with Page %+v returned error %v, want one that begins with \"robotsmw: Page.\"", o, err)
		}
	}
}

func TestPageContextIsTheCallersOwn(t *testing.T) {
	type key struct{}
	var seen context.Context
	base := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
		seen = r.Context()
		return &http.Response{StatusCode: 404, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	})
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "x"))
	req, _ := http.NewRequestWithContext(ctx, "GET", "http://a.example/", nil)
	if _, err := newTestTransport(t, base).RoundTrip(req); err != nil {
		t.Fatal(err)
	}
	cancel()
	if seen.Value(key{}) != "x" || !errors.Is(seen.Err(), context.Canceled) {
		t.Errorf("the context in Base has the value %v and the error %v, want x and Canceled, those of the caller's context", seen.Value(key{}), seen.Err())
	}
}

// A response without HTML costs at most one allocation, for the context that
// its request is sent with. A response with HTML costs one more, for its body.
// The budgets are twice as high.
func TestPageAllocations(t *testing.T) {
	for kind, want := range map[string]float64{"application/pdf": 2, "text/html; charset=utf-8": 4} {
		tr := newTestTransport(t, roundTripperFunc(nil))
		req, err := http.NewRequest("GET", "http://a.example/", nil)
		if err != nil {
			t.Fatal(err)
		}
		body := io.NopCloser(strings.NewReader(""))
		resp := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {kind}}, ContentLength: -1}
		got := testing.AllocsPerRun(100, func() {
			s := &sent{Context: req.Context(), examined: examined{opts: &tr.cfg.page}}
			resp.Body = body
			s.examine(s.Context, resp, req)
		})
		if got > want {
			t.Errorf("%s: %v allocations, want at most %v", kind, got, want)
		}
	}
}

// A page in an unknown coding is PageNotExamined, whatever the caller does to
// the response.
func TestPageNotExamined_WhatTheCallerDoesToTheResponseChangesNothing(t *testing.T) {
	base := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/robots.txt" {
			return newResponse(r, http.StatusNotFound, ""), nil
		}
		return newResponse(r, http.StatusOK, "x", "Content-Type: text/html", "Content-Encoding: br"), nil
	})
	tr := newTestTransport(t, base)
	for _, tt := range []struct {
		name string
		does func(*http.Response)
	}{
		{"reads and closes", func(*http.Response) {}},
		{"leaves http.NoBody", func(r *http.Response) { r.Body = http.NoBody }},
		{"leaves no body", func(r *http.Response) { r.Body = nil }},
		{"names another type", func(r *http.Response) { r.Header.Set("Content-Type", "text/plain") }},
		{"sets another status", func(r *http.Response) { r.StatusCode = http.StatusNoContent }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://a.example/", nil)
			resp, err := (&http.Client{Transport: tr, Timeout: time.Minute}).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			tt.does(resp)
			if got := PageDirectives(resp).State; got != PageNotExamined {
				t.Errorf("the state is %q, want %q", got, PageNotExamined)
			}
		})
	}
}

// A RoundTripper around the Transport may start a goroutine that calls
// PageDirectives. This is safe even while an http.Client with a Timeout wraps
// the body.
func TestPageNotExamined_AskedByAnotherGoroutine(t *testing.T) {
	base := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/robots.txt" {
			return newResponse(r, http.StatusNotFound, ""), nil
		}
		return newResponse(r, http.StatusOK, "x", "Content-Type: text/html", "Content-Encoding: br"), nil
	})
	tr := newTestTransport(t, base)
	done := make(chan PageState)
	around := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
		resp, err := tr.RoundTrip(r)
		if err == nil {
			go func() { done <- PageDirectives(resp).State }()
		}
		return resp, err
	})
	resp, err := (&http.Client{Transport: around, Timeout: time.Minute}).Get("http://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := <-done; got != PageNotExamined {
		t.Errorf("the state is %q, want %q", got, PageNotExamined)
	}
}

// An http.Client with a Timeout wraps every body, even an empty one.
// Nevertheless, a response with an empty body is PageHeaderOnly.
func TestPageHeaderOnly_EmptyBodyThroughAClientWithATimeout(t *testing.T) {
	for name, body := range map[string]io.ReadCloser{"NoBody": http.NoBody, "nil": nil} {
		base := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
			resp := newResponse(r, http.StatusOK, "", "Content-Type: text/html")
			if !strings.HasSuffix(r.URL.Path, "robots.txt") {
				resp.Body = body
			}
			return resp, nil
		})
		tr := newTestTransport(t, base)
		resp, err := (&http.Client{Transport: tr, Timeout: time.Minute}).Get("http://a.example/")
		if err != nil {
			t.Fatal(err)
		}
		if got := PageDirectives(resp).State; got != PageHeaderOnly {
			t.Errorf("%s: the state is %v, want %v", name, got, PageHeaderOnly)
		}
		resp.Body.Close()
	}
}

// A response is PageHeaderOnly if it is not HTML, if it is the response to a
// HEAD request, or if its status is 304 or 206.
func TestPageHeaderOnly_OtherKindsHaveNoMoreToSay(t *testing.T) {
	for _, tt := range []struct {
		method, kind string
		status       int
	}{
		{http.MethodGet, "image/png", http.StatusOK},
		{http.MethodHead, "text/html", http.StatusOK},
		{http.MethodGet, "text/html", http.StatusNotModified},
		{http.MethodGet, "text/html", http.StatusPartialContent},
	} {
		base := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/robots.txt" {
				return newResponse(r, http.StatusNotFound, ""), nil
			}
			return newResponse(r, tt.status, "x", "Content-Type: "+tt.kind), nil
		})
		tr := newTestTransport(t, base)
		req, _ := http.NewRequestWithContext(t.Context(), tt.method, "http://a.example/", nil)
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if got := PageDirectives(resp).State; got != PageHeaderOnly {
			t.Errorf("%+v: the state is %v, want %v", tt, got, PageHeaderOnly)
		}
		resp.Body.Close()
	}
}
