package robotsmw

import (
	"context"
	"errors"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// refusedAddress returns the error of a dialer whose Control refuses 10.0.0.1.
func refusedAddress() error { return DialControl(PublicOnly)("tcp", "10.0.0.1:80", nil) }

// The error that made robots.txt unreachable is kept only in memory. After a
// restart, the text of the failure comes from the Store, and the message is the
// same.
func TestErrorAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Fail("a.example", syscall.ECONNREFUSED)
		store := new(memoryStore)
		before := &DisallowedError{decide(t, newTestTransport(t, &web, withStore(store)).Checker(),
			"http://a.example/")}
		synctest.Wait() // until the record is stored
		after := &DisallowedError{decide(t, newTestTransport(t, &web, withStore(store)).Checker(), "http://a.example/")}
		if !errors.Is(before, ErrUnreachable) || !errors.Is(after, ErrUnreachable) || before.Error() != after.Error() {
			t.Errorf("the error is\n%v\nbefore the restart, and\n%v\nafter it; want ErrUnreachable with the same text", before, after)
		}
		if !errors.Is(before, syscall.ECONNREFUSED) || errors.Is(after, syscall.ECONNREFUSED) {
			t.Errorf("errors.Is with ECONNREFUSED reports %t before and %t after the restart, want true and false",
				errors.Is(before, syscall.ECONNREFUSED), errors.Is(after, syscall.ECONNREFUSED))
		}
	})
}

// A process that refuses an address shares its Store with a process that does
// not. If the refusal were stored, the site would be unreachable for both.
func TestRefusedAddressIsNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var strict, open robotstest.Internet
		strict.Fail("inside.example", refusedAddress())
		open.Handle("inside.example", robots(someRules))
		store := new(memoryStore)
		err := &DisallowedError{decide(t, newTestTransport(t, &strict, withStore(store)).Checker(),
			"http://inside.example/")}
		if !errors.Is(err, ErrAddressRefused) || errors.Is(err, ErrUnreachable) {
			t.Errorf("the DisallowedError is %v, want only ErrAddressRefused", err)
		}
		synctest.Wait()
		if len(store.values) != 0 {
			t.Errorf("the Store contains %q, want nothing", store.values)
		}
		if d := decide(t, newTestTransport(t, &open, withStore(store)).Checker(), "http://inside.example/"); !d.Allowed {
			t.Errorf("in a process that refuses no address: got %v; want allowed", d)
		}
	})
}

// The address of a name may change. The pause after a refused address is one
// minute however often it was refused, and a good copy stays in force.
func TestRefusedAddressIsLookedUpAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Fail("a.example", refusedAddress())
		c := newTestTransport(t, &web).Checker()
		for range 10 {
			d := decide(t, c, "http://a.example/")
			if until := time.Until(d.NextTry); d.Allowed || until != time.Minute {
				t.Fatalf("the next try is in %v, want a minute, and disallowed: %v", until, d)
			}
			time.Sleep(time.Minute)
		}
		web.Handle("a.example", robots(someRules))
		if d := decide(t, c, "http://a.example/"); !d.Allowed {
			t.Errorf("with an address that is accepted: got %v; want allowed", d)
		}
		web.Fail("a.example", refusedAddress())
		time.Sleep(48 * time.Hour)
		d := decide(t, c, "http://a.example/private/")
		err := &DisallowedError{d}
		isDisallowed := errors.Is(err, ErrDisallowed) && !errors.Is(err, ErrAddressRefused)
		if d.Reason != ByRule || !d.Stale || !isDisallowed {
			t.Errorf("with a good copy: got %v; want disallowed by a rule of the stale copy", d)
		}
	})
}

// AllowAfter30Days applies only to unreachable sites. If an address is refused
// for 40 days, everything remains disallowed.
func TestRefusedAddressFor40Days(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Fail("a.example", refusedAddress())
		c := newTestTransport(t, &web, func(o *Options) { o.AllowAfter30Days = true }).Checker()
		for day := range 40 {
			if d := decide(t, c, "http://a.example/"); d.Allowed {
				t.Fatalf("on day %d: got %v; want disallowed", day, d)
			}
			time.Sleep(24 * time.Hour)
		}
	})
}

// A politeness.Transport below a transport of the program has an invalid
// Limiter, which no constructor can check. Each request returns that error, and
// no fetch counts as failed.
func TestInvalidLimiterBelowBase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hidden := struct{ http.RoundTripper }{&politeness.Transport{Base: new(robotstest.Internet),
			Limiter: &politeness.Limiter{Adaptive: -1}}}
		events := 0
		tr := newTestTransport(t, hidden, func(o *Options) {
			o.Observer = &Observer{
				Fetched: func(context.Context, Fetch) { events++ },
				Asked:   func(context.Context, string, *http.Response, []byte, error) { events++ },
				Decided: func(context.Context, Decision) { events++ },
			}
		})
		for range 2 {
			d, err := tr.Checker().Check(t.Context(), mustURL(t, "http://a.example/"))
			if !errors.Is(err, politeness.ErrInvalidLimiter) {
				t.Errorf("Check returned %v and error %v, want ErrInvalidLimiter", d, err)
			}
		}
		synctest.Wait()
		if events != 0 {
			t.Errorf("the Observer received %d events, want none", events)
		}
	})
}
