package robotsmw

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// A good copy is obeyed during an outage of 31 days. After its lifetime, it is
// stale. After the outage, the new file is obeyed.
func TestGoodCopyOutlivesAnOutageOf31Days(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		site := new(switchable)
		site.set(robots(someRules))
		web.Handle("a.example", site)
		c := newTestTransport(t, &web).Checker()
		fetched := time.Now()
		decide(t, c, "http://a.example/")
		site.set(status(503))
		for day := range 31 {
			for range 24 {
				time.Sleep(time.Hour)
				private, public := decide(t, c, "http://a.example/private/"), decide(t, c, "http://a.example/")
				if classify(private, public) != obey {
					t.Fatalf("day %d: got %v and %v; want the rules of the good copy", day, private, public)
				}
				if expired := time.Since(fetched) >= 24*time.Hour; public.Stale != expired {
					t.Fatalf("after %v: stale is %v, want true only after 24 hours", time.Since(fetched), public.Stale)
				}
				if !public.Fetched.Equal(fetched) {
					t.Fatalf("Fetched is %v, want %v", public.Fetched, fetched)
				}
			}
		}
		site.set(robots("User-agent: *\nDisallow: /new/\n"))
		time.Sleep(time.Hour)
		if d := decide(t, c, "http://a.example/new/"); d.Allowed || d.Stale || d.Cause != "" {
			t.Errorf("after the outage: got %v; want disallowed by the new file", d)
		}
	})
}

func TestUnreachableFromTheStart(t *testing.T) {
	for _, allow := range []bool{false, true} {
		t.Run(fmt.Sprintf("AllowAfter30Days %v", allow), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var web robotstest.Internet
				site := new(switchable)
				site.set(status(503))
				web.Handle("a.example", site)
				c := newTestTransport(t, &web, func(o *Options) { o.AllowAfter30Days = allow }).Checker()
				start := time.Now()
				for time.Since(start) < 32*24*time.Hour {
					d := decide(t, c, "http://a.example/")
					want := allow && time.Since(start) >= 30*24*time.Hour+time.Hour
					if allow && time.Since(start) >= 30*24*time.Hour && !want {
						// Allowed becomes true at the first failed fetch after
						// the 30 days. In the hour after the 30 days, it may
						// still be false.
					} else if d.Allowed != want || d.Reason != Unreachable {
						t.Fatalf("after %v: got %v; want unreachable, and allowed only after 30 days",
							time.Since(start), d)
					}
					time.Sleep(20 * time.Minute)
				}
				// The next tries are due after 1, 2, 4 … 32 min, and then once
				// an hour.
				if n := len(web.Log()); n > 32*24+6 {
					t.Errorf("%d fetches of robots.txt in 32 days, want at most one an hour and six", n)
				}
				site.set(robots(someRules))
				time.Sleep(time.Hour)
				if got := classify(decide(t, c, "http://a.example/private/"), decide(t, c, "http://a.example/")); got != obey {
					t.Errorf("after the outage: the verdict is %s, want obey", got)
				}
			})
		})
	}
}

// An unreachable origin is retried after 1, 2, 4, 8, 16, 32, 60, 60 min, or
// after its Retry-After.
func TestNextTriesOfAnUnreachableOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		site := new(switchable)
		site.set(status(500))
		web.Handle("a.example", site)
		c := newTestTransport(t, &web).Checker()
		for _, gap := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
			before := len(web.Log())
			d := decide(t, c, "http://a.example/")
			if got := time.Until(d.NextTry); got != gap*time.Minute {
				t.Fatalf("the next try is in %v, want %v min", got, int(gap))
			}
			time.Sleep(gap*time.Minute - time.Nanosecond)
			decide(t, c, "http://a.example/")
			if got := len(web.Log()) - before; got != 1 {
				t.Fatalf("%d fetches of robots.txt before the next try was due, want 1", got)
			}
			time.Sleep(time.Nanosecond)
		}
		site.set(status(503, "Retry-After: 7"))
		if d := decide(t, c, "http://a.example/"); time.Until(d.NextTry) != 7*time.Second {
			t.Errorf("Retry-After: 7: the next try is in %v, want 7s", time.Until(d.NextTry))
		}
		time.Sleep(7 * time.Second)
		site.set(robots(someRules))
		if d := decide(t, c, "http://a.example/"); !d.Allowed || d.NextTry != (time.Time{}) {
			t.Errorf("after the outage: got %v; want allowed, without a next try", d)
		}
	})
}

// A 404 allows everything for its lifetime, even during an outage. If the
// outage lasts longer than this lifetime, the origin becomes unreachable.
func TestUnavailableIsNoCopyThatOutlivesAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		site := new(switchable)
		site.set(status(404))
		web.Handle("a.example", site)
		c := newTestTransport(t, &web).Checker()
		decide(t, c, "http://a.example/")
		site.set(status(503))
		time.Sleep(23 * time.Hour)
		if d := decide(t, c, "http://a.example/"); !d.Allowed || d.Reason != Unavailable {
			t.Errorf("within its lifetime: got %v; want allowed, because there is no robots.txt", d)
		}
		time.Sleep(2 * time.Hour)
		if d := decide(t, c, "http://a.example/"); d.Allowed || d.Reason != Unreachable {
			t.Errorf("after its lifetime: got %v; want unreachable", d)
		}
	})
}

func TestRefreshBeforeTheLifetimeEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		site := new(switchable)
		site.set(robots(someRules, "Cache-Control: max-age=6000"))
		web.Handle("a.example", site)
		c := newTestTransport(t, &web).Checker()
		decide(t, c, "http://a.example/")
		site.set(slowly(10*time.Second, robots("User-agent: *\nDisallow: /new/\n")))

		time.Sleep(4799 * time.Second)
		decide(t, c, "http://a.example/")
		if n := len(web.Log()); n != 1 {
			t.Fatalf("%d fetches of robots.txt before four fifths of the lifetime, want 1", n)
		}
		time.Sleep(time.Second)
		start := time.Now()
		for range 10 {
			if d := decide(t, c, "http://a.example/new/"); !d.Allowed || d.Stale {
				t.Errorf("during the refresh: got %v; want allowed by the old file", d)
			}
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("callers waited %v for a refresh, want no wait", waited)
		}
		time.Sleep(11 * time.Second)
		if d := decide(t, c, "http://a.example/new/"); d.Allowed {
			t.Errorf("after the refresh: got %v; want disallowed", d)
		}
		if n := len(web.Log()); n != 2 {
			t.Errorf("%d fetches of robots.txt, want 2", n)
		}
	})
}

func TestRevalidation(t *testing.T) {
	for name, validator := range map[string]string{
		"ETag":          `ETag: "v1"`,
		"Last-Modified": "Last-Modified: Sun, 01 Mar 2026 12:00:00 GMT",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var web robotstest.Internet
				site := new(switchable)
				site.set(robots(someRules, validator, "Cache-Control: max-age=3600"))
				web.Handle("a.example", site)
				ev := new(events)
				c := newTestTransport(t, &web, func(o *Options) { o.Observer = ev.observer() }).Checker()
				first := decide(t, c, "http://a.example/private/")
				site.set(status(304))
				time.Sleep(2 * time.Hour)
				d := decide(t, c, "http://a.example/private/")
				isRenewed := time.Until(d.Expires) == time.Hour && time.Since(d.Fetched) == 0
				if d.Allowed || d.SHA256() != first.SHA256() || !isRenewed {
					t.Errorf("after a 304: got %v, fetched %v, expires %v; want the same file, fetched now, for an hour",
						d, d.Fetched, d.Expires)
				}
				last := web.Log()[1]
				if last.Header.Get("If-None-Match")+last.Header.Get("If-Modified-Since") == "" {
					t.Errorf("the second request has the header %v, want If-None-Match or If-Modified-Since in it", last.Header)
				}
				if f := ev.fetches[1]; !f.Renewed || f.Cause != "" || f.Status != 200 {
					t.Errorf("got the event %+v; want a renewal with status 200 and no cause", f)
				}
				site.set(status(304, "Cache-Control: max-age=600"))
				time.Sleep(2 * time.Hour)
				if d := decide(t, c, "http://a.example/"); time.Until(d.Expires) != 10*time.Minute {
					t.Errorf("after a 304 with a lifetime of its own: expires in %v, want 10m", time.Until(d.Expires))
				}
			})
		})
	}

	t.Run("sends a validator only to the URL from which it was received", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var web robotstest.Internet
			site := new(switchable)
			site.set(status(302, "Location: http://b.example/r.txt", `ETag: "redirect"`))
			web.Handle("a.example", site)
			web.Handle("b.example", withHeader(`ETag: "file"`, answer2xx(200)))
			c := newTestTransport(t, &web).Checker()
			decide(t, c, "http://a.example/")
			time.Sleep(25 * time.Hour)
			decide(t, c, "http://a.example/")
			var sent []string
			for _, r := range web.Log() {
				sent = append(sent, r.URL+" "+r.Header.Get("If-None-Match"))
			}
			want := []string{"http://a.example/robots.txt ", "http://b.example/r.txt ", "http://a.example/robots.txt ",
				`http://b.example/r.txt "file"`}
			if !slices.Equal(sent, want) {
				t.Errorf("the requests, with If-None-Match, are %q, want %q", sent, want)
			}
		})
	})
}

func withHeader(line string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, value, _ := strings.Cut(line, ": ")
		w.Header().Set(name, value)
		h.ServeHTTP(w, r)
	})
}

// A 304 gives the file a new lifetime. The next refresh begins only after four
// fifths of the new lifetime.
func TestRenewedRecordIsNotDueForAnotherLifetime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "max-age=3600")
			w.Header().Set("ETag", `"1"`)
			if r.Header.Get("If-None-Match") != "" {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			io.WriteString(w, "User-agent: *\nDisallow: /private\n")
		}))
		c := newTestTransport(t, &web).Checker()
		decide(t, c, "http://a.example/")
		time.Sleep(50 * time.Minute)
		decide(t, c, "http://a.example/")
		synctest.Wait() // waits until the 304 has been received
		for range 4 {
			time.Sleep(10 * time.Minute)
			decide(t, c, "http://a.example/")
			synctest.Wait()
		}
		if got := robotsFetches(&web, ""); got != 2 {
			t.Errorf("%d fetches of robots.txt in an hour and a half, want 2", got)
		}
	})
}

func TestRenewalEndsAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		var h switchable
		h.set(robots(someRules, `ETag: "e"`))
		web.Handle("a.example", &h)
		c := newTestTransport(t, &web).Checker()
		decide(t, c, "http://a.example/")
		h.set(status(503))
		time.Sleep(25 * time.Hour)
		if d := decide(t, c, "http://a.example/"); !d.Stale {
			t.Fatalf("got %v; want a stale decision", d)
		}
		h.set(status(304))
		time.Sleep(2 * time.Minute)
		if d := decide(t, c, "http://a.example/"); d.Stale || d.Cause != "" || !d.NextTry.IsZero() {
			t.Errorf("got %v, next try %v; want a decision that is not stale, without a next try", d, d.NextTry)
		}
	})
}

// The client does not send a very long ETag back. A server might respond with
// 431, and a 4xx means that there is no robots.txt.
func TestHugeETag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if len(r.Header.Get("If-None-Match")) > 8<<10 {
				w.WriteHeader(431)
				return
			}
			w.Header().Set("ETag", `"`+strings.Repeat("e", 9<<10)+`"`)
			io.WriteString(w, someRules)
		}))
		c := newTestTransport(t, &web).Checker()
		decide(t, c, "http://a.example/")
		time.Sleep(25 * time.Hour)
		if d := decide(t, c, "http://a.example/private/"); d.Allowed {
			t.Errorf("got %v; want disallowed", d)
		}
	})
}

// If a server responds with 412 to If-None-Match, robots.txt is fetched again
// without that header. The 412 does not count as a 4xx.
func TestPreconditionFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("If-None-Match") != "" {
				w.WriteHeader(412)
				return
			}
			w.Header().Set("ETag", `"e"`)
			io.WriteString(w, someRules)
		}))
		c := newTestTransport(t, &web).Checker()
		decide(t, c, "http://a.example/")
		time.Sleep(25 * time.Hour)
		if d := decide(t, c, "http://a.example/private/"); d.Allowed {
			t.Errorf("got %v; want disallowed", d)
		}
	})
}
