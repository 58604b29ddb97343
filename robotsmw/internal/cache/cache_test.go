package cache

import (
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
// are right.
func TestCacheInvariants(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		k := &record.Kind{Tokens: []string{"ExampleBot"}}
		c := New(8, 4000, &k.Documents)
		var flights []*Flight
		for range 2000 {
			now = now.Add(time.Duration(rnd.Int64N(int64(time.Minute))))
			host := rnd.IntN(30)
			name := fmt.Sprintf("http://h%d.example", host)
			if seed%2 == 1 { // all origins belong to three domains
				name = fmt.Sprintf("http://h%d.owner%d.example", host, host%3)
			}
			switch rnd.IntN(5) {
			case 0, 1:
				_, f, started, _ := c.Begin(name, now, rnd.IntN(2) == 0)
				if started {
					flights = append(flights, f)
				}
				if f != nil && rnd.IntN(3) == 0 {
					f.Expect(now.Add(time.Hour))
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
				if rnd.IntN(10) == 0 {
					c.Forget(name)
				}
				c.Get([]byte(name))
			}
			if err := c.Audit(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	}
}

func TestCacheUnderContention(t *testing.T) {
	c := New(5000, 1<<19, new(record.Documents))
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
				if c.Get([]byte(name)) != nil {
					continue
				}
				_, f, started, err := c.Begin(name, now, false)
				if err == nil && started {
					c.End(f, &record.Record{State: record.Unavailable, Fetched: now, Expires: now.Add(time.Hour)}, nil, now)
				}
			}
		})
	}
	wg.Wait()
	if err := c.Audit(); err != nil {
		t.Error(err)
	}
	if n, bytes := c.Size(); n == 0 || n > 5000 || bytes > 1<<19+int64(len(c.shards))*2000 {
		t.Errorf("%d origins, %d bytes", n, bytes)
	}
}

// An origin whose next try is due is dropped at once if there is no room.
func TestReleasedOriginsAreDropped(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c := New(8, 10_000, new(record.Documents))
	for i := range 2 {
		_, f, _, err := c.Begin(fmt.Sprintf("http://h%d.example", i), now, false)
		if err != nil {
			t.Fatal(err)
		}
		c.End(f, f.Prev.Failed(f.RobotsURL, now, 503, "status 503", 0), nil, now)
	}
	if n, _ := c.Size(); n != 2 {
		t.Fatalf("%d origins", n)
	}
	c.maxBytes = 1 // as if large documents took all memory
	if _, _, _, err := c.Begin("http://a.example", now.Add(2*time.Minute), false); err != nil {
		t.Error(err)
	}
	if n, _ := c.Size(); n != 1 {
		t.Errorf("%d origins", n)
	}
}

// If the cache is full, origins of the domain with the most held origins are
// forgotten, to make room for other domains. New origins of this domain are
// then refused. They are refused until the last of the forgotten origins could
// have been asked again.
func TestLargestDomainGivesWay(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c := New(10, 1<<20, new(record.Documents))
	fail := func(name string, retryAfter time.Duration) error {
		t.Helper()
		_, f, _, err := c.Begin(name, now, false)
		if err == nil {
			c.End(f, f.Prev.Failed(f.RobotsURL, now, 503, "status 503", retryAfter), nil, now)
		}
		if err := c.Audit(); err != nil {
			t.Fatal(err)
		}
		return err
	}
	for i := range 7 {
		fail(fmt.Sprintf("http://a%d.one.example", i), time.Duration(10+i)*time.Minute)
	}
	for i := range 3 {
		fail(fmt.Sprintf("http://b%d.two.example", i), time.Hour)
	}
	if err := fail("http://a7.one.example", time.Hour); err == nil {
		t.Error("a domain that takes most places gets another")
	}
	for i := range 3 {
		if err := fail(fmt.Sprintf("http://c%d.three.example", i), time.Hour); err != nil {
			t.Error(err)
		}
	}
	// The first four origins of one.example are forgotten. The last of them
	// could be asked again in 13 minutes.
	for i, known := range []bool{false, false, false, false, true, true, true} {
		if got := c.Get(fmt.Appendf(nil, "http://a%d.one.example", i)) != nil; got != known {
			t.Errorf("a%d.one.example: known %v", i, got)
		}
	}
	err := fail("http://new.one.example", time.Hour)
	if d, ok := errors.AsType[*politeness.DelayError](err); !ok || !d.Until.Equal(now.Add(13*time.Minute)) {
		t.Errorf("%v, want a delay of 13 minutes", err)
	}
	if n, _ := c.Size(); n != 9 {
		t.Errorf("%d origins, want 9 and what stands for the forgotten", n)
	}
	now = now.Add(13 * time.Minute)
	if err := fail("http://a0.one.example", time.Hour); err != nil {
		t.Error(err)
	}
}

func TestDomainOfAnOrigin(t *testing.T) {
	for name, want := range map[string]string{
		"http://example.com":                       "example.com",
		"https://a.b.example.co.uk:8443":           "example.co.uk",
		"http://someone.github.io":                 "someone.github.io",
		"http://192.0.2.1:81":                      "192.0.2.1",
		"http://[2001:db8::1]:81":                  "2001:db8::/64",
		"http://[2001:db8::ffff:1]":                "2001:db8::/64",
		"http://[fe80::1%eth0]":                    "fe80::/64",
		"http://localhost":                         "localhost",
		"http://192.0.2.1 www.example.com":         "192.0.2.1",
		"http://foo_bar.r3---sn-x.example.com:123": "example.com",
	} {
		if got := domainOf(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
