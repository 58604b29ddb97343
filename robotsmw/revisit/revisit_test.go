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

// A site answers with the next of its answers, and then with the last one
// again.
type site struct {
	mu      sync.Mutex
	answers []answer
	asked   []http.Header // of the requests for pages
	methods []string
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
	s.asked = append(s.asked, r.Header.Clone())
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
	return len(s.asked)
}

// with returns a client of a Transport in front of a site, and robots between
// them.
func with(t *testing.T, tr *Transport, answers ...answer) (*http.Client, *site) {
	t.Helper()
	s := &site{answers: answers}
	var web robotstest.Internet
	web.Handle("site.example", s)
	robots, err := robotsmw.NewTransport(robotsmw.Options{UserAgent: "TestBot/1.0", Base: &web})
	if err != nil {
		t.Fatal(err)
	}
	tr.Base = robots
	client := &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return client, s
}

// get requests a page, reads it, and returns its Visit.
func get(t *testing.T, c *http.Client, fields ...string) (*http.Response, Visit) {
	t.Helper()
	return do(t, c, http.MethodGet, fields...)
}

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

// How long is a page fresh, and which validators does the next request have?
func TestFreshFor(t *testing.T) {
	for name, tt := range map[string]struct {
		header    string
		transport *Transport
		want      time.Duration
	}{
		"nothing is said": {"Etag: \"a\"", &Transport{}, 0},
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
		"private is for us": {
			header:    "Cache-Control: private, max-age=60",
			transport: &Transport{},
			want:      time.Minute,
		},
		"s-maxage is not": {"Cache-Control: s-maxage=60", &Transport{}, 0},
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
		"a floor": {
			header:    "Etag: \"a\"",
			transport: &Transport{MinFresh: time.Hour},
			want:      time.Hour,
		},
		"a floor above max-age": {
			header:    "Cache-Control: max-age=60",
			transport: &Transport{MinFresh: time.Hour},
			want:      time.Hour,
		},
		"a floor is no answer to no-cache": {
			header:    "Cache-Control: no-cache",
			transport: &Transport{MinFresh: time.Hour},
		},
		"a ceiling": {
			header:    "Cache-Control: max-age=999999999999",
			transport: &Transport{MaxFresh: time.Hour},
			want:      time.Hour,
		},
		"a ceiling below the floor": {
			header:    "Cache-Control: max-age=60",
			transport: &Transport{MinFresh: time.Hour, MaxFresh: time.Minute},
			want:      time.Minute,
		},
		"ten years are the most of a Date": {
			header:    "Cache-Control: max-age=99999999999999999999",
			transport: &Transport{},
			want:      10 * 365 * 24 * time.Hour,
		},
		"a page that sets a cookie is kept": {
			header:    "Cache-Control: max-age=60\nSet-Cookie: a=b",
			transport: &Transport{},
			want:      time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, site := with(t, tt.transport, answer{200, tt.header, "page"})
				_, first := get(t, client)
				if tt.want == 0 {
					if get(t, client); site.count() != 2 {
						t.Fatal("the second request was not sent")
					}
					if !first.Fresh.IsZero() {
						t.Errorf("Fresh is %v, want zero", first.Fresh)
					}
					return
				}
				if got := time.Until(first.Fresh); got != tt.want {
					t.Errorf("fresh for %v, want %v", got, tt.want)
				}
				time.Sleep(tt.want - time.Nanosecond)
				resp, visit := get(t, client)
				if site.count() != 1 || resp.StatusCode != 304 || !visit.Unchanged || visit.Sent || resp.Status != "304 Not Modified" {
					t.Errorf("while fresh: %d requests, %s, %+v", site.count(), resp.Status, visit)
				}
				time.Sleep(time.Nanosecond)
				if get(t, client); site.count() != 2 {
					t.Error("no request was sent when the time was over")
				}
			})
		})
	}
}

// Validators are sent as they came, byte for byte (a fault of feed readers).
func TestSend_Validators(t *testing.T) {
	for name, tt := range map[string]struct{ header, match, since string }{
		"both": {
			header: "Etag: \"a\"\nLast-Modified: Thu, 01 Jan 1998 00:00:00 GMT",
			match:  `"a"`,
			since:  "Thu, 01 Jan 1998 00:00:00 GMT",
		},
		"a weak one":         {"Etag: W/\"a\"", `W/"a"`, ""},
		"one without quotes": {"Etag: abc", "abc", ""},
		"a date of another form": {
			header: "Last-Modified: Thursday, 01-Jan-98 00:00:00 GMT",
			since:  "Thursday, 01-Jan-98 00:00:00 GMT",
		},
		"no date":               {"Last-Modified: yesterday", "", "yesterday"},
		"neither":               {"Cache-Control: max-age=0", "", ""},
		"two ETags say nothing": {"Etag: \"a\"\nEtag: \"b\"", "", ""},
		"changed in this very second": {
			header: "Last-Modified: Sat, 01 Jan 2000 00:00:00 GMT\nDate: Sat, 01 Jan 2000 00:00:00 GMT",
		},
		"the same, but there is an ETag": {
			header: "Etag: \"a\"\nLast-Modified: Sat, 01 Jan 2000 00:00:00 GMT",
			match:  `"a"`,
			since:  "Sat, 01 Jan 2000 00:00:00 GMT",
		},
		"no-store":        {"Etag: \"a\"\nCache-Control: no-store", "", ""},
		"an ETag of 9 KB": {"Etag: \"" + strings.Repeat("a", 9<<10) + "\"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, site := with(t, &Transport{}, answer{200, tt.header, "page"})
				get(t, client)
				get(t, client)
				asked := site.asked[1]
				if asked.Get("If-None-Match") != tt.match || asked.Get("If-Modified-Since") != tt.since {
					t.Errorf("asked with %q and %q, want %q and %q",
						asked.Get("If-None-Match"), asked.Get("If-Modified-Since"), tt.match, tt.since)
				}
			})
		})
	}
}

// Each row has the responses to the first requests, and the expected next
// request.
func TestUpdate_Responses(t *testing.T) {
	known := answer{200, "Etag: \"a\"", "page"}
	for name, tt := range map[string]struct {
		answers []answer
		match   string // the If-None-Match of the next request; "" if it has none
		fresh   bool   // the page is fresh, so no request is sent
		last    Visit  // of the last response, without times and Directives
	}{
		"§4.3.4: a 304 renews": {
			answers: []answer{known, {304, "Etag: \"a\"\nCache-Control: max-age=60", ""}},
			fresh:   true,
			last:    Visit{Unchanged: true, Sent: true},
		},
		"a 304 without header fields": {
			answers: []answer{known, {304, "", ""}},
			match:   `"a"`,
			last:    Visit{Unchanged: true, Sent: true},
		},
		"a lifetime begins anew": {
			answers: []answer{{200, "Etag: \"a\"\nCache-Control: max-age=60\nAge: 60", "page"}, {304, "", ""}},
			fresh:   true,
			last:    Visit{Unchanged: true, Sent: true},
		},
		"no-cache stays": {
			answers: []answer{{200, "Etag: \"a\"\nCache-Control: no-cache, max-age=60", "page"}, {304, "", ""}},
			match:   `"a"`,
			last:    Visit{Unchanged: true, Sent: true},
		},
		"a weak form of the same": {
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
		// feedbin#726
		"an equal body, a new validator": {
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
		"404": {
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
		// reader#376
		"a fresh 429": {
			answers: []answer{known, {429, "Cache-Control: max-age=60", ""}},
			fresh:   true,
			last:    Visit{Sent: true},
		},
		"a 430 leaves the page": {
			answers: []answer{known, {430, "", ""}},
			match:   `"a"`,
			last:    Visit{Sent: true},
		},
		"a 429 leaves the page": {
			answers: []answer{known, {429, "", ""}},
			match:   `"a"`,
			last:    Visit{Sent: true},
		},
		"a 503 leaves the page": {
			answers: []answer{known, {503, "Cache-Control: max-age=60", ""}},
			match:   `"a"`,
			last:    Visit{Sent: true},
		},
		"a 403 leaves the page": {
			answers: []answer{known, {403, "Cache-Control: max-age=60", ""}},
			match:   `"a"`,
			last:    Visit{Sent: true},
		},
		"a 206 is not the page": {
			answers: []answer{known, {206, "Etag: \"b\"\nCache-Control: max-age=60", "pa"}},
			match:   `"a"`,
			last:    Visit{Sent: true},
		},
		"a challenge is not the page": {
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
			answers: []answer{known, {200, "Etag: \"b\"\nContent-Type: text/html", "<script id=\"anubis_challenge\" type=\"application/json\">{}</script>"}},
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
		"a 302 leaves the page": {
			answers: []answer{known, {302, "Location: /b\nCache-Control: max-age=60", ""}},
			match:   `"a"`,
			last:    Visit{Sent: true},
		},
		"a body that breaks off": {
			answers: []answer{known, {200, "Etag: \"b\"\nContent-Length: 99", "page"}},
			last:    Visit{Sent: true},
		},
		"an HTML page that breaks off": {
			answers: []answer{known, {200, "Etag: \"b\"\n" +
				"Content-Type: text/html\n" +
				"Content-Length: 99", "<p>"}},
			last: Visit{Sent: true},
		},
		"fresh, but the body breaks off": {
			answers: []answer{{200, "Cache-Control: max-age=60\nContent-Length: 99", "page"}},
			last:    Visit{Sent: true},
		},
		"a 304 has another Vary": {
			answers: []answer{known, {304, "Vary: *", ""}},
			last:    Visit{Unchanged: true, Sent: true},
		},
		"Last-Modified of a 304 that differs": {
			answers: []answer{{200, "Last-Modified: Thu, 01 Jan 1998 00:00:00 GMT", "page"}, {304, "Last-Modified: Fri, 02 Jan 1998 00:00:00 GMT", ""}},
			last:    Visit{Sent: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				end := answer{200, "", "the end"}
				client, site := with(t, &Transport{}, append(tt.answers, end)...)
				var last Visit
				for i := range tt.answers {
					resp, visit := get(t, client)
					if last = visit; resp.StatusCode != tt.answers[i].status {
						t.Fatalf("answer %d has status %d, want %d",
							i, resp.StatusCode, tt.answers[i].status)
					}
				}
				last.Fresh = time.Time{}
				last.Since = time.Time{}
				last.Directives = tt.last.Directives
				if fmt.Sprint(last) != fmt.Sprint(tt.last) {
					t.Errorf("got the last visit %+v, want %+v", last, tt.last)
				}
				n := site.count()
				resp, visit := get(t, client)
				if tt.fresh {
					want := tt.answers[len(tt.answers)-1].status
					if site.count() != n || resp.StatusCode != want || visit.Sent || visit.Unchanged != (want == 304) || resp.ContentLength != 0 {
						t.Errorf("while fresh: %d more requests, status %d, %+v",
							site.count()-n, resp.StatusCode, visit)
					}
					if want == 301 && resp.Header.Get("Location") != "/b" {
						t.Errorf("the Location is %q", resp.Header.Get("Location"))
					}
					return
				}
				if site.count() != n+1 {
					t.Fatalf("%d requests were sent, want 1", site.count()-n)
				}
				if got := site.asked[n].Get("If-None-Match"); got != tt.match {
					t.Errorf("If-None-Match is %q, want %q", got, tt.match)
				}
			})
		})
	}
}

// A network error does not change the stored page.
func TestUpdate_Errors(t *testing.T) {
	var web robotstest.Internet
	s := &site{answers: []answer{{200, "Etag: \"a\"", "page"}}}
	web.Handle("site.example", s)
	client := &http.Client{Transport: &Transport{Base: &web}}
	get(t, client)
	web.Fail("site.example", errors.New("cut off"))
	if _, err := client.Get(page); err == nil {
		t.Fatal("no error")
	}
	web.Handle("site.example", s)
	if get(t, client); s.asked[1].Get("If-None-Match") != `"a"` {
		t.Errorf("If-None-Match is %q after a network error, want %q",
			s.asked[1].Get("If-None-Match"), `"a"`)
	}
}

func TestReuse_HasStoredFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := with(t, &Transport{}, answer{
			status: 200,
			header: "Etag: \"a\"\nCache-Control: max-age=60\nDate: Sat, 01 Jan 2000 00:00:00 GMT",
			body:   "page",
		})
		get(t, client)
		came := time.Now()
		time.Sleep(30 * time.Second)
		resp, visit := get(t, client)
		if resp.Header.Get("Etag") != `"a"` || resp.Header.Get("Date") != "Sat, 01 Jan 2000 00:00:00 GMT" {
			t.Errorf("the header is %v", resp.Header)
		}
		if resp.Request == nil || resp.Request.URL.String() != page || resp.Proto != "HTTP/1.1" {
			t.Errorf("the request is %v", resp.Request)
		}
		if !visit.Since.Equal(came) || !visit.Fresh.Equal(came.Add(time.Minute)) {
			t.Errorf("the visit is %+v", visit)
		}
	})
}

// A noindex is never lost, wherever it was.
func TestDirectives_OfAnUnchangedPage(t *testing.T) {
	for name, tt := range map[string]struct {
		first, second answer
		wantState     robotsmw.PageState
	}{
		"in the page, 304": {
			first: answer{
				status: 200,
				header: "Etag: \"a\"\nContent-Type: text/html",
				body:   "<meta name=robots content=noindex><p>",
			},
			second:    answer{304, "", ""},
			wantState: robotsmw.PageComplete,
		},
		"in the page, while fresh": {
			first: answer{
				status: 200,
				header: "Cache-Control: max-age=60\nContent-Type: text/html",
				body:   "<meta name=robots content=noindex><p>",
			},
			second:    answer{},
			wantState: robotsmw.PageComplete,
		},
		"in the header, 304": {
			first: answer{
				status: 200,
				header: "Etag: \"a\"\nContent-Type: text/plain\nX-Robots-Tag: noindex",
				body:   "text",
			},
			second:    answer{304, "", ""},
			wantState: robotsmw.PageHeaderOnly,
		},
		"in the 304 alone": {
			first:     answer{200, "Etag: \"a\"\nContent-Type: text/plain", "text"},
			second:    answer{304, "X-Robots-Tag: noindex", ""},
			wantState: robotsmw.PageHeaderOnly,
		},
		"for our token alone": {
			first: answer{
				status: 200,
				header: "Etag: \"a\"\nContent-Type: text/html",
				body:   "<meta name=testbot content=noindex><p>",
			},
			second:    answer{304, "", ""},
			wantState: robotsmw.PageComplete,
		},
		"in a 304 that is not ours": {
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
				client, _ := with(t, &Transport{}, tt.first, tt.second, answer{304, "", ""})
				get(t, client)
				for range 2 {
					resp, visit := get(t, client)
					says := robotsmw.PageDirectives(resp)
					if !visit.Directives.NoIndex() || !says.NoIndex() || says.State != tt.wantState {
						t.Errorf("%s: Of says noindex=%v, PageDirectives %v, %v",
							resp.Status, visit.Directives.NoIndex(), says.NoIndex(), says.State)
					}
					if !visit.Unchanged {
						return
					}
				}
			})
		})
	}
}

// What a 304 repeats is kept once.
func TestDirectives_DoNotGrow(t *testing.T) {
	client, _ := with(t, &Transport{}, answer{
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
		t.Errorf("%d rules are kept, want 1", n)
	}
}

// A page that the caller closed early may have a noindex further on.
func TestClosedEarly(t *testing.T) {
	html := "<p>" + strings.Repeat("x", 1<<20)
	for name, tt := range map[string]struct {
		header, body string
		read         int
		want         string
	}{
		"an HTML page":       {"Content-Type: text/html", html, 10, ""},
		"past the window":    {"Content-Type: text/html", html, 900 << 10, `"a"`},
		"a text":             {"Content-Type: text/plain", html, 10, `"a"`},
		"an unknown coding":  {"Content-Type: text/html\nContent-Encoding: br", html, 10, `"a"`},
		"by its length read": {"Content-Type: text/html\nContent-Length: 3", "<p>", 3, `"a"`},
	} {
		t.Run(name, func(t *testing.T) {
			client, site := with(t, &Transport{}, answer{200, "Etag: \"a\"\n" + tt.header, tt.body})
			resp, err := client.Get(page)
			if err != nil {
				t.Fatal(err)
			}
			io.ReadFull(resp.Body, make([]byte, tt.read))
			resp.Body.Close()
			get(t, client)
			if got := site.asked[1].Get("If-None-Match"); got != tt.want {
				t.Errorf("asked with %q, want %q", got, tt.want)
			}
		})
	}
}

// The second request has other fields than the first one.
func TestVariants(t *testing.T) {
	for name, tt := range map[string]struct {
		header        string
		first, second []string
		fresh         bool
		match         string
	}{
		"nothing varies": {"", nil, []string{"Accept-Language: fr"}, true, ""},
		"another language": {
			header: "Vary: Accept-Language",
			first:  []string{"Accept-Language: de"},
			second: []string{"Accept-Language: fr"},
		},
		"the same language": {
			header: "Vary: accept-language, Accept",
			first:  []string{"Accept-Language: de"},
			second: []string{"Accept-Language: de"},
			fresh:  true,
		},
		"a cookie": {"", nil, []string{"Cookie: a=b"}, false, ""},
		"the same cookie": {
			first:  []string{"Cookie: a=b"},
			second: []string{"Cookie: a=b"},
			fresh:  true,
		},
		"authorized, not public": {"", nil, []string{"Authorization: x"}, false, ""},
		"authorized, public": {
			header: "Cache-Control: public",
			second: []string{"Authorization: x"},
			fresh:  true,
		},
		"authorized first, not public": {
			first:  []string{"Authorization: x"},
			second: []string{"Authorization: x"},
		},
		"no-cache asks": {
			second: []string{"Cache-Control: no-cache"},
			match:  `"a"`,
		},
		"Pragma: no-cache asks": {"", nil, []string{"Pragma: no-cache"}, false, `"a"`},
		"max-age=0 asks": {
			second: []string{"Cache-Control: max-age=0"},
			match:  `"a"`,
		},
		"no-store passes": {
			second: []string{"Cache-Control: no-store"},
		},
		"a Range passes": {"", nil, []string{"Range: bytes=0-1"}, false, ""},
		"validators of one's own pass": {
			second: []string{`If-None-Match: "own"`},
			match:  `"own"`,
		},
		"another If-Modified-Since passes": {
			second: []string{"If-Modified-Since: Thu, 01 Jan 1998 00:00:00 GMT"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			client, site := with(t, &Transport{}, answer{
				status: 200,
				header: "Etag: \"a\"\nCache-Control: max-age=60\n" + tt.header,
				body:   "page",
			})
			get(t, client, tt.first...)
			get(t, client, tt.second...)
			switch {
			case tt.fresh != (site.count() == 1):
				t.Errorf("%d requests were sent", site.count())
			case !tt.fresh && site.asked[1].Get("If-None-Match") != tt.match:
				t.Errorf("asked with %q, want %q", site.asked[1].Get("If-None-Match"), tt.match)
			}
		})
	}
}

// With a cookie jar, the first answer's cookie makes the second request another
// one; the third one is like the second.
func TestVariants_OfACookieJar(t *testing.T) {
	client, site := with(t, &Transport{}, answer{
		status: 200,
		header: "Etag: \"a\"\nSet-Cookie: a=b",
		body:   "page",
	}, answer{200, "Etag: \"b\"", "page"})
	client.Jar, _ = cookiejar.New(nil)
	get(t, client)
	get(t, client)
	get(t, client)
	if got := []string{site.asked[1].Get("If-None-Match"), site.asked[2].Get("If-None-Match")}; got[0] != "" || got[1] != `"b"` {
		t.Errorf("asked with %q", got)
	}
}

func TestOtherMethods(t *testing.T) {
	for method, asks := range map[string]bool{"HEAD": false, "OPTIONS": false, "POST": true, "PUT": true, "PATCH": true, "DELETE": true} {
		client, site := with(t, &Transport{}, answer{
			status: 200,
			header: "Etag: \"a\"\nCache-Control: max-age=60",
			body:   "page",
		}, answer{204, "Etag: \"no\"", ""}, answer{304, "", ""})
		get(t, client)
		resp, _ := do(t, client, method)
		if _, ok := Of(resp); ok {
			t.Errorf("%s: Of knows a Visit", method)
		}
		get(t, client)
		if asks != (site.count() == 3) || asks && site.asked[2].Get("If-None-Match") != `"a"` {
			t.Errorf("%s: afterwards %d requests were sent", method, site.count()-2)
		}
	}
}

func TestOtherMethods_ThatFail(t *testing.T) {
	client, site := with(t, &Transport{}, answer{
		status: 200,
		header: "Etag: \"a\"\nCache-Control: max-age=60",
		body:   "page",
	}, answer{500, "", ""})
	get(t, client)
	do(t, client, "POST")
	if get(t, client); site.count() != 2 {
		t.Error("a POST that failed made the page stale")
	}
}

// A GET that was under way during a POST may have brought the page before it.
func TestGetDuringAPost(t *testing.T) {
	t.Run("memory", func(t *testing.T) { getDuringAPost(t, &Transport{}) })
	t.Run("Store", func(t *testing.T) { getDuringAPost(t, &Transport{Store: &faultyStore{}}) })
}

func getDuringAPost(t *testing.T, tr *Transport) {
	synctest.Test(t, func(t *testing.T) {
		client, site := with(t, tr, answer{
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
		if get(t, client); site.count() != 3 || site.asked[2].Get("If-None-Match") != "" {
			t.Errorf("%d requests, the last with %q",
				site.count(), site.asked[2].Get("If-None-Match"))
		}
	})
}

// An older answer that ends later does not replace a newer one.
func TestTwoGetsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, site := with(t, &Transport{}, answer{
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
		if get(t, client); site.asked[2].Get("If-None-Match") != `"b"` {
			t.Errorf("asked with %q", site.asked[2].Get("If-None-Match"))
		}
	})
}

func TestClockSetBack(t *testing.T) {
	now := time.Now()
	k := cacheEntry{
		Page:      &cachedResponse{Header: "\n\n\n\n", Until: now.Add(time.Hour).UnixNano()},
		Requested: now.UnixNano(),
	}
	req, _ := http.NewRequest("GET", page, nil)
	if k.fresh(req, now.Add(time.Minute)) == nil {
		t.Error("not fresh a minute later")
	}
	if k.fresh(req, now.Add(-24*time.Hour)) != nil {
		t.Error("fresh a day before it came")
	}
}

// The context of a response may be used for another request.
func TestContextOfAnEarlierResponse(t *testing.T) {
	client, site := with(t, &Transport{}, answer{
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
	if _, ok := Of(other); ok || robotsmw.PageDirectives(other).NoIndex() {
		t.Error("the answer to a POST has what the page says")
	}
	site.answers = []answer{{304, "", ""}}
	own, _ := http.NewRequestWithContext(resp.Request.Context(), "GET", page+"/other", nil)
	own.Header.Set("If-None-Match", `"b"`)
	if other, err = client.Do(own); err != nil || other.StatusCode != 304 || robotsmw.PageDirectives(other).NoIndex() {
		t.Errorf("%v, %v: another page has what the page says", other, err)
	}
}

// The request's context has ended: a fresh page is no answer.
func TestEndedContext(t *testing.T) {
	client, _ := with(t, &Transport{}, answer{200, "Cache-Control: max-age=60", "page"})
	get(t, client)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req, _ := http.NewRequestWithContext(ctx, "GET", page, nil)
	if _, err := client.Transport.RoundTrip(req); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestRequestIsNotChanged(t *testing.T) {
	client, _ := with(t, &Transport{}, answer{200, "Etag: \"a\"", "page"})
	get(t, client)
	req, _ := http.NewRequest("GET", page, nil)
	req.Header = nil
	resp, err := client.Transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if req.Header != nil {
		t.Errorf("the request's header is %v", req.Header)
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
			visit(0) // the page that is used stays
		}
		m := tr.cache.(*memoryCache)
		if len(m.entries) > 12 || len(m.entries) < 8 || m.entries["http://site.example/000"] == nil {
			t.Errorf("%s: %d pages are known, %d bytes", name, len(m.entries), m.bytes)
		}
		m.put("http://site.example/000", cacheEntry{}, time.Now())
		for _, e := range m.entries {
			m.remove(e)
		}
		if m.bytes != 0 || m.recency.Len() != 0 {
			t.Errorf("%s: %d bytes are left", name, m.bytes)
		}
	}
}

func TestStore_OutlivesTheProcess(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		store, err := diskstore.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		client, s := with(t, &Transport{
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
		if i > 0 && (s.asked[0].Get("If-None-Match") != `"a"` || !visit.Unchanged || !visit.Directives.NoIndex()) {
			t.Errorf("process %d: asked with %v, got %+v", i, s.asked[0], visit)
		}
	}
}

// A store in memory, with faults.
type faultyStore struct {
	mu     sync.Mutex
	values map[string][]byte
	ttl    time.Duration
	fail   error
	hang   bool
	cut    bool
	calls  int
}

func (s *faultyStore) begin(ctx context.Context) error {
	s.mu.Lock()
	s.calls++
	hang, err := s.hang, s.fail
	s.mu.Unlock()
	if hang {
		time.Sleep(time.Hour) // deaf to the context
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
	if s.cut {
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
	s.values[key], s.ttl = value, ttl
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

func (s *faultyStore) set(f func()) { s.mu.Lock(); f(); s.mu.Unlock() }

func TestStore_ThatFails(t *testing.T) {
	for name, fault := range map[string]func(*faultyStore){
		"an error": func(s *faultyStore) { s.fail = errors.New("full") },
		"it hangs": func(s *faultyStore) { s.hang = true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &faultyStore{}
				client, site := with(t, &Transport{
					Store:  store,
					Logger: slog.New(slog.DiscardHandler),
				}, answer{200, "Etag: \"a\"", "page"})
				get(t, client)
				store.set(func() { fault(store) })
				start := time.Now()
				for range 200 {
					get(t, client)
					time.Sleep(time.Second)
				}
				if took := time.Since(start) - 200*time.Second; took > 10*time.Second {
					t.Errorf("the Store cost %v", took)
				}
				var calls int
				store.set(func() { calls = store.calls })
				if calls > 50 || site.count() != 201 {
					t.Errorf("%d calls of the Store, %d requests", calls, site.count())
				}
				store.set(func() { store.hang, store.fail = false, nil })
				time.Sleep(time.Minute)
				get(t, client) // notices that the Store answers again
				time.Sleep(time.Second)
				get(t, client)
				get(t, client)
				if site.asked[len(site.asked)-1].Get("If-None-Match") != `"a"` {
					t.Error("the Store is not used again")
				}
				time.Sleep(2 * time.Hour) // for the calls that hang
			})
		})
	}
}

// An answer counts also if the end of its call is seen at the same moment.
func TestStore_AnswersAreNotLost(t *testing.T) {
	k := &storeCache{store: &faultyStore{}, logger: slog.New(slog.DiscardHandler)}
	lost := 0
	for range 20_000 {
		if _, err := k.call(t.Context(), "get", func(context.Context) ([]byte, error) { return nil, nil }); err != nil {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("%d of 20,000 answers were lost", lost)
	}
}

func TestStore_InvalidValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faultyStore{}
		client, site := with(t, &Transport{
			Store: store,
		}, answer{200, "Cache-Control: max-age=5184000", "page"})
		get(t, client)
		if store.ttl < 90*24*time.Hour-time.Minute {
			t.Errorf("kept for %v, want the 60 days and 30 more", store.ttl)
		}
		store.cut = true
		if get(t, client); site.count() != 2 {
			t.Error("a value that was cut short was used")
		}
		store.cut = false
		for _, value := range store.values {
			store.values[storeKey("http://site.example/other")] = value
		}
		resp, err := client.Get("http://site.example/other")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if site.count() != 3 {
			t.Error("the value of another URL was used")
		}
	})
}

// A Store may have been written by another program. An entry that lacks a part,
// or has a validator that cannot be sent, is ignored.
func TestStore_WithOtherFields(t *testing.T) {
	for name, head := range map[string]string{"too few": `"a"`, "too many": "\"a\"\n\n\n\n\n", "a control character": "\"a\rb\"\n\n\n\n"} {
		store := &faultyStore{}
		client, site := with(t, &Transport{Store: store}, answer{200, "Etag: \"a\"", "page"})
		get(t, client)
		for key, value := range store.values {
			var s storedEntry
			if err := json.Unmarshal(value, &s); err != nil {
				t.Fatal(err)
			}
			s.Page.Header = head
			store.values[key], _ = json.Marshal(s)
		}
		site.answers = []answer{{304, "Vary: Accept\nLast-Modified: Tue, 24 Nov 2020 00:00:00 GMT", ""}}
		if resp, _ := get(t, client); site.count() != 2 || site.asked[1].Get("If-None-Match") != "" {
			t.Errorf("%s: status %d, asked with %v", name, resp.StatusCode, site.asked)
		}
	}
}

func TestStore_WithoutValidators(t *testing.T) {
	store := &faultyStore{}
	client, _ := with(t, &Transport{
		Store: store,
	}, answer{200, "Etag: \"a\"", "page"}, answer{404, "", ""})
	get(t, client)
	if store.ttl < minRetention || len(store.values) != 1 {
		t.Errorf("%d values, kept for %v", len(store.values), store.ttl)
	}
	if get(t, client); len(store.values) != 0 {
		t.Error("a page that is gone is still in the Store")
	}
}
