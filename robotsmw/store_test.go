package robotsmw

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/record"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// A memoryStore is a Store and a Locker that a fleet can share. A value expires
// after the ttl of its Put, or never if the ttl is 0.
type memoryStore struct {
	mu     sync.Mutex
	values map[string][]byte
	until  map[string]time.Time
	locks  map[string]time.Time
}

func (s *memoryStore) Get(_ context.Context, key string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.values[key]
	if until := s.until[key]; !ok || !until.IsZero() && !time.Now().Before(until) {
		return nil, fs.ErrNotExist
	}
	return bytes.Clone(v), nil
}

func (s *memoryStore) Put(_ context.Context, key string, value []byte, ttl time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values, s.until = make(map[string][]byte), make(map[string]time.Time)
	}
	s.values[key], s.until[key] = bytes.Clone(value), time.Now().Add(ttl)
	if ttl == 0 { // the tests store values with ttl 0, which do not expire
		delete(s.until, key)
	}
	return nil
}

func (s *memoryStore) Delete(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.values, key)
	return nil
}

func (s *memoryStore) TryLock(_ context.Context, key string, ttl time.Duration) (func(), bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().Before(s.locks[key]) {
		return nil, false, nil
	}
	if s.locks == nil {
		s.locks = make(map[string]time.Time)
	}
	until := time.Now().Add(ttl)
	s.locks[key] = until
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.locks[key].Equal(until) {
			delete(s.locks, key)
		}
	}, true, nil
}

func withStore(s Store) func(*Options) { return func(o *Options) { o.Store = s } }

// A new process uses the records that another process has stored: of a file, a
// missing file, or an unreachable server.
func TestWarmStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("good.example",
			robots(someRules+"Crawl-delay: 3\nSitemap: https://good.example/s.xml\n", `ETag: "1"`))
		web.Handle("none.example", status(404))
		web.Handle("down.example", status(503, "Retry-After: 600"))
		web.Handle("moved.example", status(301, "Location: http://other.example/robots.txt"))
		web.Handle("other.example", robots(someRules))
		store := new(memoryStore)
		urls := mustURLs(t,
			[]string{"http://good.example/private/", "http://good.example/", "http://none.example/",
				"http://down.example/", "http://moved.example/private/"})
		before := checkAll(t.Context(), newTestTransport(t, &web, withStore(store)).Checker(), urls)
		synctest.Wait() // records are stored only after the callers have their decisions
		fetches := len(web.Log())
		time.Sleep(time.Minute)
		c := newTestTransport(t, &web, withStore(store)).Checker()
		after := checkAll(t.Context(), c, urls)
		for i := range urls {
			b, a := before[i].Decision, after[i].Decision
			hasSameTimes := a.Expires.Equal(b.Expires) && a.Fetched.Equal(b.Fetched)
			hasSameFile := a.SHA256() == b.SHA256() && a.CrawlDelay == b.CrawlDelay
			if a.String() != b.String() || !hasSameTimes || !hasSameFile {
				t.Errorf("the decision is\n%v\nbefore the start of the new process, and\n%v\nafter it; want the same, by the same file, with the same times", b, a)
			}
		}
		if n := len(web.Log()) - fetches; n != 0 {
			t.Errorf("%d fetches of robots.txt after the start, want none: %v", n, web.Log()[fetches:])
		}
		// The validators of a good copy from the Store are used. The copy also
		// outlives an outage.
		web.Handle("good.example", status(304))
		time.Sleep(48 * time.Hour)
		c = newTestTransport(t, &web, withStore(store)).Checker()
		if d := decide(t, c, "http://good.example/private/"); d.Allowed || d.Stale || time.Since(d.Fetched) != 0 {
			t.Errorf("after a 304: got %v; want disallowed by the renewed file", d)
		}
		synctest.Wait()
		web.Handle("good.example", status(503))
		time.Sleep(48 * time.Hour)
		c = newTestTransport(t, &web, withStore(store)).Checker()
		if d := decide(t, c, "http://good.example/private/"); d.Allowed || !d.Stale {
			t.Errorf("during an outage: got %v; want disallowed by the stale copy", d)
		}
		synctest.Wait()
		c = newTestTransport(t, &web, withStore(store)).Checker()
		if d := decide(t, c, "http://good.example/private/"); d.Allowed || !d.Stale || d.Rule != "/private/" {
			t.Errorf("during an outage, from the Store: got %v; want disallowed by the stale copy", d)
		}
	})
}

// The 30 days of AllowAfter30Days are counted from the first failed fetch,
// whatever the number of restarts.
func TestThirtyDaysSurviveRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", status(503))
		store := new(memoryStore)
		check := func() Decision {
			c := newTestTransport(t, &web, withStore(store), func(o *Options) { o.AllowAfter30Days = true }).Checker()
			d := decide(t, c, "http://a.example/")
			synctest.Wait()
			return d
		}
		for range 30 {
			if d := check(); d.Allowed {
				t.Fatalf("within 30 days: got %v; want disallowed", d)
			}
			time.Sleep(24 * time.Hour)
		}
		if d := check(); !d.Allowed || d.Reason != Unreachable {
			t.Errorf("after 30 days: got %v; want allowed and unreachable", d)
		}
	})
}

// A badStore violates the conditions of Store. All its methods call get.
type badStore struct {
	get func(ctx context.Context) ([]byte, error)
}

func (s badStore) Get(ctx context.Context, _ string) ([]byte, error) { return s.get(ctx) }
func (s badStore) Put(ctx context.Context, _ string, _ []byte, _ time.Duration) error {
	_, err := s.get(ctx)
	return err
}
func (s badStore) Delete(ctx context.Context, _ string) error {
	_, err := s.get(ctx)
	return err
}

type badLocker struct{ badStore }

func (s badLocker) TryLock(ctx context.Context, _ string, _ time.Duration) (func(), bool, error) {
	_, err := s.get(ctx)
	return nil, false, err
}

// If a Store fails, hangs or returns invalid data, robots.txt is fetched, and
// the decision is the same as without a Store.
func TestBadStoreCostsAFetch(t *testing.T) {
	rubbish := func(b string) func(context.Context) ([]byte, error) {
		return func(context.Context) ([]byte, error) { return []byte(b), nil }
	}
	record := `{"v":2,"robot":"` + testKind.Robot() + `",` // the beginning of a valid record
	for name, get := range map[string]func(ctx context.Context) ([]byte, error){
		"fails":  func(context.Context) ([]byte, error) { return nil, errors.New("disk full") },
		"panics": func(context.Context) ([]byte, error) { panic("nil map") },
		"hangs": func(ctx context.Context) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		"hangs and ignores its context": func(ctx context.Context) ([]byte, error) {
			time.Sleep(10 * time.Minute)
			return nil, nil
		},
		"returns nothing":               rubbish(""),
		"returns rubbish":               rubbish("\x00\xff rubbish"),
		"returns JSON":                  rubbish("{}\n"),
		"returns another's record":      rubbish(record + `"origin":"http://c.example","state":"unavailable","status":404,"fetched":"2000-01-01T00:00:00Z","expires":"2000-01-01T12:00:00Z"}` + "\n"),
		"returns a lifetime of years":   rubbish(record + `"origin":"http://a.example","state":"unavailable","status":404,"fetched":"2000-01-01T00:00:00Z","expires":"2100-01-01T12:00:00Z"}` + "\n"),
		"returns rules of another hash": rubbish(record + `"origin":"http://a.example","state":"good","status":200,"sha256":"00","fetched":"2000-01-01T00:00:00Z","expires":"2000-01-01T12:00:00Z"}` + "\nUser-agent: *\nAllow: /\n"),
		"returns a newer version":       rubbish(`{"v":3,"robot":"` + testKind.Robot() + `","origin":"http://a.example","state":"unavailable","status":404,"fetched":"2000-01-01T00:00:00Z","expires":"2000-01-01T12:00:00Z"}` + "\n"),
	} {
		for _, locks := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, locker %v", name, locks), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var web robotstest.Internet
					web.Handle("a.example", robots(someRules))
					web.Handle("b.example", robots(someRules))
					var store Store = badStore{get: get}
					if locks {
						store = badLocker{badStore{get: get}}
					}
					ev := new(events)
					c := newTestTransport(t, &web, withStore(store),
						func(o *Options) { o.Observer = ev.observer() }).Checker()
					start := time.Now()
					for _, u := range []string{"http://a.example/private/", "http://b.example/private/"} {
						if d := decide(t, c, u); d.Allowed || d.Reason != ByRule {
							t.Errorf("%s: got %v; want disallowed by a rule", u, d)
						}
					}
					limit := 2*2*time.Second + 2*time.Second
					if locks && name != "hangs" && name != "hangs and ignores its context" {
						limit = 2 * time.Minute // how long to wait for a lock that never becomes free
					}
					if took := time.Since(start); took > limit {
						t.Errorf("the checks took %v, want at most %v", took, limit)
					}
					if n := len(web.Log()); n != 2 {
						t.Errorf("%d fetches of robots.txt, want 2", n)
					}
					time.Sleep(time.Hour)
					synctest.Wait()
					if len(ev.failures) == 0 && name != "returns nothing" {
						t.Error("the Observer received no failure of the Store, want at least one")
					}
				})
			})
		}
	}
}

// With a Locker, a fleet fetches each robots.txt once per lifetime.
func TestFleetFetchesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", slowly(5*time.Second, robots(someRules)))
		store := new(memoryStore)
		var fleet []*Checker
		for range 10 {
			fleet = append(fleet, newTestTransport(t, &web, withStore(store)).Checker())
		}
		all := func() {
			var wg sync.WaitGroup
			for _, c := range fleet {
				wg.Go(func() {
					if d := decide(t, c, "http://a.example/private/"); d.Allowed {
						t.Errorf("got %v; want disallowed", d)
					}
				})
			}
			wg.Wait()
		}
		all()
		if n := len(web.Log()); n != 1 {
			t.Errorf("%d fetches of robots.txt by a fleet of 10, want 1", n)
		}
		time.Sleep(25 * time.Hour)
		all()
		if n := len(web.Log()); n != 2 {
			t.Errorf("%d fetches over two lifetimes, want 2", n)
		}
		time.Sleep(time.Minute)
	})
}

// A lock lasts longer than the slowest fetch, so the other member waits for the
// end of the fetch.
func TestSlowHolderOfTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", slowly(35*time.Second, robots(someRules)))
		store := new(memoryStore)
		var wg sync.WaitGroup
		for range 2 {
			c := newTestTransport(t, &web, withStore(store),
				func(o *Options) { o.RobotsTimeout = 40 * time.Second }).Checker()
			wg.Go(func() {
				if d := decide(t, c, "http://a.example/private/"); d.Allowed {
					t.Errorf("got %v; want disallowed", d)
				}
			})
		}
		wg.Wait()
		if n := len(web.Log()); n != 1 {
			t.Errorf("%d fetches of robots.txt by two members, want 1", n)
		}
		time.Sleep(time.Minute)
	})
}

// After a restart, a stored 404 is used until it expires. A stored good copy is
// still used after 28 days of an outage.
func TestStoredForAsLongAsItIsOfUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("none.example", status(404))
		web.Handle("good.example", robots(someRules))
		store := new(memoryStore)
		restart := func(url string) Decision {
			d := decide(t, newTestTransport(t, &web, withStore(store)).Checker(), url)
			synctest.Wait()
			return d
		}
		restart("http://none.example/")
		restart("http://good.example/")
		web.Handle("good.example", status(503))
		time.Sleep(19 * time.Hour)
		if d := restart("http://none.example/"); d.Reason != Unavailable || robotsFetches(&web, "none.example") != 1 {
			t.Errorf("after 19 hours: got %v after %d fetches, want unavailable after 1", d,
				robotsFetches(&web, "none.example"))
		}
		time.Sleep(28 * 24 * time.Hour)
		if d := restart("http://good.example/private/"); d.Reason != ByRule || !d.Stale {
			t.Errorf("after 28 days of an outage: got %v; want a rule of the stale copy", d)
		}
	})
}

// If a member dies while it has the lock, the others wait only until the lock
// expires.
func TestDeadHolderOfTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(someRules))
		store := new(memoryStore)
		store.TryLock(t.Context(), testKind.Key("http://a.example"), 40*time.Second)
		c := newTestTransport(t, &web, withStore(store)).Checker()
		start := time.Now()
		if d := decide(t, c, "http://a.example/private/"); d.Allowed {
			t.Errorf("got %v; want disallowed", d)
		}
		if took := time.Since(start); took > 42*time.Second {
			t.Errorf("the check took %v, want at most 42s", took)
		}
	})
}

// A stored record has the highest possible count of failures. The count does
// not overflow, and the next try is in the future.
func TestStoredCountOverflows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", status(503))
		s := &memoryStore{}
		ago := time.Now().Add(-time.Hour)
		rec := &record.Record{Failure: &record.Failure{Since: ago, Last: ago, Count: math.MaxInt, Cause: "x",
			Retry: ago.Add(time.Minute)}}
		s.Put(t.Context(), testKind.Key("http://a.example"), testKind.Encode("http://a.example", rec, nil), 0)
		c := newTestTransport(t, &web, withStore(s)).Checker()
		d := decide(t, c, "http://a.example/")
		if !d.NextTry.After(time.Now()) {
			t.Errorf("the next try is at %v, want later than now", d.NextTry)
		}
		time.Sleep(time.Second)
		decide(t, c, "http://a.example/")
		synctest.Wait()
		decide(t, c, "http://a.example/")
		synctest.Wait()
	})
}

// A member of a fleet reads the Store and then acquires the lock. If another
// member stores a record between these two steps, the record is used.
func TestStoredJustBeforeTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(someRules))
		s := &lateStore{}
		s.late = func() {
			decide(t, newTestTransport(t, &web, withStore(&s.memoryStore)).Checker(), "http://a.example/")
			synctest.Wait()
		}
		decide(t, newTestTransport(t, &web, withStore(s)).Checker(), "http://a.example/")
		synctest.Wait()
		if n := robotsFetches(&web, ""); n != 1 {
			t.Errorf("%d fetches of robots.txt, want 1", n)
		}
	})
}

type lateStore struct {
	memoryStore
	late func()
}

func (s *lateStore) TryLock(ctx context.Context, key string, ttl time.Duration) (func(), bool, error) {
	done := make(chan struct{})
	go func() { defer close(done); s.late() }()
	<-done
	return s.memoryStore.TryLock(ctx, key, ttl)
}

// A record is used although the clock of the member that stored it is two
// seconds ahead.
func TestClockSkewInAFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(someRules))
		s := &memoryStore{}
		ahead := time.Now().Add(2 * time.Second)
		s.Put(t.Context(), testKind.Key("http://a.example"),
			stored("http://a.example", someRules, record.Record{Fetched: ahead, Expires: ahead.Add(24 * time.Hour)}), 0)
		decide(t, newTestTransport(t, &web, withStore(s)).Checker(), "http://a.example/")
		synctest.Wait()
		if n := robotsFetches(&web, ""); n != 0 {
			t.Errorf("%d fetches of robots.txt although another member has just stored the file, want none", n)
		}
	})
}

// After a restart, a stored record in the last fifth of its lifetime is used
// immediately, and no caller waits for a fetch.
func TestWarmStartInTheLastFifth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(someRules))
		s := &memoryStore{}
		decide(t, newTestTransport(t, &web, withStore(s)).Checker(), "http://a.example/")
		synctest.Wait()
		time.Sleep(20 * time.Hour)
		start := time.Now()
		slow := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
			time.Sleep(10 * time.Second)
			return web.RoundTrip(r)
		})
		decide(t, newTestTransport(t, slow, withStore(s)).Checker(), "http://a.example/")
		if d := time.Since(start); d > time.Second {
			t.Errorf("the caller waited %v, want no wait, because the stored record is valid for 4 hours", d)
		}
		synctest.Wait()
	})
}

// If Base panics while this member has the lock, the lock is released.
func TestPanicReleasesTheStoreLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &memoryStore{}
		bad := roundTripperFunc(func(r *http.Request) (*http.Response, error) { panic("boom") })
		decide(t, newTestTransport(t, bad, withStore(s)).Checker(), "http://a.example/")
		synctest.Wait()
		if len(s.locks) != 0 {
			t.Errorf("the Store still has %d locks, want none", len(s.locks))
		}
	})
}

func TestStoreAndIPv6Zone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		web := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
			n++
			return newResponse(r, 200, someRules), nil
		})
		s := &memoryStore{}
		decide(t, newTestTransport(t, web, withStore(s)).Checker(), "http://[fe80::1%25eth0]/")
		synctest.Wait()
		decide(t, newTestTransport(t, web, withStore(s)).Checker(), "http://[fe80::1%25eth0]/")
		synctest.Wait()
		if n != 1 {
			t.Errorf("%d fetches of robots.txt, want 1", n)
		}
	})
}

// A stored validator that is not a valid header value is not sent, and the file
// is fetched without validators.
func TestStoredValidatorsThatCannotBeSent(t *testing.T) {
	srv := newLoopback(t)
	s := &memoryStore{}
	ago := time.Now().Add(-25 * time.Hour)
	old := "User-agent: *\nDisallow: /new\n"
	rec := record.Record{Source: &record.Source{ETag: "a\nb"}, Fetched: ago, Expires: ago.Add(24 * time.Hour)}
	s.Put(t.Context(), testKind.Key(srv), stored(srv, old, rec), 0)
	d := decide(t, newTestTransport(t, http.DefaultTransport, withStore(s)).Checker(), srv+"/new")
	if !d.Allowed || d.Stale {
		t.Errorf("got %v; want allowed by a new file", d)
	}
}
