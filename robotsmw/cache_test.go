package robotsmw

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/internal/origin"
	"github.com/goodbots/courtesy/robotsmw/internal/record"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

func TestCacheDropsTheLeastRecentlyUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		for i := range 5 {
			web.Handle(fmt.Sprintf("h%d.example", i), robots(someRules))
		}
		c := newTestTransport(t, &web, func(o *Options) { o.MaxOrigins = 3 }).Checker()
		visit := func(hosts ...int) {
			for _, i := range hosts {
				decide(t, c, fmt.Sprintf("http://h%d.example/", i))
				time.Sleep(time.Millisecond)
			}
		}
		visit(0, 1, 2, 0, 3) // 1 goes
		visit(0, 2, 3)       // all there
		if n := robotsFetches(&web, ""); n != 4 {
			t.Errorf("%d fetches, want 4", n)
		}
		visit(1) // 0 goes
		visit(2, 3, 1)
		if n := robotsFetches(&web, ""); n != 5 {
			t.Errorf("%d fetches, want 5", n)
		}
		if s := c.Stats(); s.Origins != 3 {
			t.Errorf("%+v", s)
		}
	})
}

func TestCacheIsBoundedByOctets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		const limit = 100_000
		c := newTestTransport(t, &web, func(o *Options) { o.MaxOrigins, o.MaxBytes = 1000, limit }).Checker()
		for i := range 300 {
			host := fmt.Sprintf("h%d.example", i)
			text := "User-agent: *\n"
			for j := range rand.IntN(50) {
				text += fmt.Sprintf("Disallow: /some/path/%d\n", j)
			}
			web.Handle(host, robots(text))
			decide(t, c, "http://"+host+"/")
			if s := c.Stats(); s.Bytes > limit {
				t.Fatalf("%+v after %d origins", s, i+1)
			}
		}
		if s := c.Stats(); s.Bytes < limit/2 || s.Origins < 20 {
			t.Errorf("%+v: the cache holds less than it may", s)
		}
	})
}

// An origin in trouble keeps its place until its next try is due; when all
// places are so taken, a new origin is refused until the first is due.
func TestFullOfUnreachableOrigins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		c := newTestTransport(t, &web, func(o *Options) { o.MaxOrigins = 3 }).Checker()
		for i, retry := range []string{"300", "100", "200"} {
			host := fmt.Sprintf("down%d.example", i)
			web.Handle(host, status(503, "Retry-After: "+retry))
			decide(t, c, "http://"+host+"/")
		}
		web.Handle("new.example", robots(someRules))
		_, err := c.Check(t.Context(), mustURL(t, "http://new.example/"))
		delay, ok := errors.AsType[*politeness.DelayError](err)
		if !ok || time.Until(delay.Until) != 100*time.Second || delay.Host != "new.example" {
			t.Fatalf("%v (%+v), want a DelayError of 100 s", err, delay)
		}
		if errors.Is(err, ErrUnreachable) || errors.Is(err, ErrDisallowed) {
			t.Error("a refusal is taken for a verdict")
		}
		for i := range 3 { // they are all still known: no fetch
			decide(t, c, fmt.Sprintf("http://down%d.example/", i))
		}
		if n := len(web.Log()); n != 3 {
			t.Errorf("%d fetches, want 3", n)
		}
		if s := c.Stats(); s.Refused != 1 || s.Origins != 3 {
			t.Errorf("%+v", s)
		}
		time.Sleep(100 * time.Second)
		if d := decide(t, c, "http://new.example/private/"); d.Allowed {
			t.Errorf("%v", d)
		}
		if s := c.Stats(); s.Origins != 3 {
			t.Errorf("%+v", s)
		}
	})
}

// Whatever happens, the cache keeps its bounds and its books agree.
func TestCacheInvariants(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		k := &record.Kind{Tokens: []string{"ExampleBot"}}
		c := newCache(8, 4000, &k.Documents)
		var flights []*flight
		for range 2000 {
			now = now.Add(time.Duration(rnd.Int64N(int64(time.Minute))))
			name := fmt.Sprintf("http://h%d.example", rnd.IntN(30))
			switch rnd.IntN(5) {
			case 0, 1:
				_, f, started, _ := c.begin(name, now, rnd.IntN(2) == 0, func(prev *record.Record) *flight {
					return newFlight(name, origin.RobotsTxt(name), prev)
				})
				if started {
					flights = append(flights, f)
				}
			case 2, 3:
				if len(flights) == 0 {
					continue
				}
				i := rnd.IntN(len(flights))
				f := flights[i]
				flights = append(flights[:i], flights[i+1:]...)
				var rec *record.Record
				switch rnd.IntN(5) {
				case 0:
				case 1:
					rec = f.prev.Failed(f.robotsURL, now, 503, "status 503", 0)
				case 2:
					doc := k.Document(fmt.Appendf(nil, "User-agent: *\nDisallow: /%d\n", rnd.IntN(5)))
					rec = &record.Record{State: record.Good, Doc: doc, URL: f.robotsURL, Fetched: now, Expires: now.Add(time.Hour)}
				default:
					rec = &record.Record{State: record.Unavailable, URL: f.robotsURL, Fetched: now, Expires: now.Add(time.Hour)}
				}
				c.end(f, rec, now)
			case 4:
				if rnd.IntN(10) == 0 {
					c.forget(name)
				}
				c.get([]byte(name))
			}
			c.audit(t)
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	}
}

// audit counts everything again.
func (c *cache) audit(t *testing.T) {
	t.Helper()
	var bytes int64
	docs := make(map[*record.Document]int)
	count := func(e *entry) {
		bytes += e.cost()
		if d := e.rec.Load().Doc; d != nil {
			docs[d]++
		}
	}
	spare := 0 // entries that could go to make room
	for i := range c.shards {
		s := &c.shards[i]
		idle, flying := 0, 0
		for e := s.lru.next; e != &s.lru; e = e.next {
			idle++
			count(e)
			if e.flight != nil || e.at != 0 || s.entries[e.origin] != e {
				t.Errorf("%s is in the list, and should not be", e.origin)
			}
		}
		for j, e := range s.held {
			count(e)
			if e.at != j+1 || e.flight != nil || e.next != nil || s.entries[e.origin] != e {
				t.Errorf("%s is in the heap, and should not be", e.origin)
			}
		}
		for _, e := range s.entries {
			if e.flight != nil {
				flying++
			}
		}
		if idle != s.idle || idle+len(s.held)+flying != len(s.entries) {
			t.Errorf("%d idle, %d held, %d in flight; the books say %d idle, %d entries", idle, len(s.held), flying, s.idle, len(s.entries))
		}
		if idle > 0 && idle+len(s.held) > s.maxCount {
			t.Errorf("%d origins, with %d that could go", idle+len(s.held), idle)
		}
		if hot := s.hot.Load(); hot != nil && s.entries[hot.origin] != hot {
			t.Errorf("%s was forgotten, and is found", hot.origin)
		}
		spare += max(idle-1, 0)
	}
	for d, n := range docs {
		bytes += d.Cost()
		if held := c.docs.Held(d); held != n {
			t.Errorf("a document of %d origins has %d in the books", n, held)
		}
	}
	if bytes != c.bytes.Load() || c.docs.Len() > len(docs) {
		t.Errorf("%d octets and %d documents; the books say %d and %d", bytes, len(docs), c.bytes.Load(), c.docs.Len())
	}
	if len(c.shards) == 1 && spare > 0 && bytes > c.maxBytes {
		t.Errorf("%d octets, with %d origins that could go", bytes, spare)
	}
}

func TestCacheUnderContention(t *testing.T) {
	c := newCache(5000, 1<<19, new(record.Documents))
	if len(c.shards) < 2 {
		t.Fatal("one shard alone")
	}
	now := time.Now()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(g), 2))
			for range 5000 {
				name := fmt.Sprintf("http://h%d.example", rnd.IntN(8000))
				if c.get([]byte(name)) != nil {
					continue
				}
				_, f, started, err := c.begin(name, now, false, func(prev *record.Record) *flight {
					return newFlight(name, origin.RobotsTxt(name), prev)
				})
				if err == nil && started {
					c.end(f, &record.Record{State: record.Unavailable, Fetched: now, Expires: now.Add(time.Hour)}, now)
				}
			}
		})
	}
	wg.Wait()
	c.audit(t)
	if n, bytes := c.size(); n == 0 || n > 5000 || bytes > 1<<19+int64(len(c.shards))*2000 {
		t.Errorf("%d origins, %d octets", n, bytes)
	}
}
