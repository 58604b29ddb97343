package cache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

// After any sequence of calls, the cache is within its limits, and its counts
// are correct.
func TestCacheInvariants(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		k := &record.Kind{Tokens: []string{"ExampleBot"}}
		c := New(8, []int64{4000, 6 * flightSize}[seed%2], &k.Documents)
		var flights []*Flight
		var pins []Pin
		for range 2000 {
			now = now.Add(time.Duration(rnd.Int64N(int64(time.Minute))))
			name := fmt.Sprintf("http://h%d.example", rnd.IntN(30))
			switch rnd.IntN(7) {
			case 0, 1:
				_, f, started := c.Begin(name, now, rnd.IntN(2) == 0)
				if started {
					flights = append(flights, f)
				}
				if f != nil && rnd.IntN(3) == 0 {
					if rnd.IntN(2) == 0 {
						f.Expect(&politeness.DelayError{Until: now.Add(time.Hour)})
					}
					f.Leave()
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
					rec = f.Prev.Failed(f.RobotsURL, now, 503, "status 503", 0)
				case 2:
					doc := k.Document(fmt.Appendf(nil, "User-agent: *\nDisallow: /%d\n", rnd.IntN(5)))
					rec = &record.Record{State: record.Good, Doc: doc, URL: f.RobotsURL, Fetched: now, Expires: now.Add(time.Hour)}
				default:
					rec = &record.Record{State: record.Unavailable, URL: f.RobotsURL, Fetched: now, Expires: now.Add(time.Hour)}
				}
				c.End(f, rec, nil, now)
			case 4:
				c.Get([]byte(name))
			case 5:
				_, pin := c.Pin([]byte(name), now)
				pins = append(pins, pin)
			case 6:
				if len(pins) > rnd.IntN(10) {
					pins[0].Release(now)
					pins = pins[1:]
				}
			}
			if len(flights) > 0 {
				f := flights[rnd.IntN(len(flights))]
				c.Holds(f, int64(rnd.IntN(1500)), now)
			}
			for _, pin := range pins {
				if c.entries[pin.entry.origin] != pin.entry {
					t.Fatalf("seed %d: %s was evicted while a request waited for it, want it in the cache",
						seed, pin.entry.origin)
				}
			}
			if err := audit(c, flights); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	}
}

// audit recounts everything and returns an error for each count that is wrong.
func audit(c *Cache, flights []*Flight) error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	places := make(map[*entry]int)
	for e := c.lru.next; e != &c.lru; e = e.next {
		places[e]++
	}
	for i, e := range c.awaitingRetry {
		if places[e]++; e.at != i+1 {
			wrong("%s is at %d in the heap, and its position is %d, want the same", e.origin, i+1, e.at)
		}
	}
	var bytes int64
	flying, pinned := 0, 0
	docs := make(map[*record.Document]bool)
	for name, e := range c.entries {
		bytes += e.cost()
		switch {
		case e.flight != nil:
			flying++
			places[e]++
		case e.pins > 0:
			pinned++
			places[e]++
		}
		if places[e] != 1 || e.origin != name {
			wrong("%s is in %d of list, heap, fetches and pins, want 1", name, places[e])
		}
		if e.rec == nil {
			continue
		}
		bytes += e.rec.Cost()
		if d := e.rec.Doc; d != nil && !docs[d] {
			docs[d] = true
			bytes += d.Cost()
		}
	}
	var unattendedBytes int64
	for _, f := range flights {
		bytes += f.bytes
		isUnattended := f.bytes > 0 && f.callers == 0
		if isUnattended {
			unattendedBytes += f.bytes + flightSize
		}
		if isUnattended != (f.at > 0) || f.at > 0 && c.unattended[f.at-1] != f {
			wrong("%s has %d bytes and %d callers, and is at %d in the heap, want it there exactly if it has bytes but no callers",
				f.Origin, f.bytes, f.callers, f.at)
		}
		if f.noRoom && (f.callers > 0 || f.ctx.Err() == nil) {
			wrong("%s was marked as canceled with %d callers and cause %v, want no callers and a cause",
				f.Origin, f.callers, context.Cause(f.ctx))
		}
	}
	if unattendedBytes != c.unattendedBytes || unattendedBytes > c.maxBytes/2 && len(c.unattended) > 1 {
		wrong("unattended fetches have %d bytes, and the cache counts %d, want the same, and at most half of its limit unless there is only one",
			unattendedBytes, c.unattendedBytes)
	}
	idle := len(c.entries) - flying - pinned - len(c.awaitingRetry)
	isCounted := flying == c.flying && pinned == c.pinned
	switch {
	case len(places) != len(c.entries) || bytes != c.bytes || !isCounted:
		wrong("%d entries in places, %d in flight, %d pinned, %d bytes; the cache counts %d, %d, %d and %d, want the same",
			len(places), flying, pinned, bytes, len(c.entries), c.flying, c.pinned, c.bytes)
	case len(c.entries) > c.maxCount && flying+pinned < len(c.entries):
		wrong("the cache has %d origins, want at most %d", len(c.entries), c.maxCount)
	case bytes > c.maxBytes && idle+len(c.awaitingRetry) > 1:
		wrong("the cache has %d bytes, want at most %d, because %d origins could be evicted", bytes, c.maxBytes, idle+len(c.awaitingRetry))
	}
	return errors.Join(errs...)
}

func TestCacheUnderContention(t *testing.T) {
	c := New(5000, 1<<19, new(record.Documents))
	now := time.Now()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(g), 2))
			for range 5000 {
				name := fmt.Sprintf("http://h%d.example", rnd.IntN(8000))
				if c.Get([]byte(name)) != nil {
					continue
				}
				_, f, started := c.Begin(name, now, false)
				if started {
					c.End(f, &record.Record{State: record.Unavailable, Fetched: now, Expires: now.Add(time.Hour)}, nil, now)
				}
			}
		})
	}
	wg.Wait()
	if err := audit(c, nil); err != nil {
		t.Error(err)
	}
	if n, _, bytes := c.Size(); n == 0 || n > 5000 || bytes > 1<<19 {
		t.Errorf("the cache has %d origins and %d bytes, want 1 to 5000 and at most 512 KiB", n, bytes)
	}
}

// put adds a record of the origin to the cache: a failure with this Retry-After
// or, if it is 0, that there is no robots.txt.
func put(t *testing.T, c *Cache, name string, retryAfter time.Duration, now time.Time) {
	t.Helper()
	_, f, started := c.Begin(name, now, false)
	if !started {
		t.Fatalf("Begin(%s) did not start a fetch, want a new flight", name)
	}
	rec := &record.Record{State: record.Unavailable, Status: 404, URL: f.RobotsURL, Fetched: now, Expires: now.Add(day)}
	if retryAfter > 0 {
		rec = f.Prev.Failed(f.RobotsURL, now, 503, "status 503", retryAfter)
	}
	c.End(f, rec, nil, now)
	if err := audit(c, nil); err != nil {
		t.Fatal(err)
	}
}

const day = 24 * time.Hour

// All hosts of one domain fail for a day. They never occupy more than nine
// tenths of a full cache, so other origins are not evicted.
func TestUnreachableOriginsShutOutNobody(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c := New(100, 1<<20, new(record.Documents))
	for i := range 10 {
		put(t, c, fmt.Sprintf("http://honest%d.example", i), 0, now)
	}
	for i := range 1000 {
		put(t, c, fmt.Sprintf("http://h%d.owner.example", i), day, now)
	}
	for i := range 10 {
		if c.Get(fmt.Appendf(nil, "http://honest%d.example", i)) == nil {
			t.Errorf("honest%d.example was evicted, want it in the cache", i)
		}
	}
	for i := range 10 {
		put(t, c, fmt.Sprintf("http://new%d.example", i), 0, now)
	}
	if n, _, _ := c.Size(); n != 100 || len(c.awaitingRetry) < 85 || len(c.awaitingRetry) > 90 {
		t.Errorf("the cache has %d origins, %d of them unreachable; want 100, and 85 to 90", n, len(c.awaitingRetry))
	}
}

// While other origins can be evicted, an unreachable one stays until its next
// try. After that, it is the first to be evicted.
func TestUnreachableOriginStaysUntilItsNextTry(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c := New(10, 1<<20, new(record.Documents))
	put(t, c, "http://down.example", time.Hour, now)
	for i := range 100 {
		put(t, c, fmt.Sprintf("http://a%d.example", i), 0, now)
	}
	if c.Get([]byte("http://down.example")) == nil {
		t.Error("down.example was evicted before its next try, want it in the cache")
	}
	put(t, c, "http://b.example", 0, now.Add(time.Hour))
	if c.Get([]byte("http://down.example")) != nil || c.Get([]byte("http://a99.example")) == nil {
		t.Error("after the next try of down.example, it is in the cache or a99.example is not; want only down.example evicted")
	}
}

// If all origins in the cache have a fetch under way, a new origin exceeds the
// limit. When the fetches have ended, the limit is observed again.
func TestFullOfFetches(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c := New(3, 1<<20, new(record.Documents))
	var flights []*Flight
	for i := range 5 {
		_, f, started := c.Begin(fmt.Sprintf("http://h%d.example", i), now, false)
		if !started {
			t.Fatal("Begin did not start a fetch, want a new flight")
		}
		flights = append(flights, f)
	}
	for _, f := range flights {
		c.End(f, &record.Record{State: record.Unavailable, URL: f.RobotsURL, Fetched: now, Expires: now.Add(day)}, nil, now)
	}
	if n, flying, _ := c.Size(); n != 3 || flying != 0 {
		t.Errorf("the cache has %d origins and %d fetches, want 3 and 0", n, flying)
	}
}
