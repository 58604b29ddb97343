package revisit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/goodbots/courtesy/integration_test/testmain"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/diskstore"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

func TestMain(m *testing.M) {
	testmain.Quiet()
	goleak.VerifyTestMain(m)
}

const page = "http://site.example/page"

// A site responds to each request for a page with the next of its answers. It
// repeats the last one.
type site struct {
	mu       sync.Mutex
	answers  []answer
	received []http.Header // the headers of the requests for pages
	methods  []string
}

// An answer is a status, a body, and the lines of a header: "Name: value".
type answer struct {
	status int
	header string
	body   string
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	a := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	s.received = append(s.received, r.Header.Clone())
	s.methods = append(s.methods, r.Method)
	s.mu.Unlock()
	for line := range strings.Lines(a.header) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		w.Header().Add(name, value)
	}
	w.WriteHeader(a.status)
	io.WriteString(w, a.body)
}

func (s *site) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.received)
}

// newClient returns a client that uses tr, and the site that it is connected to
// through a robotsmw.Transport.
func newClient(t *testing.T, tr *Transport, answers ...answer) (*http.Client, *site) {
	t.Helper()
	s := &site{answers: answers}
	var web robotstest.Internet
	web.Handle("site.example", s)
	robots, err := robotsmw.NewTransport(robotsmw.Options{UserAgent: "TestBot/1.0", Base: &web})
	if err != nil {
		t.Fatal(err)
	}
	tr.Base = robots
	client := &http.Client{
		Transport: tr,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
	return client, s
}

// get requests a page, reads it, and returns its Visit.
func get(t *testing.T, c *http.Client, fields ...string) (*http.Response, Visit) {
	t.Helper()
	return do(t, c, http.MethodGet, fields...)
}

// do requests a page with the given method and header fields, such as "Accept:
// text/html". It reads the page, and returns the response and its Visit.
func do(t *testing.T, c *http.Client, method string, fields ...string) (*http.Response, Visit) {
	t.Helper()
	req, err := http.NewRequest(method, page, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range fields {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Add(name, value)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Logf("reading the page: %v", err)
	}
	resp.Body.Close()
	visit, _ := Of(resp)
	return resp, visit
}

// TestVisit_Fresh checks how long a page is fresh, and that no request is sent
// during this time.
func TestVisit_Fresh(t *testing.T) {
	for name, tt := range map[string]struct {
		header    string
		transport *Transport
		want      time.Duration
	}{
		"no lifetime": {"Etag: \"a\"", &Transport{}, 0},
		"max-age": {
			header:    "Cache-Control: max-age=60",
			transport: &Transport{},
			want:      time.Minute,
		},
		"max-age and Age": {
			header:    "Cache-Control: max-age=60\nAge: 20",
			transport: &Transport{},
			want:      40 * time.Second,
		},
		"max-age and an old Date": {
			header:    "Cache-Control: max-age=60\nDate: Fri, 31 Dec 1999 23:59:30 GMT",
			transport: &Transport{},
			want:      30 * time.Second,
		},
		"private and max-age": {
			header:    "Cache-Control: private, max-age=60",
			transport: &Transport{},
			want:      time.Minute,
		},
		"s-maxage": {"Cache-Control: s-maxage=60", &Transport{}, 0},
		"no-cache": {
			header:    "Cache-Control: no-cache, max-age=60",
			transport: &Transport{},
		},
		"no-store": {
			header:    "Cache-Control: no-store, max-age=60",
			transport: &Transport{},
		},
		"Expires": {
			header:    "Expires: Sat, 01 Jan 2000 00:01:00 GMT",
			transport: &Transport{},
			want:      time.Minute,
		},
		"Vary: *": {
			header:    "Cache-Control: max-age=60\nVary: *",
			transport: &Transport{},
		},
		"a heuristic lifetime": {
			header:    "Last-Modified: Thu, 01 Jan 1970 00:00:00 GMT",
			transport: &Transport{},
		},
		"a minimum": {
			header:    "Etag: \"a\"",
			transport: &Transport{MinFresh: time.Hour},
			want:      time.Hour,
		},
		"a minimum above max-age": {
			header:    "Cache-Control: max-age=60",
			transport: &Transport{MinFresh: time.Hour},
			want:      time.Hour,
		},
		"a minimum and no-cache": {
			header:    "Cache-Control: no-cache",
			transport: &Transport{MinFresh: time.Hour},
		},
		"a maximum": {
			header:    "Cache-Control: max-age=999999999999",
			transport: &Transport{MaxFresh: time.Hour},
			want:      time.Hour,
		},
		"a maximum below the minimum": {
			header:    "Cache-Control: max-age=60",
			transport: &Transport{MinFresh: time.Hour, MaxFresh: time.Minute},
			want:      time.Minute,
		},
		"a max-age that would overflow": {
			header:    "Cache-Control: max-age=99999999999999999999",
			transport: &Transport{},
			want:      10 * 365 * 24 * time.Hour,
		},
		"a page that sets a cookie": {
			header:    "Cache-Control: max-age=60\nSet-Cookie: a=b",
			transport: &Transport{},
			want:      time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, site := newClient(t, tt.transport, answer{200, tt.header, "page"})
				_, first := get(t, client)
				if tt.want == 0 {
					get(t, client)
					if n := site.count(); n != 2 {
						t.Fatalf("%d requests were sent, want 2", n)
					}
					if !first.Fresh.IsZero() {
						t.Errorf("Fresh is %v, want zero", first.Fresh)
					}
					return
				}
				if got := time.Until(first.Fresh); got != tt.want {
					t.Errorf("the page is fresh for %v, want %v", got, tt.want)
				}
				time.Sleep(tt.want - time.Nanosecond)
				resp, visit := get(t, client)
				if n := site.count(); n != 1 {
					t.Errorf("%d requests were sent while the page was fresh, want 1", n)
				}
				if resp.StatusCode != 304 || resp.Status != "304 Not Modified" {
					t.Errorf("the response has status %q, want 304 Not Modified", resp.Status)
				}
				if !visit.Unchanged || visit.Sent {
					t.Errorf("the visit is %+v, want Unchanged and not Sent", visit)
				}
				time.Sleep(time.Nanosecond)
				get(t, client)
				if n := site.count(); n != 2 {
					t.Errorf("%d requests were sent when the page was no longer fresh, want 2", n)
				}
			})
		})
	}
}

// TestSend_Validators checks that validators are sent unchanged, byte for byte.
func TestSend_Validators(t *testing.T) {
	for name, tt := range map[string]struct{ header, match, since string }{
		"an ETag and Last-Modified": {
			header: "Etag: \"a\"\nLast-Modified: Thu, 01 Jan 1998 00:00:00 GMT",
			match:  `"a"`,
			since:  "Thu, 01 Jan 1998 00:00:00 GMT",
		},
		"a weak ETag":            {"Etag: W/\"a\"", `W/"a"`, ""},
		"an ETag without quotes": {"Etag: abc", "abc", ""},
		"a Last-Modified in another format": {
			header: "Last-Modified: Thursday, 01-Jan-98 00:00:00 GMT",
			since:  "Thursday, 01-Jan-98 00:00:00 GMT",
		},
		"a Last-Modified that is not a date": {"Last-Modified: yesterday", "", "yesterday"},
		"no validator":                       {"Cache-Control: max-age=0", "", ""},
		"two ETags":                          {"Etag: \"a\"\nEtag: \"b\"", "", ""},
		"a change less than a second before the response": {
			header: "Last-Modified: Sat, 01 Jan 2000 00:00:00 GMT\nDate: Sat, 01 Jan 2000 00:00:00 GMT",
		},
		"an ETag and a change less than a second before the response": {
			header: "Etag: \"a\"\nLast-Modified: Sat, 01 Jan 2000 00:00:00 GMT",
			match:  `"a"`,
			since:  "Sat, 01 Jan 2000 00:00:00 GMT",
		},
		"no-store":        {"Etag: \"a\"\nCache-Control: no-store", "", ""},
		"an ETag of 9 KB": {"Etag: \"" + strings.Repeat("a", 9<<10) + "\"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, site := newClient(t, &Transport{}, answer{200, tt.header, "page"})
				get(t, client)
				get(t, client)
				second := site.received[1]
				if got := second.Get("If-None-Match"); got != tt.match {
					t.Errorf("If-None-Match is %q, want %q", got, tt.match)
				}
				if got := second.Get("If-Modified-Since"); got != tt.since {
					t.Errorf("If-Modified-Since is %q, want %q", got, tt.since)
				}
			})
		})
	}
}

// TestUpdate_Responses checks which responses change the stored page. Each row
// has the responses to the first requests, and the expected next request.
func TestUpdate_Responses(t *testing.T) {
	const anubis = `<script id="anubis_challenge" type="application/json">{}</script>`
	known := answer{200, "Etag: \"a\"", "page"}
	for name, tt := range map[string]struct {
		answers []answer
		match   string // the If-None-Match of the next request; "" if it has none
		fresh   bool   // whether the last response is fresh, so that no request is sent
		last    Visit  // the Visit of the last response, without times and Directives
	}{
		"a 304 with a lifetime": {
			answers: []answer{known, {304, "Etag: \"a\"\nCache-Control: max-age=60", ""}},
			fresh:   true,
			last:    Visit{Unchanged: true, Sent: true},
		},
		"a 304 without header fields": {
			answers: []answer{known, {304, "", ""}},
			match:   `"a"`,
			last:    Visit{Unchanged: true, Sent: true},
		},
		"a 304 without a lifetime": {
			answers: []answer{
				{200, "Etag: \"a\"\nCache-Control: max-age=60\nAge: 60", "page"},
				{304, "", ""},
			},
			fresh: true,
			last:  Visit{Unchanged: true, Sent: true},
		},
		"a 304 for a page with no-cache": {
			answers: []answer{
				{200, "Etag: \"a\"\nCache-Control: no-cache, max-age=60", "page"},
				{304, "", ""},
			},
			match: `"a"`,
			last:  Visit{Unchanged: true, Sent: true},
		},
		"a 304 with the weak form of the ETag": {
			answers: []answer{known, {304, "Etag: W/\"a\"", ""}},
			match:   `W/"a"`,
			last:    Visit{Unchanged: true, Sent: true},
		},
		"a 304 about another version": {
			answers: []answer{known, {304, "Etag: \"b\"\nCache-Control: max-age=60", ""}},
			last:    Visit{Sent: true},
		},
		"a 304 with no-store": {
			answers: []answer{known, {304, "Cache-Control: no-store", ""}},
			last:    Visit{Unchanged: true, Sent: true},
		},
		"an unrequested 304": {
			answers: []answer{{304, "Etag: \"a\"\nCache-Control: max-age=60", ""}},
			last:    Visit{Sent: true},
		},
		"a 200 with a new validator": {
			answers: []answer{known, {200, "Etag: \"b\"", "page"}},
			match:   `"b"`,
			last:    Visit{Sent: true},
		},
		"an equal body with a new validator": {
			answers: []answer{known, {200, "Etag: \"c\"", "page"}},
			match:   `"c"`,
			last:    Visit{Sent: true},
		},
		"a 200 without validators": {
			answers: []answer{known, {200, "", "page"}},
			last:    Visit{Sent: true},
		},
		"a 200 with no-store": {
			answers: []answer{known, {200, "Etag: \"b\"\nCache-Control: no-store", "page"}},
			last:    Visit{Sent: true},
		},
		"a 404": {
			answers: []answer{known, {404, "", ""}},
			last:    Visit{Sent: true},
		},
		"a fresh 404": {
			answers: []answer{known, {404, "Cache-Control: max-age=60", ""}},
			fresh:   true,
			last:    Visit{Sent: true},
		},
		"a fresh 410": {
			answers: []answer{known, {410, "Cache-Control: max-age=60", ""}},
			fresh:   true,
			last:    Visit{Sent: true},
		},
		"a fresh 429": {
			answers: []answer{known, {429, "Cache-Control: max-age=60", ""}},
			fresh:   true,
			last:    Visit{Sent: true},
		},
		"a 430": {
			answers: []answer{known, {430, "", ""}},
			match:   `"a"`,
			last:    Visit{Sent: true},
		},
		"a 429": {
			answers: []answer{known, {429, "", ""}},
			match:   `"a"`,
			last:    Visit{Sent: true},
		},
		"a 503": {
			answers: []answer{known, {503, "Cache-Control: max-age=60", ""}},
			match:   `"a"`,
			last:    Visit{Sent: true},
		},
		"a 403": {
			answers: []answer{known, {403, "Cache-Control: max-age=60", ""}},
			match:   `"a"`,
			last:    Visit{Sent: true},
		},
		"a 206": {
			answers: []answer{known, {206, "Etag: \"b\"\nCache-Control: max-age=60", "pa"}},
			match:   `"a"`,
			last:    Visit{Sent: true},
		},
		"a challenge with status 200": {
			answers: []answer{known, {200, "Etag: \"b\"\nCf-Mitigated: challenge", "page"}},
			match:   `"a"`,
			last:    Visit{Sent: true},
		},
		"a 404 from bot protection": {
			answers: []answer{known, {404, "Cf-Mitigated: challenge", "page"}},
			match:   `"a"`,
			last:    Visit{Sent: true},
		},
		"a possible block page": {
			answers: []answer{known, {200, "Etag: \"b\"\nContent-Type: text/html", anubis}},
			last:    Visit{Sent: true},
		},
		"a fresh 301": {
			answers: []answer{known, {301, "Location: /b\nCache-Control: max-age=60", ""}},
			fresh:   true,
			last:    Visit{Sent: true},
		},
		"a 301 without a lifetime": {
			answers: []answer{known, {301, "Location: /b", ""}},
			last:    Visit{Sent: true},
		},
		"a 302": {
			answers: []answer{known, {302, "Location: /b\nCache-Control: max-age=60", ""}},
			match:   `"a"`,
			last:    Visit{Sent: true},
		},
		"a truncated body": {
			answers: []answer{known, {200, "Etag: \"b\"\nContent-Length: 99", "page"}},
			last:    Visit{Sent: true},
		},
		"a truncated HTML page": {
			answers: []answer{
				known,
				{200, "Etag: \"b\"\nContent-Type: text/html\nContent-Length: 99", "<p>"},
			},
			last: Visit{Sent: true},
		},
		"a truncated body with a lifetime": {
			answers: []answer{{200, "Cache-Control: max-age=60\nContent-Length: 99", "page"}},
			last:    Visit{Sent: true},
		},
		"a 304 with another Vary": {
			answers: []answer{known, {304, "Vary: *", ""}},
			last:    Visit{Unchanged: true, Sent: true},
		},
		"a 304 with another Last-Modified": {
			answers: []answer{
				{200, "Last-Modified: Thu, 01 Jan 1998 00:00:00 GMT", "page"},
				{304, "Last-Modified: Fri, 02 Jan 1998 00:00:00 GMT", ""},
			},
			last: Visit{Sent: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				end := answer{200, "", "the end"}
				client, site := newClient(t, &Transport{}, append(tt.answers, end)...)
				var last Visit
				for i := range tt.answers {
					resp, visit := get(t, client)
					if want := tt.answers[i].status; resp.StatusCode != want {
						t.Fatalf("response %d has status %d, want %d", i, resp.StatusCode, want)
					}
					last = visit
				}
				last.Fresh = time.Time{}
				last.Since = time.Time{}
				last.Directives = tt.last.Directives
				if fmt.Sprint(last) != fmt.Sprint(tt.last) {
					t.Errorf("the last visit is %+v, want %+v", last, tt.last)
				}
				n := site.count()
				resp, visit := get(t, client)
				sent := site.count() - n
				if tt.fresh {
					if sent != 0 {
						t.Errorf("%d requests were sent while the response was fresh, want none", sent)
					}
					status := tt.answers[len(tt.answers)-1].status
					checkGenerated(t, resp, visit, status)
					return
				}
				if sent != 1 {
					t.Fatalf("%d requests were sent, want 1", sent)
				}
				if got := site.received[n].Get("If-None-Match"); got != tt.match {
					t.Errorf("If-None-Match is %q, want %q", got, tt.match)
				}
			})
		})
	}
}

// checkGenerated checks a response that was generated from a stored response
// with the given status.
func checkGenerated(t *testing.T, resp *http.Response, visit Visit, status int) {
	t.Helper()
	if resp.StatusCode != status || resp.ContentLength != 0 {
		t.Errorf("the generated response has status %d and length %d, want %d and 0",
			resp.StatusCode, resp.ContentLength, status)
	}
	if wantUnchanged := status == 304; visit.Sent || visit.Unchanged != wantUnchanged {
		t.Errorf("the visit is %+v, want not Sent, and Unchanged %t", visit, wantUnchanged)
	}
	if got := resp.Header.Get("Location"); status == 301 && got != "/b" {
		t.Errorf("the Location is %q, want /b", got)
	}
}

// TestUpdate_Errors checks that a network error does not change the stored
// page.
func TestUpdate_Errors(t *testing.T) {
	var web robotstest.Internet
	s := &site{answers: []answer{{200, "Etag: \"a\"", "page"}}}
	web.Handle("site.example", s)
	client := &http.Client{Transport: &Transport{Base: &web}}
	get(t, client)
	web.Fail("site.example", errors.New("cut off"))
	if _, err := client.Get(page); err == nil {
		t.Fatal("Get returns no error although the network fails, want one")
	}
	web.Handle("site.example", s)
	get(t, client)
	if got := s.received[1].Get("If-None-Match"); got != `"a"` {
		t.Errorf("If-None-Match is %q after a network error, want %q", got, `"a"`)
	}
}

// TestReuse_StoredFields checks that a generated response has the fields of the
// stored one.
func TestReuse_StoredFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := newClient(t, &Transport{}, answer{
			status: 200,
			header: "Etag: \"a\"\nCache-Control: max-age=60\nDate: Sat, 01 Jan 2000 00:00:00 GMT",
			body:   "page",
		})
		get(t, client)
		received := time.Now()
		time.Sleep(30 * time.Second)
		resp, visit := get(t, client)
		for name, want := range map[string]string{
			"Etag": `"a"`,
			"Date": "Sat, 01 Jan 2000 00:00:00 GMT",
		} {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		if resp.Request == nil || resp.Request.URL.String() != page {
			t.Errorf("Request is %v, want one for %s", resp.Request, page)
		}
		if resp.Proto != "HTTP/1.1" {
			t.Errorf("Proto is %q, want HTTP/1.1", resp.Proto)
		}
		if !visit.Since.Equal(received) || !visit.Fresh.Equal(received.Add(time.Minute)) {
			t.Errorf("the visit is %+v, want one since %v, fresh for a minute", visit, received)
		}
	})
}

// TestDirectives_UnchangedPage checks that a noindex applies although it was in
// an earlier response.
func TestDirectives_UnchangedPage(t *testing.T) {
	for name, tt := range map[string]struct {
		first, second answer
		wantState     robotsmw.PageState
	}{
		"a meta before a 304": {
			first: answer{
				status: 200,
				header: "Etag: \"a\"\nContent-Type: text/html",
				body:   "<meta name=robots content=noindex><p>",
			},
			second:    answer{304, "", ""},
			wantState: robotsmw.PageComplete,
		},
		"a meta of a fresh page": {
			first: answer{
				status: 200,
				header: "Cache-Control: max-age=60\nContent-Type: text/html",
				body:   "<meta name=robots content=noindex><p>",
			},
			second:    answer{},
			wantState: robotsmw.PageComplete,
		},
		"a header before a 304": {
			first: answer{
				status: 200,
				header: "Etag: \"a\"\nContent-Type: text/plain\nX-Robots-Tag: noindex",
				body:   "text",
			},
			second:    answer{304, "", ""},
			wantState: robotsmw.PageHeaderOnly,
		},
		"a header of the 304": {
			first:     answer{200, "Etag: \"a\"\nContent-Type: text/plain", "text"},
			second:    answer{304, "X-Robots-Tag: noindex", ""},
			wantState: robotsmw.PageHeaderOnly,
		},
		"a meta for the robot": {
			first: answer{
				status: 200,
				header: "Etag: \"a\"\nContent-Type: text/html",
				body:   "<meta name=testbot content=noindex><p>",
			},
			second:    answer{304, "", ""},
			wantState: robotsmw.PageComplete,
		},
		"a 304 about another version": {
			first: answer{
				status: 200,
				header: "Etag: \"a\"\nContent-Type: text/html",
				body:   "<meta name=robots content=noindex><p>",
			},
			second:    answer{304, "Etag: \"b\"", ""},
			wantState: robotsmw.PageComplete,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, _ := newClient(t, &Transport{}, tt.first, tt.second, answer{304, "", ""})
				get(t, client)
				for range 2 {
					resp, visit := get(t, client)
					if !visit.Directives.NoIndex() {
						t.Errorf("status %d: Directives.NoIndex() = false, want true", resp.StatusCode)
					}
					directives := robotsmw.PageDirectives(resp)
					if !directives.NoIndex() || directives.State != tt.wantState {
						t.Errorf("status %d: PageDirectives has NoIndex %t and the State %v, want true and %v",
							resp.StatusCode, directives.NoIndex(), directives.State, tt.wantState)
					}
					if !visit.Unchanged {
						return
					}
				}
			})
		})
	}
}

// TestDirectives_RepeatedRules checks that the rules of several 304s are stored
// only once.
func TestDirectives_RepeatedRules(t *testing.T) {
	client, _ := newClient(t, &Transport{}, answer{
		status: 200,
		header: "Etag: \"a\"\nX-Robots-Tag: noarchive",
		body:   "page",
	}, answer{304, "X-Robots-Tag: noarchive", ""})
	var visit Visit
	for range 5 {
		_, visit = get(t, client)
	}
	n := 0
	for range visit.Directives.Rules() {
		n++
	}
	if n != 1 {
		t.Errorf("%d rules are stored, want 1", n)
	}
}

// TestBody_ClosedEarly checks that a page is not stored if the caller closes it
// before its meta elements have been read.
func TestBody_ClosedEarly(t *testing.T) {
	html := "<p>" + strings.Repeat("x", 1<<20)
	for name, tt := range map[string]struct {
		header, body string
		read         int    // number of bytes that the caller reads
		want         string // the If-None-Match of the next request
	}{
		"an HTML page closed early":                  {"Content-Type: text/html", html, 10, ""},
		"an HTML page closed after the window":       {"Content-Type: text/html", html, 900 << 10, `"a"`},
		"a text closed early":                        {"Content-Type: text/plain", html, 10, `"a"`},
		"a page with an unknown coding closed early": {"Content-Type: text/html\nContent-Encoding: br", html, 10, `"a"`},
		"a page read to its Content-Length":          {"Content-Type: text/html\nContent-Length: 3", "<p>", 3, `"a"`},
	} {
		t.Run(name, func(t *testing.T) {
			client, site := newClient(t, &Transport{}, answer{200, "Etag: \"a\"\n" + tt.header, tt.body})
			resp, err := client.Get(page)
			if err != nil {
				t.Fatal(err)
			}
			io.ReadFull(resp.Body, make([]byte, tt.read))
			resp.Body.Close()
			get(t, client)
			if got := site.received[1].Get("If-None-Match"); got != tt.want {
				t.Errorf("If-None-Match is %q, want %q", got, tt.want)
			}
		})
	}
}

// TestVariants checks whether a stored response is used for a request with
// other fields.
func TestVariants(t *testing.T) {
	for name, tt := range map[string]struct {
		header        string   // further fields of the response
		first, second []string // fields of the requests
		fresh         bool     // whether the second request is not sent
		match         string   // the If-None-Match of the second request
	}{
		"no Vary": {"", nil, []string{"Accept-Language: fr"}, true, ""},
		"another value of a field in Vary": {
			header: "Vary: Accept-Language",
			first:  []string{"Accept-Language: de"},
			second: []string{"Accept-Language: fr"},
		},
		"the same value of a field in Vary": {
			header: "Vary: accept-language, Accept",
			first:  []string{"Accept-Language: de"},
			second: []string{"Accept-Language: de"},
			fresh:  true,
		},
		"a cookie in the second request": {"", nil, []string{"Cookie: a=b"}, false, ""},
		"the same cookie in both requests": {
			first:  []string{"Cookie: a=b"},
			second: []string{"Cookie: a=b"},
			fresh:  true,
		},
		"Authorization in the second request": {"", nil, []string{"Authorization: x"}, false, ""},
		"Authorization and a public response": {
			header: "Cache-Control: public",
			second: []string{"Authorization: x"},
			fresh:  true,
		},
		"Authorization in both requests": {
			first:  []string{"Authorization: x"},
			second: []string{"Authorization: x"},
		},
		"no-cache in the request": {
			second: []string{"Cache-Control: no-cache"},
			match:  `"a"`,
		},
		"Pragma: no-cache in the request": {"", nil, []string{"Pragma: no-cache"}, false, `"a"`},
		"max-age=0 in the request": {
			second: []string{"Cache-Control: max-age=0"},
			match:  `"a"`,
		},
		"no-store in the request": {
			second: []string{"Cache-Control: no-store"},
		},
		"a Range in the request": {"", nil, []string{"Range: bytes=0-1"}, false, ""},
		"a validator of the caller": {
			second: []string{`If-None-Match: "own"`},
			match:  `"own"`,
		},
		"an If-Modified-Since of the caller": {
			second: []string{"If-Modified-Since: Thu, 01 Jan 1998 00:00:00 GMT"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			client, site := newClient(t, &Transport{}, answer{
				status: 200,
				header: "Etag: \"a\"\nCache-Control: max-age=60\n" + tt.header,
				body:   "page",
			})
			get(t, client, tt.first...)
			get(t, client, tt.second...)
			want := 2
			if tt.fresh {
				want = 1
			}
			if n := site.count(); n != want {
				t.Fatalf("%d requests were sent, want %d", n, want)
			}
			if tt.fresh {
				return
			}
			if got := site.received[1].Get("If-None-Match"); got != tt.match {
				t.Errorf("If-None-Match is %q, want %q", got, tt.match)
			}
		})
	}
}

// TestVariants_CookieJar checks a response that sets a cookie: the second
// request differs from the first by this cookie, and the third is like the
// second.
func TestVariants_CookieJar(t *testing.T) {
	client, site := newClient(t, &Transport{}, answer{
		status: 200,
		header: "Etag: \"a\"\nSet-Cookie: a=b",
		body:   "page",
	}, answer{200, "Etag: \"b\"", "page"})
	client.Jar, _ = cookiejar.New(nil)
	get(t, client)
	get(t, client)
	get(t, client)
	for i, want := range []string{"", "", `"b"`} {
		if got := site.received[i].Get("If-None-Match"); got != want {
			t.Errorf("If-None-Match of request %d is %q, want %q", i, got, want)
		}
	}
}

// TestOtherMethods checks that methods that may change a page make it stale.
func TestOtherMethods(t *testing.T) {
	for method, isUnsafe := range map[string]bool{
		"HEAD":    false,
		"OPTIONS": false,
		"POST":    true,
		"PUT":     true,
		"PATCH":   true,
		"DELETE":  true,
	} {
		client, site := newClient(t, &Transport{}, answer{
			status: 200,
			header: "Etag: \"a\"\nCache-Control: max-age=60",
			body:   "page",
		}, answer{204, "Etag: \"no\"", ""}, answer{304, "", ""})
		get(t, client)
		resp, _ := do(t, client, method)
		if _, ok := Of(resp); ok {
			t.Errorf("%s: Of returns a Visit, want none", method)
		}
		get(t, client)
		want := 2
		if isUnsafe {
			want = 3
		}
		if n := site.count(); n != want {
			t.Fatalf("%s: %d requests were sent, want %d", method, n, want)
		}
		if !isUnsafe {
			continue
		}
		if got := site.received[2].Get("If-None-Match"); got != `"a"` {
			t.Errorf("%s: If-None-Match of the next request is %q, want %q", method, got, `"a"`)
		}
	}
}

// TestOtherMethods_Failures checks that a POST that fails does not make the
// page stale.
func TestOtherMethods_Failures(t *testing.T) {
	client, site := newClient(t, &Transport{}, answer{
		status: 200,
		header: "Etag: \"a\"\nCache-Control: max-age=60",
		body:   "page",
	}, answer{500, "", ""})
	get(t, client)
	do(t, client, "POST")
	get(t, client)
	if n := site.count(); n != 2 {
		t.Errorf("%d requests were sent, want 2, because the page is fresh", n)
	}
}

// TestOtherMethods_ConcurrentGet checks that the result of a GET is not stored
// if a POST began and ended meanwhile, because the page may be from before the
// POST.
func TestOtherMethods_ConcurrentGet(t *testing.T) {
	t.Run("memory", func(t *testing.T) { testConcurrentGet(t, &Transport{}) })
	t.Run("Store", func(t *testing.T) { testConcurrentGet(t, &Transport{Store: &faultyStore{}}) })
}

func testConcurrentGet(t *testing.T, tr *Transport) {
	synctest.Test(t, func(t *testing.T) {
		client, site := newClient(t, tr, answer{
			status: 200,
			header: "Etag: \"a\"\nCache-Control: max-age=60",
			body:   "page",
		}, answer{204, "", ""}, answer{200, "", ""})
		resp, err := client.Get(page)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		do(t, client, "POST")
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		get(t, client)
		if n := site.count(); n != 3 {
			t.Fatalf("%d requests were sent, want 3", n)
		}
		if got := site.received[2].Get("If-None-Match"); got != "" {
			t.Errorf("If-None-Match of the last request is %q, want none", got)
		}
	})
}

// TestUpdate_ConcurrentGets checks that an older response, whose body ends
// later, does not replace a newer one.
func TestUpdate_ConcurrentGets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, site := newClient(t, &Transport{}, answer{
			status: 200,
			header: "Etag: \"a\"",
			body:   "page",
		}, answer{200, "Etag: \"b\"", "page"})
		resp, err := client.Get(page)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		get(t, client)
		resp.Body.Close()
		get(t, client)
		if got := site.received[2].Get("If-None-Match"); got != `"b"` {
			t.Errorf("If-None-Match is %q, want %q", got, `"b"`)
		}
	})
}

// TestFresh_ClockSetBack checks that an entry is not fresh at a time before its
// request.
func TestFresh_ClockSetBack(t *testing.T) {
	now := time.Now()
	e := cacheEntry{
		Page:      &cachedResponse{Header: "\n\n\n\n", Until: now.Add(time.Hour).UnixNano()},
		Requested: now.UnixNano(),
	}
	req, _ := http.NewRequest("GET", page, nil)
	if e.fresh(req, now.Add(time.Minute)) == nil {
		t.Error("fresh returns nil a minute after the request, want the page")
	}
	if r := e.fresh(req, now.Add(-24*time.Hour)); r != nil {
		t.Errorf("fresh returns %+v a day before the request, want nil", r)
	}
}

// TestOf_ContextOfAnEarlierResponse checks requests with the context of an
// earlier response, whose directives must not be those of the new responses.
func TestOf_ContextOfAnEarlierResponse(t *testing.T) {
	client, site := newClient(t, &Transport{}, answer{
		status: 200,
		header: "Etag: \"a\"\nX-Robots-Tag: noindex",
		body:   "page",
	}, answer{304, "", ""}, answer{200, "", ""})
	get(t, client)
	resp, _ := get(t, client)
	req, _ := http.NewRequestWithContext(resp.Request.Context(), "POST", page, nil)
	other, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	other.Body.Close()
	if v, ok := Of(other); ok || robotsmw.PageDirectives(other).NoIndex() {
		t.Errorf("Of returns %+v, %t for a POST, want no Visit and no noindex", v, ok)
	}
	site.answers = []answer{{304, "", ""}}
	own, _ := http.NewRequestWithContext(resp.Request.Context(), "GET", page+"/other", nil)
	own.Header.Set("If-None-Match", `"b"`)
	other, err = client.Do(own)
	if err != nil {
		t.Fatal(err)
	}
	if other.StatusCode != 304 || robotsmw.PageDirectives(other).NoIndex() {
		t.Errorf("the response for another page has status %d and NoIndex %t, want 304 and false",
			other.StatusCode, robotsmw.PageDirectives(other).NoIndex())
	}
}

// TestRoundTrip_CanceledContext checks that the error of the context is
// returned even if the page is fresh.
func TestRoundTrip_CanceledContext(t *testing.T) {
	client, _ := newClient(t, &Transport{}, answer{200, "Cache-Control: max-age=60", "page"})
	get(t, client)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req, _ := http.NewRequestWithContext(ctx, "GET", page, nil)
	if _, err := client.Transport.RoundTrip(req); !errors.Is(err, context.Canceled) {
		t.Errorf("RoundTrip returns the error %v, want %v", err, context.Canceled)
	}
}

// TestRoundTrip_RequestUnchanged checks that RoundTrip does not modify the
// request when it adds validators.
func TestRoundTrip_RequestUnchanged(t *testing.T) {
	client, _ := newClient(t, &Transport{}, answer{200, "Etag: \"a\"", "page"})
	get(t, client)
	req, _ := http.NewRequest("GET", page, nil)
	req.Header = nil
	resp, err := client.Transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if req.Header != nil {
		t.Errorf("the header of the request is %v, want nil", req.Header)
	}
}

func TestMemory_Limits(t *testing.T) {
	var web robotstest.Internet
	web.Handle("site.example", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		io.WriteString(w, "page")
	}))
	for name, tr := range map[string]*Transport{"pages": {MaxPages: 10}, "bytes": {MaxBytes: 10 * 330}} {
		tr.Base = &web
		client := &http.Client{Transport: tr}
		visit := func(i int) {
			resp, err := client.Get(fmt.Sprintf("http://site.example/%03d", i))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		for i := range 100 {
			visit(i)
			visit(0) // is the most recently used page
		}
		m := tr.cache.(*memoryCache)
		if n := len(m.entries); n < 8 || n > 12 {
			t.Errorf("limit of %s: %d pages are stored, want 8 to 12", name, n)
		}
		if m.entries["http://site.example/000"] == nil {
			t.Errorf("limit of %s: the page that is used most often was evicted, want it stored", name)
		}
		m.put("http://site.example/000", cacheEntry{}, time.Now())
		for _, e := range m.entries {
			m.remove(e)
		}
		if m.bytes != 0 || m.recency.Len() != 0 {
			t.Errorf("limit of %s: an empty cache has %d bytes and %d elements, want none",
				name, m.bytes, m.recency.Len())
		}
	}
}

// TestStore_OtherProcess checks that the stored page is used by a process that
// starts later.
func TestStore_OtherProcess(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		store, err := diskstore.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		client, s := newClient(t, &Transport{
			Store: store,
		}, answer{
			status: 200,
			header: "Etag: \"a\"\nContent-Type: text/html",
			body:   "<meta name=robots content=noindex>",
		})
		if i > 0 {
			s.answers = []answer{{304, "", ""}}
		}
		_, visit := get(t, client)
		if i == 0 {
			continue
		}
		if got := s.received[0].Get("If-None-Match"); got != `"a"` {
			t.Errorf("process %d: If-None-Match is %q, want %q", i, got, `"a"`)
		}
		if !visit.Unchanged || !visit.Directives.NoIndex() {
			t.Errorf("process %d: the visit is %+v, want Unchanged with noindex", i, visit)
		}
	}
}

// A faultyStore is a Store in memory with faults.
type faultyStore struct {
	mu       sync.Mutex
	values   map[string][]byte
	ttl      time.Duration // of the latest Put
	fail     error         // returned by all calls, if it is not nil
	hang     bool          // calls take an hour
	truncate bool          // Get returns half of a value
	calls    int
}

func (s *faultyStore) begin(ctx context.Context) error {
	s.mu.Lock()
	s.calls++
	hang := s.hang
	err := s.fail
	s.mu.Unlock()
	if hang {
		time.Sleep(time.Hour) // ignores the context
	}
	return err
}

func (s *faultyStore) Get(ctx context.Context, key string) ([]byte, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok := s.values[key]
	if !ok {
		return nil, fs.ErrNotExist
	}
	if s.truncate {
		value = value[:len(value)/2]
	}
	return value, nil
}

func (s *faultyStore) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = make(map[string][]byte)
	}
	s.values[key] = value
	s.ttl = ttl
	return nil
}

func (s *faultyStore) Delete(ctx context.Context, key string) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.values, key)
	return nil
}

// locked calls f with the lock held.
func (s *faultyStore) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// TestStore_Failures checks that a Store that fails does not delay requests,
// and is used again when it works.
func TestStore_Failures(t *testing.T) {
	for name, fault := range map[string]func(*faultyStore){
		"an error":                    func(s *faultyStore) { s.fail = errors.New("full") },
		"a call that does not return": func(s *faultyStore) { s.hang = true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &faultyStore{}
				client, site := newClient(t, &Transport{
					Store:  store,
					Logger: slog.New(slog.DiscardHandler),
				}, answer{200, "Etag: \"a\"", "page"})
				get(t, client)
				store.locked(func() { fault(store) })
				start := time.Now()
				for range 200 {
					get(t, client)
					time.Sleep(time.Second)
				}
				if took := time.Since(start) - 200*time.Second; took > 10*time.Second {
					t.Errorf("the Store delays 200 requests by %v, want at most 10s", took)
				}
				var calls int
				store.locked(func() { calls = store.calls })
				if calls > 50 {
					t.Errorf("the Store was called %d times while it failed, want at most 50", calls)
				}
				if n := site.count(); n != 201 {
					t.Errorf("%d requests were sent, want 201", n)
				}
				store.locked(func() {
					store.hang = false
					store.fail = nil
				})
				time.Sleep(time.Minute)
				get(t, client) // detects that the Store works again
				time.Sleep(time.Second)
				get(t, client)
				get(t, client)
				last := site.received[len(site.received)-1]
				if got := last.Get("If-None-Match"); got != `"a"` {
					t.Errorf("If-None-Match is %q after the Store works again, want %q", got, `"a"`)
				}
				time.Sleep(2 * time.Hour) // for the calls that hang
			})
		})
	}
}

// TestStore_FastCalls checks that the result of a call is returned even if the
// context of the call ends at the same time.
func TestStore_FastCalls(t *testing.T) {
	c := &storeCache{store: &faultyStore{}, logger: slog.New(slog.DiscardHandler)}
	succeed := func(context.Context) ([]byte, error) { return nil, nil }
	failures := 0
	for range 20_000 {
		if _, err := c.call(t.Context(), "get", succeed); err != nil {
			failures++
		}
	}
	if failures > 0 {
		t.Errorf("%d of 20,000 calls return an error, want none", failures)
	}
}

// TestStore_InvalidValues checks that truncated values, and values of other
// URLs, are ignored.
func TestStore_InvalidValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faultyStore{}
		client, site := newClient(t, &Transport{
			Store: store,
		}, answer{200, "Cache-Control: max-age=5184000", "page"})
		get(t, client)
		if store.ttl < 90*24*time.Hour-time.Minute {
			t.Errorf("the page is stored for %v, want its lifetime of 60 days and 30 more", store.ttl)
		}
		store.truncate = true
		get(t, client)
		if n := site.count(); n != 2 {
			t.Errorf("%d requests were sent with a truncated value, want 2", n)
		}
		store.truncate = false
		for _, value := range store.values {
			store.values[storeKey("http://site.example/other")] = value
		}
		resp, err := client.Get("http://site.example/other")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if n := site.count(); n != 3 {
			t.Errorf("%d requests were sent with the value of another URL, want 3", n)
		}
	})
}

// TestStore_InvalidFields checks that an entry with a wrong number of fields,
// or with a validator that cannot be sent, is ignored.
func TestStore_InvalidFields(t *testing.T) {
	for name, head := range map[string]string{
		"too few fields":      `"a"`,
		"too many fields":     "\"a\"\n\n\n\n\n",
		"a control character": "\"a\rb\"\n\n\n\n",
	} {
		store := &faultyStore{}
		client, site := newClient(t, &Transport{Store: store}, answer{200, "Etag: \"a\"", "page"})
		get(t, client)
		for key, value := range store.values {
			var s storedEntry
			if err := json.Unmarshal(value, &s); err != nil {
				t.Fatal(err)
			}
			s.Page.Header = head
			store.values[key], _ = json.Marshal(s)
		}
		site.answers = []answer{{
			status: 304,
			header: "Vary: Accept\nLast-Modified: Tue, 24 Nov 2020 00:00:00 GMT",
		}}
		get(t, client)
		if n := site.count(); n != 2 {
			t.Fatalf("%s: %d requests were sent, want 2", name, n)
		}
		if got := site.received[1].Get("If-None-Match"); got != "" {
			t.Errorf("%s: If-None-Match is %q, want none", name, got)
		}
	}
}

// TestStore_RemovedPage checks that a page is stored without a lifetime, and
// removed when its status is 404.
func TestStore_RemovedPage(t *testing.T) {
	store := &faultyStore{}
	client, _ := newClient(t, &Transport{
		Store: store,
	}, answer{200, "Etag: \"a\"", "page"}, answer{404, "", ""})
	get(t, client)
	if store.ttl < minRetention || len(store.values) != 1 {
		t.Errorf("%d values are stored for %v, want 1 for at least %v",
			len(store.values), store.ttl, minRetention)
	}
	get(t, client)
	if n := len(store.values); n != 0 {
		t.Errorf("%d values are stored after a 404, want none", n)
	}
}
