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
	h, err := New(robotsmw.Options{UserAgent: "GateBot/1.0 (+https://example.com/bot)", Base: web, Limiter: limiter})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// ask sends a request from loopback.
func ask(h http.Handler, method, target string, fields ...string) *httptest.ResponseRecorder {
	return askWithin(context.Background(), h, method, target, fields...)
}

func askWithin(ctx context.Context, h http.Handler, method, target string, fields ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, method, target, nil)
	r.Host, r.RemoteAddr = "127.0.0.1:8500", "127.0.0.1:50000"
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

func about(path, target string) string { return path + "?url=" + url.QueryEscape(target) }

func read(t *testing.T, w *httptest.ResponseRecorder) (v verdict) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("status %d: %q is no JSON: %v", w.Code, w.Body, err)
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
		"allowed": {
			url: "http://shop.example/",
			want: verdict{
				Allowed:    true,
				Reason:     "no-match",
				RobotsURL:  "http://shop.example/robots.txt",
				CrawlDelay: 2,
			},
		},
		"disallowed": {
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
		"unreachable": {
			url:  "http://down.example/",
			want: verdict{Reason: "unreachable", RobotsURL: "http://down.example/robots.txt"},
		},
		"no such host": {
			url:  "http://nowhere.example/",
			want: verdict{Reason: "unreachable", RobotsURL: "http://nowhere.example/robots.txt"},
		},
		"/robots.txt": {
			url:  "http://shop.example/robots.txt",
			want: verdict{Allowed: true, Reason: "robots-txt"},
		},
		"with a user": {
			url: "http://a:b@bare.example/#top",
			want: verdict{
				Allowed:   true,
				Reason:    "unavailable",
				RobotsURL: "http://bare.example/robots.txt",
			},
		},
		"a Latin capital": {
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
				w := ask(h, "GET", about("/check", tt.url))
				got := read(t, w)
				if w.Code != 200 {
					t.Errorf("the status is %d", w.Code)
				}
				if got.Reason == "unreachable" && (got.Until == nil || time.Until(*got.Until) <= 0) {
					t.Error("it does not say when to ask again")
				}
				if (got.Reason == "unreachable") != (got.Error != "") {
					t.Errorf("the error is %q", got.Error)
				}
				got.Until, got.Error = nil, ""
				if got != tt.want {
					t.Errorf("got  %+v\nwant %+v", got, tt.want)
				}
			})
		})
	}
}

// The host's rest is told with the verdict.
func TestCheck_TellsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", shop)
		h := newGate(t, &web, nil)
		ask(h, "GET", about("/fetch", "http://shop.example/"))
		v := read(t, ask(h, "GET", about("/check", "http://shop.example/")))
		if v.Until == nil || time.Until(*v.Until) != 2*time.Second {
			t.Errorf("until is %v", v.Until)
		}
	})
}

// The host of a disallowed URL is not due yet. The verdict contains no time,
// because the client would retry the URL then, although the rule still
// disallows it.
func TestCheck_DisallowedHasNoUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", shop)
		h := newGate(t, &web, nil)
		ask(h, "GET", about("/fetch", "http://shop.example/"))
		for _, query := range []string{"", "&wait=1"} {
			v := read(t, ask(h, "GET", about("/check", "http://shop.example/private")+query))
			if v.Reason != "rule" || v.Until != nil {
				t.Errorf("%q: %+v, want the reason and no until", query, v)
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
		"no url":       {"GET", "/check", 400},
		"two urls":     {"GET", "/check?url=http://a.example/&url=http://b.example/", 400},
		"no http":      {"GET", "/fetch?url=ftp://a.example/", 400},
		"a file":       {"GET", "/fetch?url=file:///etc/passwd", 400},
		"no host":      {"GET", "/fetch?url=http:///path", 400},
		"opaque":       {"GET", "/fetch?url=http:a.example", 400},
		"no scheme":    {"GET", "/check?url=a.example", 400},
		"a bad escape": {"GET", "/check?url=%zz", 400},
		"a line break": {"GET", "/fetch?url=http://a.example/%0d%0aX:y", 400},
		"too long": {
			method: "GET",
			target: "/check?url=http://a.example/" + strings.Repeat("a", 8<<10),
			status: 400,
		},
		"a host that is none":  {"GET", "/check?url=http://" + strings.Repeat("a", 300) + "/", 400},
		"check port 99999":     {"GET", "/check?url=http://a.example:99999/", 400},
		"check port 65536":     {"GET", "/check?url=https://a.example:65536/", 400},
		"wait port 99999":      {"GET", "/check?url=http://a.example:99999/&wait=1", 400},
		"fetch port 99999":     {"GET", "/fetch?url=http://a.example:99999/", 400},
		"fetch port 65536":     {"GET", "/fetch?url=http://[2001:db8::1]:65536/", 400},
		"another path":         {"GET", "/", 404},
		"a path with //":       {"GET", "//check?url=http://a.example/", 404},
		"a path below":         {"GET", "/check/", 404},
		"POST /check":          {"POST", "/check?url=http://a.example/", 405},
		"HEAD /fetch":          {"HEAD", "/fetch?url=http://a.example/", 405},
		"GET /done":            {"GET", "/done?id=x", 405},
		"done without an id":   {"POST", "/done", 400},
		"done with a bad one":  {"POST", "/done?id=x", 404},
		"done with a bad code": {"POST", "/done?id=x&status=1000", 400},
		"done with a word":     {"POST", "/done?id=x&status=ok", 400},
	} {
		w := ask(h, tt.method, tt.target)
		if w.Code != tt.status {
			t.Errorf("%s: the status is %d, want %d", name, w.Code, tt.status)
		}
		if tt.status == 400 && read(t, w).Error == "" {
			t.Errorf("%s: no word why", name)
		}
	}
	if n := len(web.Log()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestWhoMayAsk(t *testing.T) {
	for name, tt := range map[string]struct {
		token  string
		fields []string
		may    bool
	}{
		"from loopback":          {"", nil, true},
		"from ::1":               {"", []string{"From: [::1]:5000", "Host: [::1]:8500"}, true},
		"from a mapped loopback": {"", []string{"From: [::ffff:127.0.0.1]:5000"}, true},
		"by the name localhost":  {"", []string{"Host: localhost:8500"}, true},
		"where a token is set":   {"secret", nil, true},
		"from elsewhere":         {"", []string{"From: 192.0.2.1:5000"}, false},
		"with the token": {
			token:  "secret",
			fields: []string{"From: 192.0.2.1:5000", "Authorization: Bearer secret"},
			may:    true,
		},
		"with another token": {
			token:  "secret",
			fields: []string{"From: 192.0.2.1:5000", "Authorization: Bearer secre"},
		},
		"the scheme in lower case": {
			token:  "secret",
			fields: []string{"From: 192.0.2.1:5000", "Authorization: bearer secret"},
			may:    true,
		},
		"the scheme in upper case": {
			token:  "secret",
			fields: []string{"From: 192.0.2.1:5000", "Authorization: BEARER  secret"},
			may:    true,
		},
		"with the token alone": {
			token:  "secret",
			fields: []string{"From: 192.0.2.1:5000", "Authorization: secret"},
		},
		"with a space and the token": {
			token:  "secret",
			fields: []string{"From: 192.0.2.1:5000", "Authorization:  secret"},
		},
		"with another scheme": {
			token:  "secret",
			fields: []string{"From: 192.0.2.1:5000", "Authorization: Basic secret"},
		},
		"with a scheme like Bearer": {
			token:  "secret",
			fields: []string{"From: 192.0.2.1:5000", "Authorization: Bearers secret"},
		},
		"with two schemes": {
			token:  "secret",
			fields: []string{"From: 192.0.2.1:5000", "Authorization: Bearer Bearer secret"},
		},
		"with no token, none is set": {
			fields: []string{"From: 192.0.2.1:5000", "Authorization: Bearer "},
		},
		"forwarded is not loopback": {
			fields: []string{"From: 192.0.2.1:5000", "X-Forwarded-For: 127.0.0.1", "Forwarded: for=127.0.0.1"},
		},
		"an address that is none":    {"", []string{"From: @"}, false},
		"DNS rebinding":              {"", []string{"Host: evil.example"}, false},
		"a Host like loopback":       {"", []string{"Host: 127.0.0.1.evil.example"}, false},
		"no Host":                    {"", []string{"Host: "}, false},
		"a page of another site":     {"", []string{"Sec-Fetch-Site: cross-site"}, false},
		"a page on another port":     {"", []string{"Sec-Fetch-Site: same-site"}, false},
		"a page in an older browser": {"", []string{"Origin: https://evil.example"}, false},
		"a sandboxed page":           {"", []string{"Origin: null"}, false},
		"typed into a browser":       {"", []string{"Sec-Fetch-Site: none"}, true},
		"rebinding, but with a token": {
			token:  "secret",
			fields: []string{"Host: gate.example", "Authorization: Bearer secret"},
			may:    true,
		},
	} {
		var web robotstest.Internet
		h := newGate(t, &web, nil)
		h.Token = tt.token
		for _, r := range [][2]string{{"GET", "/check"}, {"GET", "/fetch?url=http://a.example/"}, {"POST", "/done?id=1"}, {"PUT", "/nothing"}} {
			w := ask(h, r[0], r[1], tt.fields...)
			if tt.may == (w.Code == 401) {
				t.Errorf("%s: %v: the status is %d", name, r, w.Code)
			}
			if !tt.may && (w.Body.String() != "gate: access requires a loopback address or the token\n" || w.Header().Get("WWW-Authenticate") != "Bearer") {
				t.Errorf("%s: %v: it learns %q", name, r, w.Body)
			}
		}
	}
}

// A browser asks for its turn, goes there itself, and says what it got.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", shop)
		h := newGate(t, &web, nil)
		start := time.Now()
		for i := range 4 {
			v := read(t, ask(h, "GET", about("/check", "http://shop.example/")+"&wait=1"))
			if !v.Allowed || v.ID == "" || v.CrawlDelay != 2 {
				t.Fatalf("%+v", v)
			}
			if w := ask(h, "POST", "/done?status=200&id="+v.ID); w.Code != 204 || w.Body.Len() > 0 {
				t.Fatalf("done: %d %q", w.Code, w.Body)
			}
			if w := ask(h, "POST", "/done?status=200&id="+v.ID); w.Code != 404 {
				t.Errorf("done again: %d", w.Code)
			}
			if want := time.Duration(2*i+1) * time.Second; time.Since(start) != want { // robots.txt's own fetch comes first
				t.Errorf("turn %d came after %v, want %v", i, time.Since(start), want)
			}
		}
		if n := len(web.Log()); n != 1 {
			t.Errorf("the gate sent %d requests, want the one for robots.txt", n)
		}
	})
}

func TestWait_AnswersOfTheSite(t *testing.T) {
	for query, rest := range map[string]time.Duration{
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
			v := read(t, ask(h, "GET", about("/check", "http://shop.example/")+"&wait=1"))
			if w := ask(h, "POST", "/done?id="+v.ID+query); w.Code != 204 {
				t.Fatal(w.Code)
			}
			v = read(t, ask(h, "GET", about("/check", "http://shop.example/")))
			if v.Until == nil || time.Until(*v.Until) < rest || time.Until(*v.Until) > rest*13/10 {
				t.Errorf("%s: the host rests until %v, want %v from %v",
					query, v.Until, rest, time.Now())
			}
		})
	}
}

func TestWait_Refused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", shop)
		web.Handle("down.example", robotstest.Status(503))
		h := newGate(t, &web, nil)
		for _, target := range []string{"http://shop.example/private", "http://down.example/"} {
			w := ask(h, "GET", about("/check", target)+"&wait=1")
			if v := read(t, w); v.Allowed || v.ID != "" || w.Code != 200 {
				t.Errorf("%s: %d %+v", target, w.Code, v)
			}
		}
	})
}

// A wait of over five minutes is refused as soon as it is known.
func TestWait_TooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", shop)
		h := newGate(t, &web, nil)
		v := read(t, ask(h, "GET", about("/check", "http://shop.example/")+"&wait=1"))
		ask(h, "POST", "/done?status=429&retry_after=3600&id="+v.ID)
		start := time.Now()
		v = read(t, ask(h, "GET", about("/check", "http://shop.example/")+"&wait=1"))
		if time.Since(start) > 0 || !v.Allowed || v.ID != "" || v.Until == nil || time.Until(*v.Until) != time.Hour {
			t.Errorf("after %v: %+v", time.Since(start), v)
		}
		w := ask(h, "GET", about("/fetch", "http://shop.example/"))
		if v := read(t, w); w.Code != 503 || w.Header().Get("Retry-After") != "3600" || v.Until == nil || time.Since(start) > 0 {
			t.Errorf("%d, Retry-After %q: %+v", w.Code, w.Header().Get("Retry-After"), v)
		}
	})
}

// A slot that nobody gives back ends with its lease. Its id frees nobody
// else's.
func TestWait_Lease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", shop)
		h := newGate(t, &web, &politeness.Limiter{Lease: time.Minute})
		first := read(t, ask(h, "GET", about("/check", "http://shop.example/")+"&wait=1"))
		start := time.Now()
		second := read(t, ask(h, "GET", about("/check", "http://shop.example/")+"&wait=1"))
		if second.ID == "" || time.Since(start) != time.Minute {
			t.Fatalf("after %v: %+v", time.Since(start), second)
		}
		synctest.Wait()
		if w := ask(h, "POST", "/done?status=200&id="+first.ID); w.Code != 404 {
			t.Errorf("the old id: %d", w.Code)
		}
		go ask(h, "POST", "/done?status=200&id="+second.ID)
		start = time.Now()
		third := read(t, ask(h, "GET", about("/check", "http://shop.example/")+"&wait=1"))
		if third.ID == "" || time.Since(start) != 2*time.Second {
			t.Errorf("after %v: %+v", time.Since(start), third)
		}
	})
}

// A client crashes and never calls /done. When its lease ends, the slot is
// free, although no other request to the host comes that would free it.
func TestWait_LeaseFreesTheSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", shop)
		within := &politeness.Limiter{Lease: time.Hour}
		limiter := &politeness.Limiter{Lease: time.Minute, Within: within}
		h := newGate(t, &web, limiter)
		if v := read(t, ask(h, "GET", about("/check", "http://shop.example/")+"&wait=1")); v.ID == "" {
			t.Fatalf("%+v", v)
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

// robots.txt changes while a client waits.
func TestWait_JudgedAgain(t *testing.T) {
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
		first := read(t, ask(h, "GET", about("/check", "http://shop.example/")+"&wait=1"))
		mu.Lock()
		rules = "User-agent: *\nDisallow: /"
		mu.Unlock()
		time.Sleep(200 * time.Second)
		go func() {
			time.Sleep(150 * time.Second)
			ask(h, "POST", "/done?id="+first.ID)
		}()
		start := time.Now()
		v := read(t, ask(h, "GET", about("/check", "http://shop.example/")+"&wait=1"))
		if v.Allowed || v.ID != "" || v.Rule != "/" || time.Since(start) > 160*time.Second {
			t.Errorf("after %v: %+v", time.Since(start), v)
		}
		if n := len(web.Log()); n != 2 {
			t.Errorf("%d requests were sent, want two for robots.txt", n)
		}
	})
}

// A Crawl-delay that was read during the wait is kept.
func TestWait_JudgedAgain_CrawlDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rules atomic.Value
		rules.Store("User-agent: *\nDisallow:")
		var web robotstest.Internet
		web.Handle("shop.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "max-age=300")
			io.WriteString(w, rules.Load().(string))
		}))
		h := newGate(t, &web, &politeness.Limiter{Lease: time.Hour})
		turn := func() verdict { return read(t, ask(h, "GET", about("/check", "http://shop.example/")+"&wait=1")) }
		first := turn()
		rules.Store("User-agent: *\nCrawl-delay: 40")
		time.Sleep(200 * time.Second)
		starts := make(chan time.Time, 2)
		for range 2 {
			go func() {
				v := turn()
				starts <- time.Now()
				ask(h, "POST", "/done?id="+v.ID)
			}()
		}
		time.Sleep(50 * time.Second)
		ask(h, "GET", about("/check", "http://shop.example/")) // refreshes robots.txt
		time.Sleep(10 * time.Second)
		ask(h, "POST", "/done?id="+first.ID)
		if a, b := <-starts, <-starts; b.Sub(a) != 40*time.Second {
			t.Errorf("%v apart", b.Sub(a))
		}
	})
}

// The Observer receives the decision of a request that waits for a slot, as for
// a page of /fetch. A record of a crawl (package evidence) needs it.
func TestWait_ObservedWithItsDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", shop)
		var granted []string
		limiter := &politeness.Limiter{Observer: &politeness.Observer{Granted: func(ctx context.Context, e politeness.Event) {
			if !e.Exempt {
				granted = append(granted, fmt.Sprint(e.URL, " ", robotsmw.DecisionOf(ctx)))
			}
		}}}
		h := newGate(t, &web, limiter)
		v := read(t, ask(h, "GET", about("/check", "http://shop.example/")+"&wait=1"))
		ask(h, "POST", "/done?status=200&id="+v.ID)
		ask(h, "GET", about("/fetch", "http://shop.example/"))
		if len(granted) != 2 || granted[0] != granted[1] || !strings.Contains(granted[0], "allowed") {
			t.Errorf("the Observer got %q", granted)
		}
	})
}

// Clients that go away hold up nobody.
func TestWait_ClientsThatGoAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", shop)
		h := newGate(t, &web, nil)
		ctx, cancel := context.WithCancel(t.Context())
		for range 900 {
			go askWithin(ctx, h, "GET", about("/check", "http://shop.example/")+"&wait=1")
			go askWithin(ctx, h, "GET", about("/fetch", "http://shop.example/"))
		}
		time.Sleep(100 * time.Millisecond)
		cancel()
		synctest.Wait()
		if n := h.active.Load(); n != 0 {
			t.Errorf("%d requests are under way", n)
		}
		start := time.Now()
		if v := read(t, ask(h, "GET", about("/check", "http://shop.example/")+"&wait=1")); v.ID == "" || time.Since(start) > 3*time.Second {
			t.Errorf("after %v: %+v", time.Since(start), v)
		}
	})
}

func TestTooManySlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		h := newGate(t, &web, &politeness.Limiter{Delay: -1, Lease: time.Hour})
		hold := func(i int) *httptest.ResponseRecorder {
			name := fmt.Sprintf("h%d.example", i)
			web.Handle(name, robotstest.Status(404))
			return ask(h, "GET", about("/check", "http://"+name+"/")+"&wait=1")
		}
		var last verdict
		for i := range maxSlots {
			if last = read(t, hold(i)); last.ID == "" {
				t.Fatalf("slot %d: %+v", i, last)
			}
		}
		if w := hold(maxSlots); w.Code != 503 || w.Header().Get("Retry-After") == "" {
			t.Errorf("one more: %d", w.Code)
		}
		ask(h, "POST", "/done?id="+last.ID)
		if w := hold(maxSlots + 1); w.Code != 200 {
			t.Errorf("after one was freed: %d", w.Code)
		}
		if free := h.limiter.Stats().InFlight; free != maxSlots {
			t.Errorf("%d slots are held, want %d", free, maxSlots)
		}
	})
}

func TestTooManyRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", robotstest.Site{})
		h := newGate(t, &web, &politeness.Limiter{Delay: -1, Lease: time.Hour})
		first := read(t, ask(h, "GET", about("/check", "http://shop.example/")+"&wait=1"))
		ctx, cancel := context.WithCancel(t.Context())
		for range maxRequests {
			go askWithin(ctx, h, "GET", about("/check", "http://shop.example/")+"&wait=1")
		}
		synctest.Wait()
		if w := ask(h, "GET", about("/check", "http://shop.example/")); w.Code != 503 {
			t.Errorf("one more: %d", w.Code)
		}
		if w := ask(h, "POST", "/done?id="+first.ID); w.Code != 204 {
			t.Errorf("done: %d", w.Code)
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
		w := ask(
			h,
			"GET",
			about("/fetch", "http://shop.example/tea"),
			"Cookie: a=b",
			"Authorization: Bearer x",
			"User-Agent: Evil",
			"X-Smuggled: 1",
			"Range: bytes=0-1",
		)
		if w.Code != 418 || w.Body.String() != "map[User-Agent:[GateBot/1.0 (+https://example.com/bot)]]" {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		for name, want := range map[string]string{
			"X-Robots-Tag": "noindex", "Content-Type": "text/plain",
			"Courtesy-Verdict": "", "Connection": "", "X-Secret": "", "Keep-Alive": "", "Upgrade": "", "Proxy-Authenticate": "",
			"Access-Control-Allow-Origin": "", "Access-Control-Allow-Credentials": "",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if got := w.Header().Values("Courtesy-Decision"); len(got) != 1 || !strings.Contains(got[0], "allowed") {
			t.Errorf("Courtesy-Decision: %q", got)
		}
		if got := w.Header().Values("Content-Security-Policy"); len(got) != 2 || got[1] != "sandbox" {
			t.Errorf("Content-Security-Policy: %q", got)
		}
		if w := ask(h, "GET", about("/fetch", "http://shop.example/moved")); w.Code != 302 || w.Header().Get("Location") != "http://169.254.169.254/latest" {
			t.Errorf("a redirect: %d", w.Code)
		}
	})
}

func TestFetch_Refused(t *testing.T) {
	for name, tt := range map[string]struct {
		url    string
		status int
		retry  bool
	}{
		"by a rule":            {"http://shop.example/private", 451, false},
		"unreachable":          {"http://down.example/", 503, true},
		"a broken connection":  {"http://broken.example/", 502, false},
		"a page that resets":   {"http://resets.example/page", 502, false},
		"a status below 200":   {"http://odd.example/page", 502, false},
		"disallowed, dotted":   {"http://shop.example/x/../private", 451, false},
		"disallowed by slashs": {"http://shop.example//private", 451, false},
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
				w := ask(h, "GET", about("/fetch", tt.url))
				v := read(t, w)
				if w.Code != tt.status || v.Allowed || w.Header().Get("Courtesy-Verdict") == "" || tt.retry != (w.Header().Get("Retry-After") != "") {
					t.Errorf("%d, Retry-After %q: %+v", w.Code, w.Header().Get("Retry-After"), v)
				}
				if tt.status == 451 && (v.Rule != "/private" || v.Line != 3 || !strings.Contains(w.Header().Get("Courtesy-Decision"), "/private")) {
					t.Errorf("%+v, %q", v, w.Header())
				}
			})
		})
	}
}

// A rule of 400 KB makes no header of that size.
func TestFetch_HeaderOfALongRule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", robotstest.Site{"/robots.txt": "User-agent: *\nDisallow: /" + strings.Repeat("*ü", 100<<10)})
		h := newGate(t, &web, nil)
		w := ask(h, "GET", about("/fetch", "http://shop.example/"+strings.Repeat("ü", 1000)))
		size := 0
		for name, values := range w.Header() {
			for _, value := range values {
				size += len(name) + len(value)
			}
		}
		if size > 16<<10 {
			t.Errorf("the header has %d bytes", size)
		}
	})
}

// A page that is cut aborts the connection, so that no client takes a part for
// the whole.
func TestFetch_CutBodies(t *testing.T) {
	for name, page := range map[string]http.Handler{
		"longer than MaxBody": robotstest.Site{"/robots.txt": "User-agent: *\nAllow: /", "/page": strings.Repeat(
			"x",
			2000,
		)},
		"broken off":            http.HandlerFunc(breakOff),
		"without end, trickled": trickling{},
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
					ask(h, "GET", about("/fetch", "http://shop.example/page"))
				}()
				if got := <-aborted; got != http.ErrAbortHandler {
					t.Errorf("the handler ended with %v", got)
				}
				if took := time.Since(start); took > time.Minute {
					t.Errorf("it took %v", took)
				}
				if n := h.limiter.Stats().InFlight; n != 0 {
					t.Errorf("%d slots are held", n)
				}
			})
		})
	}
}

func TestFetch_OfMaxBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", robotstest.Site{"/page": strings.Repeat("x", 1000)})
		h := newGate(t, &web, nil)
		h.MaxBody = 1000
		if w := ask(h, "GET", about("/fetch", "http://shop.example/page")); w.Body.Len() != 1000 {
			t.Errorf("%d bytes", w.Body.Len())
		}
	})
}

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

// trickling sends a byte a second, for ever.
type trickling struct{}

func (trickling) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		http.NotFound(w, r)
		return
	}
	robotstest.Trickle{Chunk: "x", Every: time.Second}.ServeHTTP(w, r)
}

// A gate must not be a way into the private network: addresses are checked when
// they are dialed, for pages, robots.txt and names that lead there.
func TestPrivateAddresses(t *testing.T) {
	t.Parallel()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	h, err := New(robotsmw.Options{UserAgent: "GateBot/1.0"})
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433", "0x7f.1"} {
		w := ask(h, "GET", about("/fetch", "http://"+host+":"+port+"/"))
		if w.Code != 502 && w.Code != 503 || strings.HasPrefix(host, "127") && w.Code != 502 {
			t.Errorf("%s: %d %s", host, w.Code, w.Body)
		}
		if v := read(t, ask(h, "GET", about("/check", "http://"+host+":"+port+"/")+"&wait=1")); v.Allowed || v.ID != "" || v.Error == "" {
			t.Errorf("%s: %+v", host, v)
		}
	}
	if asked > 0 {
		t.Errorf("%d requests reached the server", asked)
	}
	h.robots.CloseIdleConnections()

	h, err = New(robotsmw.Options{UserAgent: "GateBot/1.0", RefuseAddress: func(netip.Addr) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if w := ask(h, "GET", about("/fetch", server.URL+"/")); w.Code != 200 || asked != 2 {
		t.Errorf("allowed: %d, %d requests", w.Code, asked)
	}
	h.robots.CloseIdleConnections()
}

// With an invalid Limiter, /check said of each page that its robots.txt was
// unreachable.
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
			t.Errorf("New = %v, %v", h, err)
		}
	}
}

func TestNew_NamesTheBadOption(t *testing.T) {
	if _, err := New(robotsmw.Options{}); err == nil || !strings.Contains(err.Error(), "UserAgent") {
		t.Errorf("the error is %v", err)
	}
}

// A Go client shares the pace with the clients of the gate.
func TestSharedLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("shop.example", robotstest.Site{"/": "shop"})
		limiter := new(politeness.Limiter)
		h := newGate(t, &web, limiter)
		client, err := robotsmw.NewClient(robotsmw.Options{UserAgent: "GateBot/1.0", Base: &web, Limiter: limiter})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			ask(h, "GET", about("/fetch", "http://shop.example/"))
			resp, err := client.Get("http://shop.example/")
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		var last time.Time
		for _, r := range web.Log() {
			if !last.IsZero() && r.Time.Sub(last) < time.Second {
				t.Errorf("%s came %v after the one before", r.URL, r.Time.Sub(last))
			}
			last = r.Time
		}
	})
}

// Over real connections: a client that hangs up while it waits frees its place.
func TestOverLoopback(t *testing.T) {
	t.Parallel()
	var web robotstest.Internet
	web.Handle("shop.example", shop)
	h := newGate(t, &web, &politeness.Limiter{Lease: time.Hour})
	server := httptest.NewServer(h)
	defer server.Close()
	client := server.Client()
	defer client.CloseIdleConnections()
	resp, err := client.Get(server.URL + about("/check", "http://shop.example/") + "&wait=1")
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
			req, _ := http.NewRequestWithContext(
				ctx,
				"GET",
				server.URL+about("/check", "http://shop.example/")+"&wait=1",
				nil,
			)
			if _, err := client.Do(req); !errors.Is(err, context.Canceled) {
				t.Errorf("a client got %v", err)
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
		t.Errorf("%d requests wait", n)
	}
	resp, err = client.Post(server.URL+"/done?status=200&id="+v.ID, "", nil)
	if err != nil || resp.StatusCode != 204 {
		t.Fatalf("done: %v, %v", resp, err)
	}
	resp.Body.Close()
}

// A browser behind the gate asks for a slot and frees it some hundred times a
// second, with a Lease of an hour. Nothing of the slots that were freed stays
// in memory until their leases would have ended.
func TestWait_FreedSlotsTakeNoMemory(t *testing.T) {
	var web robotstest.Internet
	web.Handle("shop.example", robotstest.Site{"/": "shop"})
	h := newGate(t, &web, &politeness.Limiter{Delay: -1, Lease: time.Hour})
	cycle := func() {
		v := read(t, ask(h, "GET", about("/check", "http://shop.example/")+"&wait=1"))
		if w := ask(h, "POST", "/done?status=200&id="+v.ID); w.Code != http.StatusNoContent {
			t.Fatalf("%d %s", w.Code, w.Body)
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
		t.Errorf("10,000 slots that were freed take %d bytes", grown)
	}
	runtime.KeepAlive(h)
}

// A middleware that counts bytes or compresses wraps the ResponseWriter, and
// its wrapper has no Flush. A client that gets an id holds the slot.
func TestWait_BehindAMiddleware(t *testing.T) {
	var web robotstest.Internet
	web.Handle("shop.example", shop)
	h := newGate(t, &web, nil)
	wrapped := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(struct{ http.ResponseWriter }{w}, r)
	})
	v := read(t, ask(wrapped, "GET", about("/check", "http://shop.example/")+"&wait=1"))
	if v.ID == "" {
		t.Fatalf("%+v", v)
	}
	if n := h.limiter.Stats().InFlight; n != 1 {
		t.Errorf("%d requests are in flight", n)
	}
	if w := ask(wrapped, "POST", "/done?status=200&id="+v.ID); w.Code != http.StatusNoContent {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
