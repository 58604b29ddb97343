package robotsmw

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// Join combines all functions of an Observer. The test finds these functions by
// reflection, so that it also covers functions that are added later.
func TestJoinHasEveryFunction(t *testing.T) {
	var called []string
	numbered := func(who string) *Observer {
		o := new(Observer)
		for field, f := range reflect.ValueOf(o).Elem().Fields() {
			f.Set(reflect.MakeFunc(field.Type, func([]reflect.Value) []reflect.Value {
				called = append(called, field.Name+who)
				return nil
			}))
		}
		return o
	}
	joined := reflect.ValueOf(Join(nil, numbered("1"), nil, numbered("2"), numbered("3"))).Elem()
	for field, f := range joined.Fields() {
		called = nil
		in := []reflect.Value{reflect.ValueOf(t.Context())}
		for i := 1; i < field.Type.NumIn(); i++ {
			in = append(in, reflect.Zero(field.Type.In(i)))
		}
		f.Call(in)
		if want := []string{field.Name + "1", field.Name + "2", field.Name + "3"}; !slices.Equal(called, want) {
			t.Errorf("the joined %s called %q, want %q", field.Name, called, want)
		}
	}
}

func TestJoinLeavesOutWhatNobodyHas(t *testing.T) {
	if o := Join(); o != nil {
		t.Errorf("Join() = %v, want nil", o)
	}
	if o := Join(nil, nil); o != nil {
		t.Errorf("Join(nil, nil) = %v, want nil", o)
	}
	one := &Observer{Decided: func(context.Context, Decision) {}}
	if o := Join(nil, one); o != one {
		t.Errorf("Join of one Observer and nil = %v, want that Observer", o)
	}
	o := Join(one, &Observer{Fetched: func(context.Context, Fetch) {}})
	hasBoth := o.Decided != nil && o.Fetched != nil
	if !hasBoth || o.Asked != nil || o.StoreFailed != nil {
		t.Errorf("Join of Decided and Fetched = %+v, want only these two functions", o)
	}
}

// A failingStore is a Store whose Get always fails.
type failingStore struct{ Store }

func (failingStore) Get(context.Context, string) ([]byte, error) {
	return nil, errors.New("the Store is down")
}

// Decided receives the context of the request. Fetched and StoreFailed do not,
// because a fetch belongs to no request.
func TestObserversGetTheContextOfTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(someRules))
		type key struct{}
		got := make(chan [2]any, 10)
		note := func(what string, ctx context.Context) { got <- [2]any{what, ctx.Value(key{})} }
		tr := newTestTransport(t, &web, withStore(failingStore{new(memoryStore)}), func(o *Options) {
			o.Observer = &Observer{
				Decided:     func(ctx context.Context, _ Decision) { note("decided", ctx) },
				Fetched:     func(ctx context.Context, _ Fetch) { note("fetched", ctx) },
				StoreFailed: func(ctx context.Context, op string, _ error) { note(op, ctx) },
			}
		})
		req, _ := http.NewRequestWithContext(context.WithValue(t.Context(), key{}, "mine"), "GET", "http://a.example/",
			nil)
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		synctest.Wait()
		close(got)
		events := map[[2]any]bool{}
		for e := range got {
			events[e] = true
		}
		for _, want := range [][2]any{{"decided", "mine"}, {"fetched", nil}, {"get", nil}} {
			if !events[want] {
				t.Errorf("events %v, want %v among them", events, want)
			}
		}
	})
}

// Blocked requests are logged at debug level.
func TestBlockedRequestsAreLogged(t *testing.T) {
	var web robotstest.Internet
	web.Handle("a.example", robots(someRules))
	var buf bytes.Buffer
	tr := newTestTransport(t, &web, func(o *Options) {
		o.Logger = slog.New(slog.NewTextHandler(&buf, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	req, _ := http.NewRequest("GET", "http://a.example/private/", nil)
	tr.RoundTrip(req)
	if !strings.Contains(buf.String(), "/private/") {
		t.Errorf("the log is %q, want it to contain /private/, the path of the blocked URL", buf.String())
	}
}

// A panic in an Observer does not make robots.txt unreachable.
func TestObserverPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(someRules))
		c := newTestTransport(t, &web, func(o *Options) {
			o.Observer = &Observer{Fetched: func(context.Context, Fetch) { panic("observer") }}
		}).Checker()
		if d := decide(t, c, "http://a.example/"); !d.Allowed {
			t.Errorf("got %v; want allowed", d)
		}
	})
}

// The Observer's events describe what a decision is based on: the requests, the
// responses, and the file that applies.
func TestObserversAreToldAWholeFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", status(301, "Location: http://b.example/rules.txt"))
		web.Handle("b.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"1"`)
			if r.Header.Get("If-None-Match") != "" {
				w.WriteHeader(304)
				return
			}
			io.WriteString(w, someRules)
		}))
		web.Handle("down.example", robotstest.Status(503))
		web.Handle("gone.example", robotstest.Reset(""))
		var mu sync.Mutex
		var log []string
		note := func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			log = append(log, fmt.Sprintf(format, args...))
		}
		store := new(memoryStore)
		observed := func(o *Options) {
			o.Store = store
			o.Observer = &Observer{
				Asked: func(_ context.Context, robotsURL string, resp *http.Response, body []byte, err error) {
					note("asked %s for %s: %d, %d bytes, failed %t", resp.Request.URL, robotsURL, resp.StatusCode,
						len(body), err != nil)
				},
				Read: func(_ context.Context, sha256 string, text []byte) {
					note("read %.6s: %d bytes", sha256, len(text))
				},
				Fetched: func(_ context.Context, f Fetch) {
					note("fetched %s: %d, %.6s for %v", f.URL, f.Status, f.SHA256, f.Expires.Sub(f.Fetched))
				},
				Loaded: func(_ context.Context, f Fetch) {
					note("recalled %s: %d, %.6s for %v", f.URL, f.Status, f.SHA256, f.Expires.Sub(f.Fetched))
				},
			}
		}
		hash := fmt.Sprintf("%.3x", sha256.Sum256([]byte(someRules)))
		want := func(lines ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if log = slices.Compact(log); !slices.Equal(log, lines) { // the same file may be read more than once
				t.Errorf("the Observer's events are\n%s\nwant\n%s", strings.Join(log, "\n"), strings.Join(lines, "\n"))
			}
			log = nil
		}
		size := fmt.Sprint(len(someRules), " bytes")
		c := newTestTransport(t, &web, observed).Checker()
		if d := decide(t, c, "http://a.example/"); d.SHA256()[:6] != hash || !d.Time.Equal(time.Now()) {
			t.Errorf("got %v with hash %s, made at %v; want a hash that begins with %s, made now", d, d.SHA256(), d.Time, hash)
		}
		want("asked http://a.example/robots.txt for http://a.example/robots.txt: 301, 0 bytes, failed false",
			"asked http://b.example/rules.txt for http://a.example/robots.txt: 200, "+size+", failed false",
			"read "+hash+": "+size,
			"fetched http://a.example/robots.txt: 200, "+hash+" for 24h0m0s")
		time.Sleep(25 * time.Hour)
		decide(t, c, "http://a.example/")
		want("read "+hash+": "+size, // from the Store
			"asked http://a.example/robots.txt for http://a.example/robots.txt: 301, 0 bytes, failed false",
			"asked http://b.example/rules.txt for http://a.example/robots.txt: 304, 0 bytes, failed false",
			"fetched http://a.example/robots.txt: 200, "+hash+" for 24h0m0s")

		decide(t, newTestTransport(t, &web, observed).Checker(), "http://a.example/")
		want("read "+hash+": "+size,
			"recalled http://a.example/robots.txt: 200, "+hash+" for 24h0m0s")

		decide(t, c, "http://down.example/")
		decide(t, c, "http://gone.example/")
		want("asked http://down.example/robots.txt for http://down.example/robots.txt: 503, 0 bytes, failed false",
			"fetched http://down.example/robots.txt: 503,  for 0s",
			"asked http://gone.example/robots.txt for http://gone.example/robots.txt: 0, 0 bytes, failed true",
			"fetched http://gone.example/robots.txt: 0,  for 0s")

		newTestTransport(t, &web, observed,
			func(o *Options) { o.Override = map[string]string{"http://c.example": shutRules} })
		want(fmt.Sprintf("read %.3x: %d bytes", sha256.Sum256([]byte(shutRules)), len(shutRules)))
	})
}

// If all callers give up while a fetch waits for its first slot, no request is
// sent, and the Observer receives no event of the fetch.
func TestObserversAreNotToldOfADroppedFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(someRules))
		l := &politeness.Limiter{Logger: quiet()}
		pauseHost(t, l, "http://a.example/page", time.Minute)
		c := newTestTransport(t, &web, paced(l), func(o *Options) {
			o.Observer = &Observer{
				Asked: func(_ context.Context, robotsURL string, _ *http.Response, _ []byte, err error) {
					t.Errorf("Asked was called for %s (error %v), want no call", robotsURL, err)
				},
				Fetched: func(_ context.Context, f Fetch) { t.Errorf("Fetched was called with %+v, want no call", f) },
			}
		}).Checker()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := c.Check(ctx, mustURL(t, "http://a.example/")); !errors.Is(err, context.Canceled) {
			t.Errorf("Check with a canceled context returned error %v, want %v", err, context.Canceled)
		}
		time.Sleep(time.Hour)
		if n := robotsFetches(&web, ""); n != 0 {
			t.Errorf("%d requests were sent, want none", n)
		}
	})
}

// Code below the Transport and the caller that has the response can get the
// decision that allowed the request, whether or not an Observer is set.
func TestDecisionOf(t *testing.T) {
	var web robotstest.Internet
	web.Handle("a.example", robots(someRules))
	var got *Decision
	base := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path != "/robots.txt" {
			got = DecisionOf(r.Context())
		}
		return web.RoundTrip(r)
	})
	tests := []struct {
		name     string
		observer *Observer
	}{
		{"observed", &Observer{Decided: func(context.Context, Decision) {}}},
		{"not observed", nil},
		{"observed without Decided", new(Observer)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got = nil
			tr := newTestTransport(t, base, func(o *Options) { o.Observer = tt.observer })
			req, _ := http.NewRequest("GET", "http://a.example/page", nil)
			resp, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if got == nil || !got.Allowed || got.URL.Path != "/page" {
				t.Errorf("DecisionOf returned %v, want a decision that allows /page", got)
			}
			if later := DecisionOf(resp.Request.Context()); later != got {
				t.Errorf("DecisionOf with the response's context returned %v, want the same *Decision as before: %v", later, got)
			}
		})
	}
	if d := DecisionOf(t.Context()); d != nil {
		t.Errorf("DecisionOf of another context: got %v, want nil", d)
	}
}

// DecisionOf returns the Decision that the Observer received, and the same one
// each time, whatever allowed the request.
func TestDecisionOf_AsDecided(t *testing.T) {
	for _, page := range []string{
		"http://a.example/page",
		"http://a.example/private/help",
		"http://a.example/robots.txt",
		"http://mine.example/page",
		"http://none.example/page",
		"gopher://a.example/page",
	} {
		synctest.Test(t, func(t *testing.T) {
			var web robotstest.Internet
			web.Handle("a.example",
				robots("User-agent: *\nDisallow: /private/\nAllow: /private/help\nCrawl-delay: 3\n"))
			web.Handle("none.example", robotstest.Status(404))
			var decided events
			var got []*Decision
			base := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
				time.Sleep(time.Second)
				if r.Header.Get("Accept") != "" { // the fetch of robots.txt
					return web.RoundTrip(r)
				}
				got = append(got, DecisionOf(r.Context()), DecisionOf(r.Context()))
				return newResponse(r, 200, ""), nil
			})
			tr := newTestTransport(t, base, func(o *Options) {
				o.Observer = decided.observer()
				o.Override = map[string]string{"http://mine.example": "User-agent: *\nAllow: /page\n"}
			})
			req, _ := http.NewRequest("GET", page, nil)
			resp, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			isSame := len(got) == 2 && got[0] == got[1]
			if !isSame || len(decided.decisions) != 1 || !reflect.DeepEqual(*got[0], decided.decisions[0]) {
				t.Errorf("%s: DecisionOf in Base returned %+v in its two calls, want the same *Decision twice, equal to the only one in %+v", page, got, decided.decisions)
			}
		})
	}
}

// A host is paused, and the copy in the Store has expired. The decision is
// based on this copy, so the Observer receives it first.
func TestObserversAreToldOfACopyThatIsUsedWhileAHostRests(t *testing.T) {
	for _, wait := range []time.Duration{0, -1} { // with -1, the limiter refuses the fetch at once
		synctest.Test(t, func(t *testing.T) {
			var web robotstest.Internet
			web.Handle("a.example",
				newSite(robots(someRules, "Cache-Control: max-age=300"), status(429, "Retry-After: 3600")))
			store, limiter := new(memoryStore), &politeness.Limiter{MaxWait: wait}
			client := newLimitedClient(t, Options{Base: &web, Store: store, Limiter: limiter})
			client.Get("http://a.example/1")
			time.Sleep(2 * time.Second)
			client.Get("http://a.example/1")
			time.Sleep(10 * time.Minute)

			var mu sync.Mutex
			var recalled []Fetch
			c := newTestTransport(t, &web, func(o *Options) {
				o.UserAgent = "ExampleBot/1.0"
				o.Store = store
				o.Limiter = limiter
				o.Observer = &Observer{Loaded: func(_ context.Context, f Fetch) {
					mu.Lock()
					defer mu.Unlock()
					recalled = append(recalled, f)
				}}
			}).Checker()
			for range 2 {
				d := decide(t, c, "http://a.example/1")
				mu.Lock()
				isLoaded := false
				if n := len(recalled); n > 0 {
					isLoaded = recalled[n-1].Fetched.Equal(d.Fetched) && recalled[n-1].SHA256 == d.SHA256()
				}
				if !d.Stale || !isLoaded {
					t.Errorf("MaxWait %v: got %v by the file of %v, and Loaded received %v; want the stale copy, and the same in Loaded",
						wait, d, d.Fetched, recalled)
				}
				mu.Unlock()
			}
		})
	}
}
