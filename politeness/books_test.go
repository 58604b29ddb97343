package politeness

import (
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness/internal/fleet"
)

// A book may contain anything: what it says is reserved is never negative. A
// line that was written is read back unchanged, whatever stands before it.
func FuzzBooks(f *testing.F) {
	f.Add("4 0 \"shop.example\"\n9223372036854775807 9223372036854775807 \"shop.example\"\n", "shop.example", int64(3), int64(0))
	f.Add("1 1 you \"a\"\n\n1 1 \n-1 2 \"a\"\n1 1 \"a", "a", int64(1)<<62, int64(1)<<62)
	f.Add("", "b\nc\" \x00\xff", int64(0), int64(9))
	f.Fuzz(func(t *testing.T, text, host string, requests, size int64) {
		if requests < 0 || size < 0 {
			return
		}
		dir, want := t.TempDir(), amount{requests, size}
		if err := os.WriteFile(bookOf(dir, 9), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := writeBook(dir, 9, host, want); err != nil {
			t.Fatal(err)
		}
		var total, last amount
		var lastHost string
		err := readBook(dir, 9, func(host string, p amount) {
			if p.requests < 0 || p.bytes < 0 {
				t.Fatalf("%+v is reserved", p)
			}
			total, last, lastHost = total.plus(p), p, host
		})
		if err != nil || last != want || lastHost != host || total.requests < requests || total.bytes < size {
			t.Errorf("%+v for %q is read as %+v for %q, %+v in all: %v", want, host, last, lastHost, total, err)
		}
	})
}

// A state from another member of the fleet may contain anything. It never makes
// a request start sooner, and never makes a count of the Budget negative.
func FuzzHoldState(f *testing.F) {
	l := &Limiter{Budget: Budget{Requests: 10}}
	l.init()
	h := l.find("shop.example", 0)
	h.hold = &hold{limiter: l, host: h}
	h.Learn().CrawlDelay, h.Learned.PauseEnd, h.Learned.Level = 7e9, 9e9, 3
	h.LastStart = 1e9
	l.openAccount(h.key).taken.requests = 4
	state, _ := l.export(h, 2e9, true)
	f.Add(state)
	f.Add([]byte{})
	f.Add([]byte{0xff})
	f.Add(append([]byte{1, 0xff}, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"...))
	f.Fuzz(func(t *testing.T, state []byte) {
		synctest.Test(t, func(t *testing.T) {
			told := make(stateFleet, 1)
			l := &Limiter{Fleet: told, Budget: Budget{Requests: 10, Bytes: 10}}
			g := new(Grant)
			if err := l.prepare(t.Context(), mustURL(t, "http://shop.example/"), g); err != nil {
				t.Fatal(err)
			}
			g.try(true)
			h := l.hosts["shop.example"]
			before := h.DueForAny()
			hold := <-told
			hold.Wait(l.epoch, fleet.Record{State: state}, nil)
			hold.Own(fleet.Record{State: state})
			if after := h.DueForAny(); after < before {
				t.Errorf("due %v, and before %v", after, before)
			}
			if a := l.accountOf(h.key); a != nil && (a.taken.requests < 0 || a.taken.bytes < 0) {
				t.Errorf("%+v", a)
			}
			g.leave(false)
			hold.Give(true)
		})
	})
}

type stateFleet chan fleet.Hold

func (f stateFleet) Look(h fleet.Hold) {
	select {
	case f <- h:
	default:
	}
}
func (f stateFleet) Trusted() bool { return true }

func (f stateFleet) Landed(string, fleet.Record) {}

// A Budget was spent while the clock was a year ahead. When the clock has been
// set right, requests are granted again, without waiting for a year. But claims
// for today that are in the books still count.
func TestBudget_ClockSetBack(t *testing.T) {
	for name, dir := range map[string]string{"in memory": "", "in a directory": t.TempDir()} {
		synctest.Test(t, func(t *testing.T) {
			u := mustURL(t, "http://shop.example/")
			l := &Limiter{Delay: -1, Budget: Budget{Requests: 3, Dir: dir}}
			use := func() (n int) {
				for {
					g, err := l.Acquire(t.Context(), u)
					if err != nil {
						if _, ok := errors.AsType[*DelayError](err); !ok {
							t.Fatal(name, err)
						}
						return n
					}
					g.Done(Outcome{Status: 200})
					n++
				}
			}
			today := use()
			l.mu.Lock() // as if the clock were a year ahead
			l.day += 365
			l.accounts["shop.example"] = &account{day: l.day, taken: amount{requests: 3}}
			l.accounts["fleet.example"] = &account{day: l.day - 364, taken: amount{requests: 3}}
			l.mu.Unlock()
			want := 3
			if dir != "" {
				want = 0 // the books contain the claims that the first use() made for today
			}
			if n := use(); today != 3 || n != want {
				t.Errorf("%s: %d requests, and %d when the clock was right again; want 3 and %d", name, today, n, want)
			}
			if l.accounts["fleet.example"] == nil {
				t.Errorf("%s: what a clock a day ahead has told is forgotten", name)
			}
			time.Sleep(24 * time.Hour)
			if n := use(); n != 3 {
				t.Errorf("%s: %d requests on the next day, want 3", name, n)
			}
		})
	}
}
