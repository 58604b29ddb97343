package politeness

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The books may contain any claims, but the grants never exceed the Budget. A
// line that was written is read back unchanged.
func FuzzBooks(f *testing.F) {
	f.Add("4 0 me \"shop.example\"\n9223372036854775807 9223372036854775807 me \"shop.example\"\n", "shop.example", int64(3), int64(0))
	f.Add("1 1 you \"a\"\n\n1 1 me\n-1 2 me \"a\"\n1 1 me \"a", "a", int64(1)<<62, int64(1)<<62)
	f.Add("", "b\nc\" \x00\xff", int64(0), int64(9))
	f.Fuzz(func(t *testing.T, text, host string, requests, size int64) {
		if requests < 0 || size < 0 {
			return
		}
		b := Budget{Requests: 10, Bytes: 1000}
		var taken, left purse
		line := fmt.Sprintf("%d %d %s %q\n", requests, size, "me", host)
		entries := entriesOf([]byte(text + "\n" + line))
		if last := entries[len(entries)-1]; last != (entry{purse{requests, size}, "me", host}) {
			t.Fatalf("%q is read as %+v", line, last)
		}
		for _, e := range entries {
			granted := b.grant(taken, e.claim)
			if granted.requests < 0 || granted.bytes < 0 {
				t.Fatalf("%+v is granted %+v", e, granted)
			}
			taken, left = taken.plus(granted), left.plus(granted)
		}
		if taken.requests > b.Requests || taken.bytes > b.Bytes || left != taken {
			t.Errorf("%+v is taken of %+v", taken, b)
		}
		if strings.Count(text, "\n")+2 < len(entries) {
			t.Errorf("%d entries of %q", len(entries), text)
		}
	})
}

// A state from another member of the fleet may contain anything. It never makes
// a request start sooner, and never makes a count of the Budget negative.
func FuzzHoldState(f *testing.F) {
	l := &Limiter{Budget: Budget{Requests: 10}}
	l.init()
	h := l.find("shop.example", 0)
	h.hold = &Hold{limiter: l, host: h}
	h.learn().crawl, h.learnt.until, h.learnt.level = 7e9, 9e9, 3
	h.last = 1e9
	l.openAccount(h.key).taken.requests = 4
	state, _ := l.leave(h, 2e9, true)
	f.Add(state)
	f.Add([]byte{})
	f.Add([]byte{0xff})
	f.Add(append([]byte{0xff}, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"...))
	f.Fuzz(func(t *testing.T, state []byte) {
		synctest.Test(t, func(t *testing.T) {
			fleet := make(stateFleet, 1)
			l := &Limiter{Fleet: fleet, Budget: Budget{Requests: 10, Bytes: 10}}
			g := new(Grant)
			if err := l.ask(t.Context(), mustURL(t, "http://shop.example/"), g); err != nil {
				t.Fatal(err)
			}
			g.try(true)
			h := l.hosts["shop.example"]
			before := l.due(h, anyone)
			hold := <-fleet
			hold.Wait(l.epoch, Record{State: state}, nil)
			hold.Own(Record{State: state})
			if after := l.due(h, anyone); after < before {
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

type stateFleet chan *Hold

func (f stateFleet) Look(h *Hold) {
	select {
	case f <- h:
	default:
	}
}
func (f stateFleet) Trusted() bool { return true }

func (f stateFleet) Landed(string, Record) {}

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
			l.accounts["shop.example"] = &account{day: l.day, taken: purse{requests: 3}}
			l.accounts["fleet.example"] = &account{day: l.day - 364, taken: purse{requests: 3}}
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
