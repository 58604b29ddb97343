package redislimit

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/goodbots/courtesy/politeness"
)

// The tests against real servers are in integration_test.

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOptionsThatMakeNoSense(t *testing.T) {
	client := redis.NewUniversalClient(&redis.UniversalOptions{})
	defer client.Close()
	for name, try := range map[string]func() (*Backend, error){
		"no client":        func() (*Backend, error) { return New(nil, Options{}) },
		"a brace":          func() (*Backend, error) { return New(client, Options{Namespace: "a}b"}) },
		"a key pattern":    func() (*Backend, error) { return New(client, Options{Namespace: "a*"}) },
		"white space":      func() (*Backend, error) { return New(client, Options{Namespace: "a b"}) },
		"negative Timeout": func() (*Backend, error) { return New(client, Options{Timeout: -1}) },
	} {
		if b, err := try(); err == nil || b != nil {
			t.Errorf("%s: %v, %v", name, b, err)
		}
	}
}

// Whoever reads the log or an error does not learn how to get in.
func TestErrorsAndLogsNameNoSecret(t *testing.T) {
	options, err := redis.ParseURL("redis://mallory:hunter2@127.0.0.1:1/0")
	if err != nil {
		t.Fatal(err)
	}
	options.MaxRetries = -1
	client := redis.NewClient(options)
	defer client.Close()
	var logged bytes.Buffer
	b, err := New(client, Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	if err != nil {
		t.Fatal(err)
	}
	l := &politeness.Limiter{Shared: b}
	_, err = l.Acquire(t.Context(), &url.URL{Host: "example.com"})
	away, ok := errors.AsType[*AwayError](err)
	if !ok || away.Host != "example.com" || time.Until(away.Until) > time.Second {
		t.Errorf("%v, want an *AwayError", err)
	}
	if _, ok := errors.AsType[*politeness.DelayError](err); !ok {
		t.Errorf("%v is no *politeness.DelayError", err)
	}
	b.mu.Lock() // orders the reading of the log
	defer b.mu.Unlock()
	if said := err.Error() + logged.String(); strings.Contains(said, "hunter2") || strings.Contains(said, "mallory") {
		t.Error(said)
	}
	if n := strings.Count(logged.String(), "Redis is away"); n != 1 {
		t.Errorf("logged %d times: %s", n, logged.String())
	}
}

// Two seats never start within a Delay of each other, whatever the numbers of
// seats that they have heard of, and a seat uses each of its turns.
func TestOwnCells(t *testing.T) {
	const delay = 100_000
	terms := politeness.Terms{Delay: delay * time.Microsecond, Pace: delay * time.Microsecond}
	owner := make(map[int64]int64)
	for _, seats := range []int64{8, 16} {
		for seat := range int64(8) {
			n := 0
			for at := ownCell(1, seat, seats, terms); at < 100*seats*delay; at = ownCell(at+1, seat, seats, terms) {
				if at%delay != 0 {
					t.Fatalf("seat %d of %d starts at %d", seat, seats, at)
				}
				if other, ok := owner[at]; ok && other != seat {
					t.Fatalf("seats %d and %d meet at %d", seat, other, at)
				}
				owner[at] = seat
				n++
			}
			if n < 99 || n > 100 {
				t.Errorf("seat %d of %d: %d turns of 100", seat, seats, n)
			}
		}
	}
}

// Under a Crawl-delay all seats together keep it, at every ratio to the Delay, and are
// not much slower than it. The fetch of robots.txt keeps to the cells.
func TestOwnCellsUnderACrawlDelay(t *testing.T) {
	for _, seats := range []int64{1, 2, 8} {
		for _, crawl := range []time.Duration{time.Second, 1500 * time.Millisecond, 2 * time.Second, 10 * time.Second, 61 * time.Second} {
			terms := politeness.Terms{Delay: time.Second, Pace: time.Second, CrawlDelay: crawl}
			next := make([]int64, seats)
			var last, first int64
			starts := int64(0)
			for i := range next {
				next[i] = ownCell(1, int64(i), seats, terms)
			}
			for starts < 200 {
				seat := 0
				for i := range next {
					if next[i] < next[seat] {
						seat = i
					}
				}
				at := next[seat]
				if starts == 0 {
					first = at
				} else if gap := time.Duration(at-last) * time.Microsecond; gap < crawl {
					t.Fatalf("%d seats, Crawl-delay %v: two starts are %v apart", seats, crawl, gap)
				}
				last = at
				starts++
				next[seat] = ownCell(at+1, int64(seat), seats, terms)
			}
			mean := time.Duration((last-first)/(starts-1)) * time.Microsecond
			if mean > crawl+time.Duration(2*seats)*time.Second {
				t.Errorf("%d seats, Crawl-delay %v: a start every %v", seats, crawl, mean)
			}
			robots := terms
			robots.Exempt = true
			if wait := ownCell(0, 0, seats, robots); wait > seats*1e6 {
				t.Errorf("%d seats: robots.txt waits for %v", seats, wait)
			}
		}
	}
}

func TestOwnCellsWithoutADelay(t *testing.T) {
	if at := ownCell(12345, 3, 8, politeness.Terms{}); at != 12345 {
		t.Errorf("no pace to keep: starts at %d", at)
	}
	terms := politeness.Terms{CrawlDelay: time.Second}
	if at := ownCell(1, 3, 8, terms); at != 3e6 {
		t.Errorf("only a Crawl-delay: starts at %d", at)
	}
}

// What is known of Redis's clock is never ahead of it, so no slot begins early.
func TestClock(t *testing.T) {
	base := time.Now()
	const offset = 1_700_000_000_000_000
	at := func(d time.Duration) time.Time { return base.Add(d) }
	server := func(d time.Duration) int64 { return offset + d.Microseconds() }
	var c clock
	c.learn(at(0), at(40*time.Millisecond), server(10*time.Millisecond))
	if late := c.local(server(time.Second)).Sub(at(time.Second)); late != 30*time.Millisecond {
		t.Errorf("after an answer that took 30 ms back: %v late", late)
	}
	c.learn(at(time.Second), at(1002*time.Millisecond), server(1001*time.Millisecond))
	if late := c.local(server(2 * time.Second)).Sub(at(2 * time.Second)); late != time.Millisecond {
		t.Errorf("after one that took 1 ms: %v late", late)
	}
	c.learn(at(2*time.Second), at(3*time.Second), server(2500*time.Millisecond))
	if late := c.local(server(4 * time.Second)).Sub(at(4 * time.Second)); late != time.Millisecond {
		t.Errorf("after a slow one: %v late", late)
	}
	// Redis's clock is set back by an hour.
	back := func(d time.Duration) int64 { return server(d - time.Hour) }
	c.learn(at(5*time.Second), at(5001*time.Millisecond), back(5*time.Second))
	if late := c.local(back(6 * time.Second)).Sub(at(6 * time.Second)); late < 0 || late > time.Millisecond {
		t.Errorf("after it was set back: %v late", late)
	}
	// What is old counts no more: clocks drift.
	for minute := range 4 {
		now := time.Duration(minute+1)*61*time.Second + 10*time.Second
		c.learn(at(now), at(now+2*time.Millisecond), back(now))
	}
	if late := c.local(back(time.Hour)).Sub(at(time.Hour)); late != 2*time.Millisecond {
		t.Errorf("minutes later: %v late", late)
	}
}

func ExampleNew() {
	client := redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs:                 []string{"127.0.0.1:6379"},
		DialTimeout:           100 * time.Millisecond, // what is lost is noticed as soon
		ContextTimeoutEnabled: true,
	})
	defer client.Close()
	fleet, err := New(client, Options{Namespace: "mybot"})
	if err != nil {
		log.Fatal(err)
	}
	limiter := &politeness.Limiter{Shared: fleet}
	fmt.Println(limiter.Validate())
	// Output: <nil>
}
