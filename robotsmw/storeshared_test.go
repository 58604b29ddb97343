package robotsmw

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/record"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

const (
	closedToAll = "User-agent: *\nDisallow: /\n"
	openToAll   = "User-agent: *\nDisallow:\n"
)

// byAgent serves a different robots.txt to each robot, which it identifies by
// the first word of the User-Agent. It counts the requests of each robot.
type byAgent struct {
	mu       sync.Mutex
	handlers map[string]http.HandlerFunc
	asked    map[string]int
}

func (b *byAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, _, _ := strings.Cut(r.UserAgent(), "/")
	b.mu.Lock()
	if b.asked == nil {
		b.asked = make(map[string]int)
	}
	b.asked[name]++
	handler := b.handlers[name]
	b.mu.Unlock()
	handler(w, r)
}

// serves returns a handler that sends a robots.txt with a Last-Modified date,
// and a 304 to every request with such a date, even if the date is that of
// another robot's file. Some servers compare only dates.
func serves(text string, status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "User-Agent")
		w.Header().Set("Cache-Control", "max-age=300")
		w.Header().Set("Last-Modified", "Sat, 01 Jan 2000 00:00:00 GMT")
		if r.Header.Get("If-Modified-Since") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.WriteHeader(status)
		io.WriteString(w, text)
	}
}

func sharingChecker(t *testing.T, web *robotstest.Internet, store Store, agent string, tokens ...string) *Checker {
	t.Helper()
	c, err := NewChecker(Options{UserAgent: agent, ProductTokens: tokens, Base: web, Store: store,
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A site serves a different robots.txt, or none, to each robot. Two robots
// share a Store, and check URLs one after the other. Each must obey what is
// served to it, because with the other's record, it would request disallowed
// URLs. After a restart, each loads its own record without a request.
func TestStoreOfTwoRobots(t *testing.T) {
	open, closed := serves(openToAll, 200), serves(closedToAll, 200)
	for _, tt := range []struct {
		name          string
		first, second http.HandlerFunc
		allowed       [2]bool
	}{
		{"the first is let in", open, closed, [2]bool{true, false}},
		{"the second is let in", closed, open, [2]bool{false, true}},
		{"no file for the first", serves("", 404), closed, [2]bool{true, false}},
		{"no file for the second", closed, serves("", 404), [2]bool{false, true}},
		{"403 for the first", serves("", 403), closed, [2]bool{true, false}},
		{"503 for the first", serves("", 503), open, [2]bool{false, true}},
		{"503 for the second", open, serves("", 503), [2]bool{true, false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var web robotstest.Internet
				site := &byAgent{handlers: map[string]http.HandlerFunc{"FirstBot": tt.first, "SecondBot": tt.second}}
				web.Handle("a.example", site)
				store := new(memoryStore)
				for round := range 3 {
					for i, agent := range []string{"FirstBot/1.0", "SecondBot/1.0"} {
						c := sharingChecker(t, &web, store, agent)
						if d := decide(t, c, "http://a.example/page"); d.Allowed != tt.allowed[i] {
							t.Errorf("round %d, %s: got %v; want allowed: %t", round, agent, d, tt.allowed[i])
						}
						synctest.Wait() // the record is stored
					}
				}
				if site.asked["FirstBot"] != 1 || site.asked["SecondBot"] != 1 {
					t.Errorf("the robots sent %v requests for robots.txt, want one each", site.asked)
				}
			})
		})
	}
}

// The records of two robots expire. Each sends its own validators. With the
// other's, the server would respond with 304, and the wrong file would remain
// in force forever.
func TestStoreOfTwoRobots_Validators(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		site := &byAgent{handlers: map[string]http.HandlerFunc{"FirstBot": serves(openToAll, 200),
			"SecondBot": serves(closedToAll, 200)}}
		web.Handle("a.example", site)
		store := new(memoryStore)
		for range 4 {
			if d := decide(t, sharingChecker(t, &web, store, "FirstBot/1.0"), "http://a.example/"); !d.Allowed {
				t.Errorf("the first robot: got %v; want allowed", d)
			}
			synctest.Wait()
			time.Sleep(time.Hour)
			if d := decide(t, sharingChecker(t, &web, store, "SecondBot/1.0"), "http://a.example/"); d.Allowed {
				t.Errorf("the second robot: got %v; want disallowed", d)
			}
			synctest.Wait()
			time.Sleep(time.Hour)
		}
	})
}

// Robots that differ only in the rest of their User-Agent, or only in their
// product tokens, do not share a record. Robots with the same User-Agent and
// the same tokens share one.
func TestStoreOfTwoRobots_WhoIsAnother(t *testing.T) {
	for _, tt := range []struct {
		name   string
		agent  string
		tokens []string
		same   bool
	}{
		{"the same", "FirstBot/1.0", nil, true},
		{"another version", "FirstBot/1.1", nil, false},
		{"other tokens", "FirstBot/1.0", []string{"FirstBot", "Bot"}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			var web robotstest.Internet
			site := &byAgent{handlers: map[string]http.HandlerFunc{"FirstBot": serves(openToAll, 200)}}
			web.Handle("a.example", site)
			store := new(memoryStore)
			decide(t, sharingChecker(t, &web, store, "FirstBot/1.0"), "http://a.example/")
			synctest.Wait()
			decide(t, sharingChecker(t, &web, store, tt.agent, tt.tokens...), "http://a.example/")
			synctest.Wait()
			if n := site.asked["FirstBot"]; (n == 1) != tt.same {
				t.Errorf("%s: %d requests for robots.txt, want only one: %t", tt.name, n, tt.same)
			}
		})
	}
}

// Two robots with one Store that is a Locker request a file at the same time.
// Neither waits for the other's lock, because each robot needs its own file.
func TestStoreOfTwoRobots_Locks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		slow := func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(20 * time.Second)
			io.WriteString(w, closedToAll)
		}
		site := &byAgent{handlers: map[string]http.HandlerFunc{"FirstBot": slow, "SecondBot": serves(openToAll, 200)}}
		web.Handle("a.example", site)
		store := new(memoryStore)
		go sharingChecker(t, &web, store, "FirstBot/1.0").Check(context.Background(), mustURL(t, "http://a.example/"))
		time.Sleep(time.Second)
		start := time.Now()
		if d := decide(t, sharingChecker(t, &web, store, "SecondBot/1.0"), "http://a.example/"); !d.Allowed {
			t.Errorf("got %v; want allowed", d)
		}
		if took := time.Since(start); took > 0 {
			t.Errorf("the second robot waited for %v, want no wait", took)
		}
		time.Sleep(time.Minute)
	})
}

// A Store has a record in the old format, which does not contain the robot:
// under the key of that format or, in a Store that was converted, under the
// present key. The record allows everything, but is not used, because it may be
// another robot's.
func TestRecordWithoutARobotIsNotUsed(t *testing.T) {
	for _, key := range []string{"http://a.example", testKind.Key("http://a.example")} {
		synctest.Test(t, func(t *testing.T) {
			var web robotstest.Internet
			web.Handle("a.example", robots(closedToAll))
			now := time.Now().UTC().Format(time.RFC3339)
			later := time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)
			for name, value := range map[string]string{
				"no file": fmt.Sprintf(`{"v":1,"origin":"http://a.example","state":"unavailable","status":404,"fetched":%q,"expires":%q}`,
					now, later),
				"a file": fmt.Sprintf(`{"v":1,"origin":"http://a.example","state":"good","status":200,"sha256":%q,"fetched":%q,"expires":%q}`,
					sha256Hex(openToAll), now, later),
			} {
				body := map[bool]string{true: openToAll}[name == "a file"]
				store := new(memoryStore)
				store.Put(t.Context(), key, []byte(value+"\n"+body), 0)
				if d := decide(t, newTestTransport(t, &web, withStore(store)).Checker(), "http://a.example/"); d.Allowed {
					t.Errorf("%s, under %s: got %v; want disallowed", name, key, d)
				}
				synctest.Wait()
			}
		})
	}
}

// A Store confuses keys and returns the record of another robot. The record
// contains the hash of its robot, so it is not used.
func TestRecordOfAnotherRobotIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(closedToAll))
		other := &record.Kind{UserAgent: "OtherBot/1.0", Tokens: []string{"OtherBot"}}
		now := time.Now()
		rec := &record.Record{State: record.Good, Status: 200, Doc: other.Document([]byte(openToAll)), Fetched: now,
			Expires: now.Add(time.Hour)}
		store := new(memoryStore)
		store.Put(t.Context(), testKind.Key("http://a.example"),
			other.Encode("http://a.example", rec, []byte(openToAll)), 0)
		if d := decide(t, newTestTransport(t, &web, withStore(store)).Checker(), "http://a.example/"); d.Allowed {
			t.Errorf("got %v; want disallowed", d)
		}
		synctest.Wait()
	})
}
