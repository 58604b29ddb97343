package collyrobots

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/storage"
)

// A recorder records the calls that colly and its http.Client make.
type recorder struct{ calls []string }

func (r *recorder) note(call string) { r.calls = append(r.calls, call) }

func (r *recorder) Match(string) bool { r.note("Match"); return true }

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	r.note("RoundTrip")
	if req.URL.Path == "/fails" {
		return nil, errors.New("failed")
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
}

type recordingJar struct{ *recorder }

func (j recordingJar) Cookies(*url.URL) []*http.Cookie     { j.note("Cookies"); return nil }
func (j recordingJar) SetCookies(*url.URL, []*http.Cookie) {}

type recordingStore struct {
	storage.Storage
	*recorder
}

func (s recordingStore) IsVisited(id uint64) (bool, error) {
	s.note("IsVisited")
	return s.Storage.IsVisited(id)
}

func (s recordingStore) Visited(id uint64) error {
	s.note("Visited")
	return s.Storage.Visited(id)
}

type recordingBody struct {
	*bytes.Reader
	*recorder
}

func (b recordingBody) Seek(offset int64, whence int) (int64, error) {
	b.note("Seek")
	return b.Reader.Seek(offset, whence)
}

// If colly changes the order of its calls, the list in layout.go must be
// corrected, and so must the code that relies on that order.
func TestCollyOrder(t *testing.T) {
	setUp := func() (*colly.Collector, *recorder) {
		r := new(recorder)
		c := colly.NewCollector()
		b, err := findBackend(c)
		if err != nil {
			t.Fatal(err)
		}
		for _, handler := range []string{"first", "second"} {
			c.OnRequest(func(*colly.Request) { r.note("OnRequest, the " + handler) })
			c.OnRequestHeaders(func(*colly.Request) { r.note("OnRequestHeaders, the " + handler) })
			c.OnResponse(func(*colly.Response) { r.note("OnResponse, the " + handler) })
			c.OnError(func(*colly.Response, error) { r.note("OnError, the " + handler) })
		}
		c.OnResponseHeaders(func(*colly.Response) { r.note("OnResponseHeaders") })
		b.installHook(r)
		*visitedSet(c) = recordingStore{*visitedSet(c), r}
		// Only the client that is set last sends the request, so colly reads
		// the client after this handler.
		c.OnRequestHeaders(func(*colly.Request) { c.SetClient(&http.Client{Transport: r, Jar: recordingJar{r}}) })
		return c, r
	}
	sending := []string{"OnRequest, the first", "OnRequest, the second", "Match", "OnRequestHeaders, the first", "OnRequestHeaders, the second", "Cookies", "RoundTrip"}
	answered := []string{"OnResponseHeaders", "OnResponse, the first", "OnResponse, the second"}
	for _, test := range []struct {
		name string
		do   func(c *colly.Collector)
		want []string
	}{
		{"a page", func(c *colly.Collector) { c.Visit("http://a.example/") },
			slices.Concat([]string{"IsVisited", "Visited"}, sending, answered)},
		{"a failure", func(c *colly.Collector) { c.Visit("http://a.example/fails") },
			slices.Concat([]string{"IsVisited", "Visited"}, sending, []string{"OnError, the first", "OnError, the second"})},
		{"too deep", func(c *colly.Collector) {
			c.MaxDepth = 1
			requestAt(c, 2).Do()
		}, nil},
		{"MaxRequests", func(c *colly.Collector) {
			c.MaxRequests = 1
			c.Visit("http://a.example/")
			c.Visit("http://a.example/2")
		}, slices.Concat([]string{"IsVisited", "Visited"}, sending, answered)},
		{"a filter", func(c *colly.Collector) {
			c.DisallowedURLFilters = []*regexp.Regexp{regexp.MustCompile("a.example")}
			c.Visit("http://a.example/")
		}, nil},
		{"an aborted request", func(c *colly.Collector) {
			c.OnRequest(func(r *colly.Request) { r.Abort() })
			c.Visit("http://a.example/")
		}, slices.Concat([]string{"IsVisited", "Visited"}, sending[:2])},
	} {
		c, r := setUp()
		test.do(c)
		if !slices.Equal(r.calls, test.want) {
			t.Errorf("%s: got the calls\n\t%s\nwant\n\t%s", test.name, strings.Join(r.calls, "\n\t"), strings.Join(test.want, "\n\t"))
		}
	}

	// A Retry rewinds the body before it calls the handlers.
	c, r := setUp()
	var retry *colly.Request
	c.OnResponse(func(resp *colly.Response) { retry = resp.Request })
	c.Request("POST", "http://a.example/", nil, nil, nil)
	retry.Body = recordingBody{bytes.NewReader(nil), r}
	r.calls = nil
	retry.Retry()
	if want := append([]string{"Seek"}, sending...); len(r.calls) < len(want) || !slices.Equal(r.calls[:len(want)], want) {
		t.Errorf("the calls of a Retry are %v, want %v at the beginning", r.calls, want)
	}
}

// No request waits for a slot of the ruleHook, so a send to its slots must
// never block.
func TestEndlessSlots(t *testing.T) {
	slots := endlessSlots()
	for range 1 << 20 {
		select {
		case slots <- true:
		default:
			t.Fatal("a send to the slots blocks, want a free slot")
		}
	}
	for range 1 << 20 {
		select {
		case <-slots:
		default:
			t.Fatal("a receive from the slots blocks, want the slot that was filled before")
		}
	}
	if len(slots) != 0 {
		t.Errorf("%d slots are in use, want 0", len(slots))
	}
}

// requestAt returns a request of a collector at a depth.
func requestAt(c *colly.Collector, depth int) *colly.Request {
	u := &url.URL{Scheme: "http", Host: "a.example", Path: "/"}
	r := &colly.Request{Method: http.MethodGet, URL: u, Depth: depth, Headers: new(http.Header)}
	*requestCollector(r) = c
	return r
}

// The extension finds the http.Request of a colly Request by its Headers.
func TestCollyHeadersAreThoseOfTheRequest(t *testing.T) {
	if !sealable() {
		t.Error("sealable() = false, want true: Request.Headers is not the Header of the http.Request, so seal has no effect")
	}
}
