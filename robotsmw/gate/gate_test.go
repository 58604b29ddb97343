package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/goodbots/courtesy/integration_test/testmain"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

func TestMain(m *testing.M) {
	testmain.Quiet()
	goleak.VerifyTestMain(m)
}

// newGate returns a gate to an internet in memory.
func newGate(t *testing.T, web *robotstest.Internet, limiter *politeness.Limiter) *Handler {
	t.Helper()
	h, err := New(robotsmw.Options{
		UserAgent: "GateBot/1.0 (+https://example.com/bot)",
		Base:      web,
		Limiter:   limiter,
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// request sends a request from loopback. The fields are header fields such as
// "Accept: text/html". "From" sets the address of the client.
func request(h http.Handler, method, url string, fields ...string) *httptest.ResponseRecorder {
	return requestWithin(context.Background(), h, method, url, fields...)
}

func requestWithin(
	ctx context.Context, h http.Handler, method, url string, fields ...string,
) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, method, url, nil)
	r.Host = "127.0.0.1:8500"
	r.RemoteAddr = "127.0.0.1:50000"
	for _, line := range fields {
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "Host":
			r.Host = value
		case "From":
			r.RemoteAddr = value
		default:
			r.Header.Add(name, value)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// requestURL returns the target of a request about a page.
func requestURL(path, page string) string { return path + "?url=" + url.QueryEscape(page) }

// waitFor returns the response to a request for a slot of shop.example.
func waitFor(t *testing.T, h http.Handler) verdict {
	t.Helper()
	return read(t, request(h, "GET", requestURL("/check", "http://shop.example/")+"&wait=1"))
}

// read returns the verdict in a response.
func read(t *testing.T, w *httptest.ResponseRecorder) (v verdict) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("the response with status %d is %q, want JSON: %v", w.Code, w.Body, err)
	}
	return v
}

var shop = robotstest.Site{
	"/robots.txt": "User-agent: GateBot\nCrawl-delay: 2\nDisallow: /private",
	"/":           "<p>shop",
	"/private":    "secret",
}

func TestCheck(t *testing.T) {
	for name, tt := range map[string]struct {
		url  string
		want verdict
	}{
		"an allowed URL": {
			url: "http://shop.example/",
			want: verdict{
				Allowed:    true,
				Reason:     "no-match",
				RobotsURL:  "http://shop.example/robots.txt",
				CrawlDelay: 2,
			},
		},
		"a disallowed URL": {
			url: "http://shop.example/private?a=b",
			want: verdict{
				Reason:     "rule",
				Rule:       "/private",
				Line:       3,
				RobotsURL:  "http://shop.example/robots.txt",
				CrawlDelay: 2,
			},
		},
		"no robots.txt": {
			url: "http://bare.example/",
			want: verdict{
				Allowed:   true,
				Reason:    "unavailable",
				RobotsURL: "http://bare.example/robots.txt",
			},
		},
		"an unreachable robots.txt": {
			url:  "http://down.example/",
			want: verdict{Reason: "unreachable", RobotsURL: "http://down.example/robots.txt"},
		},
		"an unknown host": {
			url:  "http://nowhere.example/",
			want: verdict{Reason: "unreachable", RobotsURL: "http://nowhere.example/robots.txt"},
		},
		"/robots.txt": {
			url:  "http://shop.example/robots.txt",
			want: verdict{Allowed: true, Reason: "robots-txt"},
		},
		"a URL with a user": {
			url: "http://a:b@bare.example/#top",
			want: verdict{
				Allowed:   true,
				Reason:    "unavailable",
				RobotsURL: "http://bare.example/robots.txt",
			},
		},
		"a host in upper case": {
			url: "http://SHOP.example/private",
			want: verdict{
				Reason:     "rule",
				Rule:       "/private",
				Line:       3,
				RobotsURL:  "http://shop.example/robots.txt",
				CrawlDelay: 2,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var web robotstest.Internet
				web.Handle("shop.example", shop)
				web.Handle("bare.example", robotstest.Status(404))
				web.Handle("down.example", robotstest.Status(503))
				h := newGate(t, &web, nil)
				w := request(h, "GET", requestURL("/check", tt.url))
				got := read(t, w)
				if w.Code != 200 {
					t.Errorf("the status is %d, want 200", w.Code)
				}
				isUnreachable := got.Reason == "unreachable"
				if isUnreachable && (got.Until == nil || time.Until(*got.Until) <= 0) {
					t.Errorf("until is %v, want a time in the future", got.Until)
				}
				if hasError := got.Error != ""; hasError != isUnreachable {
					t.Errorf("the error is %q, want one: %t", got.Error, isUnreachable)
				}
				got.Until = nil
				got.Error = ""
				if got != tt.want {
					t.Errorf("the verdict is\n%+v, want\n%+v", got, tt.want)
				}
			})
		})
	}
}

// TestCheck_Until checks that the verdict contains when the host is due.
func TestCheck_Until(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", shop)
		h := newGate(t, &web, nil)
		request(h, "GET", requestURL("/fetch", "http://shop.example/"))
		v := read(t, request(h, "GET", requestURL("/check", "http://shop.example/")))
		if v.Until == nil || time.Until(*v.Until) != 2*time.Second {
			t.Errorf("until is %v, want a time in two seconds", v.Until)
		}
	})
}

// TestCheck_DisallowedHasNoUntil checks that the verdict on a disallowed URL
// has no until, even if the host is not due, because a retry would be useless.
func TestCheck_DisallowedHasNoUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", shop)
		h := newGate(t, &web, nil)
		request(h, "GET", requestURL("/fetch", "http://shop.example/"))
		for _, query := range []string{"", "&wait=1"} {
			v := read(t, request(h, "GET", requestURL("/check", "http://shop.example/private")+query))
			if v.Reason != "rule" || v.Until != nil {
				t.Errorf("with the query %q, the verdict is %+v, want the reason rule and no until", query, v)
			}
		}
	})
}

func TestBadRequests(t *testing.T) {
	var web robotstest.Internet
	h := newGate(t, &web, nil)
	for name, tt := range map[string]struct {
		method, target string
		status         int
	}{
		"no parameter url":        {"GET", "/check", 400},
		"two parameters url":      {"GET", "/check?url=http://a.example/&url=http://b.example/", 400},
		"an ftp URL":              {"GET", "/fetch?url=ftp://a.example/", 400},
		"a file URL":              {"GET", "/fetch?url=file:///etc/passwd", 400},
		"a URL without a host":    {"GET", "/fetch?url=http:///path", 400},
		"an opaque URL":           {"GET", "/fetch?url=http:a.example", 400},
		"a URL without a scheme":  {"GET", "/check?url=a.example", 400},
		"an invalid escape":       {"GET", "/check?url=%zz", 400},
		"a line break in the URL": {"GET", "/fetch?url=http://a.example/%0d%0aX:y", 400},
		"a URL that is too long": {
			method: "GET",
			target: "/check?url=http://a.example/" + strings.Repeat("a", 8<<10),
			status: 400,
		},
		"an invalid host":                         {"GET", "/check?url=http://" + strings.Repeat("a", 300) + "/", 400},
		"check port 99999":                        {"GET", "/check?url=http://a.example:99999/", 400},
		"check port 65536":                        {"GET", "/check?url=https://a.example:65536/", 400},
		"wait port 99999":                         {"GET", "/check?url=http://a.example:99999/&wait=1", 400},
		"fetch port 99999":                        {"GET", "/fetch?url=http://a.example:99999/", 400},
		"fetch port 65536":                        {"GET", "/fetch?url=http://[2001:db8::1]:65536/", 400},
		"an unknown path":                         {"GET", "/", 404},
		"a path with //":                          {"GET", "//check?url=http://a.example/", 404},
		"a path below /check":                     {"GET", "/check/", 404},
		"POST /check":                             {"POST", "/check?url=http://a.example/", 405},
		"HEAD /fetch":                             {"HEAD", "/fetch?url=http://a.example/", 405},
		"GET /done":                               {"GET", "/done?id=x", 405},
		"done without an id":                      {"POST", "/done", 400},
		"done with an unknown id":                 {"POST", "/done?id=x", 404},
		"done with an invalid status":             {"POST", "/done?id=x&status=1000", 400},
		"done with a status that is not a number": {"POST", "/done?id=x&status=ok", 400},
	} {
		w := request(h, tt.method, tt.target)
		if w.Code != tt.status {
			t.Errorf("%s: the status is %d, want %d", name, w.Code, tt.status)
		}
		if tt.status == 400 && read(t, w).Error == "" {
			t.Errorf("%s: the response has no error, want one with the reason", name)
		}
	}
	if n := len(web.Log()); n != 0 {
		t.Errorf("%d requests were sent, want none", n)
	}
}

// TestAccess checks which clients have access: those on loopback, except pages
// in a browser, and those with the token.
func TestAccess(t *testing.T) {
	const denied = "gate: access requires a loopback address or the token\n"
	for name, tt := range map[string]struct {
		token     string // of the Handler
		fields    []string
		hasAccess bool
	}{
		"a client on loopback":                   {"", nil, true},
		"a client on ::1":                        {"", []string{"From: [::1]:5000", "Host: [::1]:8500"}, true},
		"a client on a mapped loopback address":  {"", []string{"From: [::ffff:127.0.0.1]:5000"}, true},
		"the Host localhost":                     {"", []string{"Host: localhost:8500"}, true},
		"a client on loopback if a token is set": {"secret", nil, true},
		"a client elsewhere":                     {"", []string{"From: 192.0.2.1:5000"}, false},
		"a client with the token": {
			token:     "secret",
			fields:    []string{"From: 192.0.2.1:5000", "Authorization: Bearer secret"},
			hasAccess: true,
		},
		"a client with another token": {
			token:  "secret",
			fields: []string{"From: 192.0.2.1:5000", "Authorization: Bearer secre"},
		},
		"the scheme in lower case": {
			token:     "secret",
			fields:    []string{"From: 192.0.2.1:5000", "Authorization: bearer secret"},
			hasAccess: true,
		},
		"the scheme in upper case": {
			token:     "secret",
			fields:    []string{"From: 192.0.2.1:5000", "Authorization: BEARER  secret"},
			hasAccess: true,
		},
		"the token without a scheme": {
			token:  "secret",
			fields: []string{"From: 192.0.2.1:5000", "Authorization: secret"},
		},
		"the token after a space": {
			token:  "secret",
			fields: []string{"From: 192.0.2.1:5000", "Authorization:  secret"},
		},
		"the token with another scheme": {
			token:  "secret",
			fields: []string{"From: 192.0.2.1:5000", "Authorization: Basic secret"},
		},
		"the token with a scheme similar to Bearer": {
			token:  "secret",
			fields: []string{"From: 192.0.2.1:5000", "Authorization: Bearers secret"},
		},
		"the token with two schemes": {
			token:  "secret",
			fields: []string{"From: 192.0.2.1:5000", "Authorization: Bearer Bearer secret"},
		},
		"an empty token if none is set": {
			fields: []string{"From: 192.0.2.1:5000", "Authorization: Bearer "},
		},
		"a client elsewhere that claims to be on loopback": {
			fields: []string{
				"From: 192.0.2.1:5000",
				"X-Forwarded-For: 127.0.0.1",
				"Forwarded: for=127.0.0.1",
			},
		},
		"an invalid address":         {"", []string{"From: @"}, false},
		"DNS rebinding":              {"", []string{"Host: evil.example"}, false},
		"a Host similar to loopback": {"", []string{"Host: 127.0.0.1.evil.example"}, false},
		"no Host":                    {"", []string{"Host: "}, false},
		"a page of another site":     {"", []string{"Sec-Fetch-Site: cross-site"}, false},
		"a page on another port":     {"", []string{"Sec-Fetch-Site: same-site"}, false},
		"a page in an older browser": {"", []string{"Origin: https://evil.example"}, false},
		"a sandboxed page":           {"", []string{"Origin: null"}, false},
		"a URL typed into a browser": {"", []string{"Sec-Fetch-Site: none"}, true},
		"DNS rebinding with the token": {
			token:     "secret",
			fields:    []string{"Host: gate.example", "Authorization: Bearer secret"},
			hasAccess: true,
		},
	} {
		var web robotstest.Internet
		h := newGate(t, &web, nil)
		h.Token = tt.token
		for _, r := range []struct{ method, url string }{
			{"GET", "/check"},
			{"GET", "/fetch?url=http://a.example/"},
			{"POST", "/done?id=1"},
			{"PUT", "/nothing"},
		} {
			w := request(h, r.method, r.url, tt.fields...)
			if got := w.Code != 401; got != tt.hasAccess {
				t.Errorf("%s: %s %s has status %d, want access: %t", name, r.method, r.url, w.Code, tt.hasAccess)
			}
			if tt.hasAccess {
				continue
			}
			if got := w.Body.String(); got != denied {
				t.Errorf("%s: %s %s returns %q, want %q", name, r.method, r.url, got, denied)
			}
			if got := w.Header().Get("WWW-Authenticate"); got != "Bearer" {
				t.Errorf("%s: %s %s has the challenge %q, want Bearer", name, r.method, r.url, got)
			}
		}
	}
}

// TestWait checks a client that waits for a slot, sends its request itself, and
// then releases the slot.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", shop)
		h := newGate(t, &web, nil)
		start := time.Now()
		for i := range 4 {
			v := read(t, request(h, "GET", requestURL("/check", "http://shop.example/")+"&wait=1"))
			if !v.Allowed || v.ID == "" || v.CrawlDelay != 2 {
				t.Fatalf("the verdict is %+v, want allowed with an id and a delay of 2", v)
			}
			if w := request(h, "POST", "/done?status=200&id="+v.ID); w.Code != 204 || w.Body.Len() > 0 {
				t.Fatalf("/done returns status %d and %q, want 204 and no body", w.Code, w.Body)
			}
			if w := request(h, "POST", "/done?status=200&id="+v.ID); w.Code != 404 {
				t.Errorf("a second /done returns status %d, want 404", w.Code)
			}
			want := time.Duration(2*i+1) * time.Second // after the request for robots.txt
			if got := time.Since(start); got != want {
				t.Errorf("slot %d was granted after %v, want %v", i, got, want)
			}
		}
		if n := len(web.Log()); n != 1 {
			t.Errorf("the gate sent %d requests, want 1 for robots.txt", n)
		}
	})
}

// TestWait_ResponsesOfTheSite checks how the status and the Retry-After in
// /done delay the next request to the host.
func TestWait_ResponsesOfTheSite(t *testing.T) {
	for query, want := range map[string]time.Duration{
		"":                               2 * time.Second, // the Crawl-delay
		"&status=200":                    2 * time.Second,
		"&status=429&retry_after=100":    100 * time.Second,
		"&status=503&retry_after=100":    100 * time.Second,
		"&status=429&retry_after=soon":   5 * time.Second, // at least BackOff
		"&status=200&retry_after=999999": 2 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			var web robotstest.Internet
			web.Handle("shop.example", shop)
			h := newGate(t, &web, nil)
			v := read(t, request(h, "GET", requestURL("/check", "http://shop.example/")+"&wait=1"))
			if w := request(h, "POST", "/done?id="+v.ID+query); w.Code != 204 {
				t.Fatalf("/done returns status %d, want 204", w.Code)
			}
			v = read(t, request(h, "GET", requestURL("/check", "http://shop.example/")))
			if v.Until == nil {
				t.Fatalf("after /done with %q, the verdict has no until, want %v from now", query, want)
			}
			if got := time.Until(*v.Until); got < want || got > want*13/10 {
				t.Errorf("after /done with %q, the host is due in %v, want %v to %v",
					query, got, want, want*13/10)
			}
		})
	}
}

// TestWait_Disallowed checks that a client gets no slot if the URL is
// disallowed or robots.txt is unreachable.
func TestWait_Disallowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", shop)
		web.Handle("down.example", robotstest.Status(503))
		h := newGate(t, &web, nil)
		for _, page := range []string{"http://shop.example/private", "http://down.example/"} {
			w := request(h, "GET", requestURL("/check", page)+"&wait=1")
			if v := read(t, w); v.Allowed || v.ID != "" || w.Code != 200 {
				t.Errorf("%s: got status %d and %+v, want 200 and neither allowed nor an id", page, w.Code, v)
			}
		}
	})
}

// TestWait_TooLong checks that a request that would wait for more than five
// minutes is rejected immediately, with the time at which the host is due.
func TestWait_TooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", shop)
		h := newGate(t, &web, nil)
		v := read(t, request(h, "GET", requestURL("/check", "http://shop.example/")+"&wait=1"))
		request(h, "POST", "/done?status=429&retry_after=3600&id="+v.ID)
		start := time.Now()
		v = read(t, request(h, "GET", requestURL("/check", "http://shop.example/")+"&wait=1"))
		if !v.Allowed || v.ID != "" {
			t.Errorf("the verdict is %+v, want allowed without an id", v)
		}
		if v.Until == nil || time.Until(*v.Until) != time.Hour {
			t.Errorf("until is %v, want a time in an hour", v.Until)
		}
		w := request(h, "GET", requestURL("/fetch", "http://shop.example/"))
		if got := w.Header().Get("Retry-After"); w.Code != 503 || got != "3600" {
			t.Errorf("/fetch returns status %d and Retry-After %q, want 503 and 3600", w.Code, got)
		}
		if v := read(t, w); v.Until == nil {
			t.Errorf("/fetch returns %+v, want an until", v)
		}
		if waited := time.Since(start); waited > 0 {
			t.Errorf("the requests waited for %v, want no wait", waited)
		}
	})
}

// TestWait_Lease checks that a slot that is not released ends with its lease,
// and that its id is invalid then.
func TestWait_Lease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", shop)
		h := newGate(t, &web, &politeness.Limiter{Lease: time.Minute})
		first := read(t, request(h, "GET", requestURL("/check", "http://shop.example/")+"&wait=1"))
		start := time.Now()
		second := read(t, request(h, "GET", requestURL("/check", "http://shop.example/")+"&wait=1"))
		if second.ID == "" || time.Since(start) != time.Minute {
			t.Fatalf("the second verdict after %v is %+v, want an id after a minute", time.Since(start), second)
		}
		synctest.Wait()
		if w := request(h, "POST", "/done?status=200&id="+first.ID); w.Code != 404 {
			t.Errorf("/done with the expired id returns status %d, want 404", w.Code)
		}
		go request(h, "POST", "/done?status=200&id="+second.ID)
		start = time.Now()
		third := read(t, request(h, "GET", requestURL("/check", "http://shop.example/")+"&wait=1"))
		if third.ID == "" || time.Since(start) != 2*time.Second {
			t.Errorf("the third verdict after %v is %+v, want an id after 2s", time.Since(start), third)
		}
	})
}

// TestWait_LeaseReleasesSlot checks that a slot is released when its lease
// ends, even if there is no other request to the host.
func TestWait_LeaseReleasesSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", shop)
		within := &politeness.Limiter{Lease: time.Hour}
		limiter := &politeness.Limiter{Lease: time.Minute, Within: within}
		h := newGate(t, &web, limiter)
		if v := waitFor(t, h); v.ID == "" {
			t.Fatalf("the verdict is %+v, want an id", v)
		}
		for _, tt := range []struct {
			after time.Duration
			want  int
		}{{59 * time.Second, 1}, {time.Second, 0}} {
			time.Sleep(tt.after)
			synctest.Wait()
			for name, l := range map[string]*politeness.Limiter{"Limiter": limiter, "Within": within} {
				if got := l.Stats().InFlight; got != tt.want {
					t.Errorf("after %v more, %s has %d requests in flight, want %d",
						tt.after, name, got, tt.want)
				}
			}
		}
	})
}

// TestWait_Recheck checks that a request is checked again if robots.txt changes
// while it waits.
func TestWait_Recheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		rules := "User-agent: *\nDisallow:"
		var web robotstest.Internet
		web.Handle("shop.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			w.Header().Set("Cache-Control", "max-age=300")
			io.WriteString(w, rules)
		}))
		h := newGate(t, &web, &politeness.Limiter{Lease: time.Hour})
		first := read(t, request(h, "GET", requestURL("/check", "http://shop.example/")+"&wait=1"))
		mu.Lock()
		rules = "User-agent: *\nDisallow: /"
		mu.Unlock()
		time.Sleep(200 * time.Second)
		go func() {
			time.Sleep(150 * time.Second)
			request(h, "POST", "/done?id="+first.ID)
		}()
		start := time.Now()
		v := read(t, request(h, "GET", requestURL("/check", "http://shop.example/")+"&wait=1"))
		isDisallowed := !v.Allowed && v.ID == "" && v.Rule == "/"
		if !isDisallowed || time.Since(start) > 160*time.Second {
			t.Errorf("the verdict after %v is %+v, want one that the new rule disallows within 160s",
				time.Since(start), v)
		}
		if n := len(web.Log()); n != 2 {
			t.Errorf("%d requests were sent, want 2 for robots.txt", n)
		}
	})
}

// TestWait_RecheckCrawlDelay checks that requests obey a Crawl-delay that
// robots.txt did not have when they began to wait.
func TestWait_RecheckCrawlDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rules atomic.Value
		rules.Store("User-agent: *\nDisallow:")
		var web robotstest.Internet
		web.Handle("shop.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "max-age=300")
			io.WriteString(w, rules.Load().(string))
		}))
		h := newGate(t, &web, &politeness.Limiter{Lease: time.Hour})
		first := waitFor(t, h)
		rules.Store("User-agent: *\nCrawl-delay: 40")
		time.Sleep(200 * time.Second)
		starts := make(chan time.Time, 2)
		for range 2 {
			go func() {
				v := waitFor(t, h)
				starts <- time.Now()
				request(h, "POST", "/done?id="+v.ID)
			}()
		}
		time.Sleep(50 * time.Second)
		request(h, "GET", requestURL("/check", "http://shop.example/")) // refreshes robots.txt
		time.Sleep(10 * time.Second)
		request(h, "POST", "/done?id="+first.ID)
		a := <-starts
		b := <-starts
		if interval := b.Sub(a); interval != 40*time.Second {
			t.Errorf("the interval between two requests is %v, want 40s", interval)
		}
	})
}

// TestWait_ObserverReceivesDecision checks that the context of the Observer
// contains the decision on a request that waits for a slot, as for /fetch.
// Package evidence records it.
func TestWait_ObserverReceivesDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", shop)
		var granted []string
		limiter := &politeness.Limiter{Observer: &politeness.Observer{
			Granted: func(ctx context.Context, e politeness.Event) {
				if !e.Exempt {
					granted = append(granted, fmt.Sprint(e.URL, " ", robotsmw.DecisionOf(ctx)))
				}
			},
		}}
		h := newGate(t, &web, limiter)
		v := read(t, request(h, "GET", requestURL("/check", "http://shop.example/")+"&wait=1"))
		request(h, "POST", "/done?status=200&id="+v.ID)
		request(h, "GET", requestURL("/fetch", "http://shop.example/"))
		if len(granted) != 2 || granted[0] != granted[1] || !strings.Contains(granted[0], "allowed") {
			t.Errorf("the Observer receives %q, want the same allowed decision twice", granted)
		}
	})
}

// TestWait_CanceledClients checks that clients that cancel their requests do
// not delay other clients.
func TestWait_CanceledClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", shop)
		h := newGate(t, &web, nil)
		ctx, cancel := context.WithCancel(t.Context())
		for range 900 {
			go requestWithin(ctx, h, "GET", requestURL("/check", "http://shop.example/")+"&wait=1")
			go requestWithin(ctx, h, "GET", requestURL("/fetch", "http://shop.example/"))
		}
		time.Sleep(100 * time.Millisecond)
		cancel()
		synctest.Wait()
		if n := h.active.Load(); n != 0 {
			t.Errorf("%d requests are active, want none", n)
		}
		start := time.Now()
		v := waitFor(t, h)
		if waited := time.Since(start); v.ID == "" || waited > 3*time.Second {
			t.Errorf("the verdict after %v is %+v, want an id within 3s", waited, v)
		}
	})
}

// TestWait_TooManySlots checks the limit of slots that are held at a time.
func TestWait_TooManySlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		h := newGate(t, &web, &politeness.Limiter{Delay: -1, Lease: time.Hour})
		hold := func(i int) *httptest.ResponseRecorder {
			name := fmt.Sprintf("h%d.example", i)
			web.Handle(name, robotstest.Status(404))
			return request(h, "GET", requestURL("/check", "http://"+name+"/")+"&wait=1")
		}
		var last verdict
		for i := range maxSlots {
			last = read(t, hold(i))
			if last.ID == "" {
				t.Fatalf("the verdict for slot %d is %+v, want an id", i, last)
			}
		}
		if w := hold(maxSlots); w.Code != 503 || w.Header().Get("Retry-After") == "" {
			t.Errorf("beyond the limit, /check returns status %d and the header %v, want 503 and Retry-After",
				w.Code, w.Header())
		}
		request(h, "POST", "/done?id="+last.ID)
		if w := hold(maxSlots + 1); w.Code != 200 {
			t.Errorf("after a slot was released, /check returns status %d, want 200", w.Code)
		}
		if n := h.limiter.Stats().InFlight; n != maxSlots {
			t.Errorf("%d slots are held, want %d", n, maxSlots)
		}
	})
}

// TestTooManyRequests checks the limit of active requests, which does not apply
// to /done.
func TestTooManyRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", robotstest.Site{})
		h := newGate(t, &web, &politeness.Limiter{Delay: -1, Lease: time.Hour})
		first := read(t, request(h, "GET", requestURL("/check", "http://shop.example/")+"&wait=1"))
		ctx, cancel := context.WithCancel(t.Context())
		for range maxRequests {
			go requestWithin(ctx, h, "GET", requestURL("/check", "http://shop.example/")+"&wait=1")
		}
		synctest.Wait()
		if w := request(h, "GET", requestURL("/check", "http://shop.example/")); w.Code != 503 {
			t.Errorf("beyond the limit, /check returns status %d, want 503", w.Code)
		}
		if w := request(h, "POST", "/done?id="+first.ID); w.Code != 204 {
			t.Errorf("beyond the limit, /done returns status %d, want 204", w.Code)
		}
		cancel()
	})
}

func TestFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/robots.txt":
				shop.ServeHTTP(w, r)
				return
			case "/moved":
				w.Header().Set("Location", "http://169.254.169.254/latest")
				w.WriteHeader(302)
				return
			}
			h := w.Header()
			h.Set("Connection", "X-Secret, Keep-Alive")
			h.Set("X-Secret", "1")
			h.Set("Keep-Alive", "timeout=5")
			h.Set("Access-Control-Allow-Origin", "*")
			h.Set("Access-Control-Allow-Credentials", "true")
			h.Set("Proxy-Authenticate", "Basic")
			h.Set("Upgrade", "h2c")
			h.Set("Courtesy-Decision", "forged")
			h.Set("Courtesy-Verdict", "forged")
			h.Set("Content-Type", "text/plain")
			h.Set("X-Robots-Tag", "noindex")
			h.Set("Content-Security-Policy", "default-src 'none'")
			w.WriteHeader(418)
			fmt.Fprintf(w, "%v", r.Header)
		}))
		h := newGate(t, &web, nil)
		w := request(
			h,
			"GET",
			requestURL("/fetch", "http://shop.example/tea"),
			"Cookie: a=b",
			"Authorization: Bearer x",
			"User-Agent: Evil",
			"X-Smuggled: 1",
			"Range: bytes=0-1",
		)
		if w.Code != 418 || w.Body.String() != "map[User-Agent:[GateBot/1.0 (+https://example.com/bot)]]" {
			t.Errorf("/fetch returns status %d and %q, want 418 and a header with only the User-Agent",
				w.Code, w.Body)
		}
		for name, want := range map[string]string{
			"X-Robots-Tag":                     "noindex",
			"Content-Type":                     "text/plain",
			"Courtesy-Verdict":                 "",
			"Connection":                       "",
			"X-Secret":                         "",
			"Keep-Alive":                       "",
			"Upgrade":                          "",
			"Proxy-Authenticate":               "",
			"Access-Control-Allow-Origin":      "",
			"Access-Control-Allow-Credentials": "",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		if got := w.Header().Values("Courtesy-Decision"); len(got) != 1 || !strings.Contains(got[0], "allowed") {
			t.Errorf("Courtesy-Decision is %q, want one line with allowed", got)
		}
		if got := w.Header().Values("Content-Security-Policy"); len(got) != 2 || got[1] != "sandbox" {
			t.Errorf("Content-Security-Policy is %q, want two lines, the second sandbox", got)
		}
		w = request(h, "GET", requestURL("/fetch", "http://shop.example/moved"))
		if got := w.Header().Get("Location"); w.Code != 302 || got != "http://169.254.169.254/latest" {
			t.Errorf("/fetch of a redirect returns status %d and Location %q, want it unchanged", w.Code, got)
		}
	})
}

// TestFetch_Failures checks the responses for pages that were not fetched.
func TestFetch_Failures(t *testing.T) {
	for name, tt := range map[string]struct {
		url           string
		status        int
		hasRetryAfter bool
	}{
		"a disallowed URL":                       {"http://shop.example/private", 451, false},
		"an unreachable robots.txt":              {"http://down.example/", 503, true},
		"a broken connection":                    {"http://broken.example/", 502, false},
		"a page that resets":                     {"http://resets.example/page", 502, false},
		"a status below 200":                     {"http://odd.example/page", 502, false},
		"a disallowed URL with dot segments":     {"http://shop.example/x/../private", 451, false},
		"a disallowed URL with an empty segment": {"http://shop.example//private", 451, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var web robotstest.Internet
				web.Handle("shop.example", shop)
				web.Handle("down.example", robotstest.Status(503))
				web.Handle("odd.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/robots.txt" {
						http.NotFound(w, r)
						return
					}
					robotstest.Raw("HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n").ServeHTTP(w, r)
				}))
				for _, host := range []string{"broken.example", "resets.example"} {
					web.Handle(host, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						if r.URL.Path == "/robots.txt" {
							http.NotFound(w, r)
							return
						}
						panic(http.ErrAbortHandler)
					}))
				}
				h := newGate(t, &web, nil)
				w := request(h, "GET", requestURL("/fetch", tt.url))
				v := read(t, w)
				if w.Code != tt.status || v.Allowed {
					t.Errorf("/fetch returns status %d and %+v, want %d and not allowed", w.Code, v, tt.status)
				}
				if w.Header().Get("Courtesy-Verdict") == "" {
					t.Error("the response has no Courtesy-Verdict, want one")
				}
				if got := w.Header().Get("Retry-After"); tt.hasRetryAfter != (got != "") {
					t.Errorf("Retry-After is %q, want one: %t", got, tt.hasRetryAfter)
				}
				if tt.status != 451 {
					return
				}
				if v.Rule != "/private" || v.Line != 3 {
					t.Errorf("the verdict is %+v, want the rule /private of line 3", v)
				}
				if got := w.Header().Get("Courtesy-Decision"); !strings.Contains(got, "/private") {
					t.Errorf("Courtesy-Decision is %q, want it to contain /private", got)
				}
			})
		})
	}
}

// TestFetch_LongRule checks that a rule of 400 KB is not part of the header.
func TestFetch_LongRule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", robotstest.Site{
			"/robots.txt": "User-agent: *\nDisallow: /" + strings.Repeat("*ü", 100<<10),
		})
		h := newGate(t, &web, nil)
		w := request(h, "GET", requestURL("/fetch", "http://shop.example/"+strings.Repeat("ü", 1000)))
		size := 0
		for name, values := range w.Header() {
			for _, value := range values {
				size += len(name) + len(value)
			}
		}
		if size > 16<<10 {
			t.Errorf("the header has %d bytes, want at most 16 KiB", size)
		}
	})
}

// TestFetch_IncompletePages checks that the connection is aborted if a page is
// incomplete, so that the client does not regard it as complete.
func TestFetch_IncompletePages(t *testing.T) {
	longPage := robotstest.Site{
		"/robots.txt": "User-agent: *\nAllow: /",
		"/page":       strings.Repeat("x", 2000),
	}
	for name, page := range map[string]http.Handler{
		"a page that is longer than MaxBody":     longPage,
		"a truncated page":                       http.HandlerFunc(breakOff),
		"a page without an end, a byte a second": trickling{},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var web robotstest.Internet
				web.Handle("shop.example", page)
				h := newGate(t, &web, nil)
				h.MaxBody = 1000
				start := time.Now()
				aborted := make(chan any)
				go func() {
					defer func() { aborted <- recover() }()
					request(h, "GET", requestURL("/fetch", "http://shop.example/page"))
				}()
				if got := <-aborted; got != http.ErrAbortHandler {
					t.Errorf("the handler panics with %v, want %v", got, http.ErrAbortHandler)
				}
				if took := time.Since(start); took > time.Minute {
					t.Errorf("the connection was aborted after %v, want at most a minute", took)
				}
				if n := h.limiter.Stats().InFlight; n != 0 {
					t.Errorf("%d slots are held, want none", n)
				}
			})
		})
	}
}

// TestFetch_MaxBody checks a page with exactly MaxBody bytes.
func TestFetch_MaxBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", robotstest.Site{"/page": strings.Repeat("x", 1000)})
		h := newGate(t, &web, nil)
		h.MaxBody = 1000
		if w := request(h, "GET", requestURL("/fetch", "http://shop.example/page")); w.Body.Len() != 1000 {
			t.Errorf("/fetch returns %d bytes, want 1000", w.Body.Len())
		}
	})
}

// breakOff is a handler that sends a truncated page.
func breakOff(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Length", "100")
	io.WriteString(w, "the beginning")
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// A trickling is a handler that sends a byte each second, without an end.
type trickling struct{}

func (trickling) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		http.NotFound(w, r)
		return
	}
	robotstest.Trickle{Chunk: "x", Every: time.Second}.ServeHTTP(w, r)
}

// TestPrivateAddresses checks that the gate gives no access to the private
// network. Addresses are checked when they are dialed, for pages and
// robots.txt, because names may resolve to private addresses.
func TestPrivateAddresses(t *testing.T) {
	t.Parallel()
	received := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		received++
	}))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	h, err := New(robotsmw.Options{UserAgent: "GateBot/1.0"})
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{
		"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433", "0x7f.1",
	} {
		page := "http://" + host + ":" + port + "/"
		w := request(h, "GET", requestURL("/fetch", page))
		isRejected := w.Code == 502 || w.Code == 503
		if host == "127.0.0.1" {
			isRejected = w.Code == 502
		}
		if !isRejected {
			t.Errorf("/fetch of %s returns status %d and %s, want it rejected", page, w.Code, w.Body)
		}
		v := read(t, request(h, "GET", requestURL("/check", page)+"&wait=1"))
		if v.Allowed || v.ID != "" || v.Error == "" {
			t.Errorf("/check of %s returns %+v, want an error and no id", page, v)
		}
	}
	if received > 0 {
		t.Errorf("the server received %d requests, want none", received)
	}
	h.robots.CloseIdleConnections()

	h, err = New(robotsmw.Options{
		UserAgent:     "GateBot/1.0",
		RefuseAddress: func(netip.Addr) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if w := request(h, "GET", requestURL("/fetch", server.URL+"/")); w.Code != 200 || received != 2 {
		t.Errorf("if all addresses are accepted, /fetch returns status %d after %d requests, want 200 after 2",
			w.Code, received)
	}
	h.robots.CloseIdleConnections()
}

// TestNew_InvalidLimiter checks that New returns an error for an invalid
// Limiter. Otherwise, each robots.txt would count as unreachable.
func TestNew_InvalidLimiter(t *testing.T) {
	invalid := &politeness.Limiter{Jitter: -1}
	for _, opts := range []robotsmw.Options{
		{Limiter: invalid},
		{Limiter: &politeness.Limiter{Within: invalid}},
		{Base: &politeness.Transport{Limiter: invalid}},
	} {
		opts.UserAgent = "GateBot/1.0"
		h, err := New(opts)
		if h != nil || err == nil || !strings.Contains(err.Error(), "Limiter.Jitter is -1") {
			t.Errorf("New = %v, %v, want an error about Limiter.Jitter", h, err)
		}
	}
}

func TestNew_InvalidOptions(t *testing.T) {
	if _, err := New(robotsmw.Options{}); err == nil || !strings.Contains(err.Error(), "UserAgent") {
		t.Errorf("New without a UserAgent returns the error %v, want one that names UserAgent", err)
	}
}

// TestSharedLimiter checks that a Go client and the clients of a gate share the
// delay of a host.
func TestSharedLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", robotstest.Site{"/": "shop"})
		limiter := new(politeness.Limiter)
		h := newGate(t, &web, limiter)
		client, err := robotsmw.NewClient(robotsmw.Options{
			UserAgent: "GateBot/1.0",
			Base:      &web,
			Limiter:   limiter,
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			request(h, "GET", requestURL("/fetch", "http://shop.example/"))
			resp, err := client.Get("http://shop.example/")
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		var last time.Time
		for _, r := range web.Log() {
			if interval := r.Time.Sub(last); !last.IsZero() && interval < time.Second {
				t.Errorf("the request for %s was sent %v after the previous one, want at least 1s", r.URL, interval)
			}
			last = r.Time
		}
	})
}

// TestWait_Connections checks, with real connections, that requests of clients
// that close their connections no longer wait.
func TestWait_Connections(t *testing.T) {
	t.Parallel()
	var web robotstest.Internet
	web.Handle("shop.example", shop)
	h := newGate(t, &web, &politeness.Limiter{Lease: time.Hour})
	server := httptest.NewServer(h)
	defer server.Close()
	client := server.Client()
	defer client.CloseIdleConnections()
	resp, err := client.Get(server.URL + requestURL("/check", "http://shop.example/") + "&wait=1")
	if err != nil {
		t.Fatal(err)
	}
	var v verdict
	json.NewDecoder(resp.Body).Decode(&v)
	resp.Body.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for range 100 {
		clients.Go(func() {
			url := server.URL + requestURL("/check", "http://shop.example/") + "&wait=1"
			req, _ := http.NewRequestWithContext(ctx, "GET", url, nil)
			if _, err := client.Do(req); !errors.Is(err, context.Canceled) {
				t.Errorf("a client gets the error %v, want %v", err, context.Canceled)
			}
		})
	}
	for h.active.Load() < 100 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	clients.Wait()
	for h.active.Load() > 0 {
		time.Sleep(time.Millisecond)
	}
	if n := h.limiter.Stats().Waiting; n != 0 {
		t.Errorf("%d requests wait, want none", n)
	}
	resp, err = client.Post(server.URL+"/done?status=200&id="+v.ID, "", nil)
	if err != nil || resp.StatusCode != 204 {
		t.Fatalf("/done returns the response %v and the error %v, want status 204 and no error", resp, err)
	}
	resp.Body.Close()
}

// TestWait_MemoryOfReleasedSlots checks that released slots take no memory,
// even before their leases of an hour would have ended.
func TestWait_MemoryOfReleasedSlots(t *testing.T) {
	var web robotstest.Internet
	web.Handle("shop.example", robotstest.Site{"/": "shop"})
	h := newGate(t, &web, &politeness.Limiter{Delay: -1, Lease: time.Hour})
	cycle := func() {
		v := read(t, request(h, "GET", requestURL("/check", "http://shop.example/")+"&wait=1"))
		if w := request(h, "POST", "/done?status=200&id="+v.ID); w.Code != http.StatusNoContent {
			t.Fatalf("/done returns status %d and %s, want 204", w.Code, w.Body)
		}
	}
	for range 100 {
		cycle()
	}
	before := testmain.Heap()
	for range 10_000 {
		cycle()
	}
	if grown := testmain.Heap() - before; grown > 500<<10 {
		t.Errorf("10,000 released slots take %d bytes, want at most 500 KiB", grown)
	}
	runtime.KeepAlive(h)
}

// TestWait_WithoutFlush checks a ResponseWriter without the method Flush, such
// as that of a middleware that compresses.
func TestWait_WithoutFlush(t *testing.T) {
	var web robotstest.Internet
	web.Handle("shop.example", shop)
	h := newGate(t, &web, nil)
	wrapped := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(struct{ http.ResponseWriter }{w}, r)
	})
	v := read(t, request(wrapped, "GET", requestURL("/check", "http://shop.example/")+"&wait=1"))
	if v.ID == "" {
		t.Fatalf("the verdict is %+v, want an id", v)
	}
	if n := h.limiter.Stats().InFlight; n != 1 {
		t.Errorf("%d requests are in flight, want 1", n)
	}
	if w := request(wrapped, "POST", "/done?status=200&id="+v.ID); w.Code != http.StatusNoContent {
		t.Errorf("/done returns status %d and %s, want 204", w.Code, w.Body)
	}
}
