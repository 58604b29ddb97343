package robotsmw

// Details that nothing else in these tests would miss.

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/internal/record"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// S.idle > 1: the origin used last stays, however large.
func TestOneOriginFitsInto1Octet(t *testing.T) {
	var web robotstest.Internet
	web.Handle("a.example", robots(someRules))
	c := newTestTransport(t, &web, func(o *Options) { o.MaxBytes = 1 }).Checker()
	decide(t, c, "http://a.example/")
	decide(t, c, "http://a.example/")
	if n := robotsFetches(&web, ""); n != 1 {
		t.Errorf("%d fetches", n)
	}
}

// With nothing left to drop and too heavy, a new origin is refused.
func TestHeldOriginsFillTheOctets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("down.example", status(503))
		web.Handle("a.example", robots(someRules))
		c := newTestTransport(t, &web, func(o *Options) { o.MaxBytes, o.MaxOrigins = 1, 8 }).Checker()
		decide(t, c, "http://down.example/")
		_, err := c.Check(t.Context(), mustURL(t, "http://a.example/"))
		if d, ok := errors.AsType[*politeness.DelayError](err); !ok || time.Until(d.Until) != time.Minute {
			t.Errorf("%v", err)
		}
	})
}

// The next try is the target's.
func TestNextTryBehindARedirect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", status(301, "Location: http://b.example/robots.txt"))
		web.Handle("b.example", status(503, "Retry-After: 7200"))
		c := newTestTransport(t, &web).Checker()
		d := decide(t, c, "http://a.example/")
		if got := time.Until(d.NextTry); got != 2*time.Hour {
			t.Errorf("the next try is in %v", got)
		}
	})
}

// A 304 ends an outage.
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
			t.Fatal(d)
		}
		h.set(status(304))
		time.Sleep(2 * time.Minute)
		if d := decide(t, c, "http://a.example/"); d.Stale || d.Cause != "" || !d.NextTry.IsZero() {
			t.Errorf("%v, next try %v", d, d.NextTry)
		}
	})
}

// More codings than anybody uses are refused.
func TestManyCodings(t *testing.T) {
	web := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
		return answerOf(r, 200, someRules, "Content-Encoding: identity, identity, identity, identity"), nil
	})
	if d := decide(t, newTestTransport(t, web).Checker(), "http://a.example/"); d.Reason != Unreachable {
		t.Errorf("%v", d)
	}
}

// A redirect to an overridden origin reads what is served there.
func TestRedirectToAnOverriddenOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", status(301, "Location: http://b.example/robots.txt"))
		web.Handle("b.example", robots("User-agent: *\nDisallow: /private/\n"))
		c := newTestTransport(t, &web, func(o *Options) { o.Override = map[string]string{"http://b.example": DisallowAll} }).Checker()
		if d := decide(t, c, "http://a.example/"); !d.Allowed {
			t.Errorf("%v", d)
		}
		if d := decide(t, c, "http://b.example/"); d.Allowed {
			t.Errorf("%v", d)
		}
		if n := c.Stats().Origins; n != 1 {
			t.Errorf("%d origins kept, want the one that is not overridden", n)
		}
	})
}

// A user name in a Location is not sent.
func TestUserinfoOfALocation(t *testing.T) {
	web := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if r.URL.User != nil {
			t.Errorf("asked %s", r.URL)
		}
		if r.URL.Path == "/robots.txt" {
			return answerOf(r, 302, "", "Location: http://u:p@a.example/r.txt"), nil
		}
		return answerOf(r, 200, someRules), nil
	})
	decide(t, newTestTransport(t, web).Checker(), "http://a.example/")
}

// A short body is read to its end, so that the connection serves the pages too.
func TestShortErrorBodiesAreDrained(t *testing.T) {
	body := &drained{Reader: strings.NewReader("not found")}
	web := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
		resp := answerOf(r, 404, "")
		resp.Body, resp.ContentLength = body, 9
		return resp, nil
	})
	decide(t, newTestTransport(t, web).Checker(), "http://a.example/")
	if !body.eof || !body.closed {
		t.Errorf("%+v", body)
	}
}

type drained struct {
	io.Reader
	eof, closed bool
}

func (d *drained) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	d.eof = d.eof || err == io.EOF
	return n, err
}
func (d *drained) Close() error { d.closed = true; return nil }

// What another stored between our look and our lock is taken.
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
			t.Errorf("%d fetches", n)
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

// A fleet's clocks differ by a second or two: that is not "another clock".
func TestClockSkewInAFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(someRules))
		s := &memoryStore{}
		ahead := time.Now().Add(2 * time.Second)
		s.Put(t.Context(), "http://a.example", stored("http://a.example", someRules, record.Record{Fetched: ahead, Expires: ahead.Add(24 * time.Hour)}), 0)
		decide(t, newTestTransport(t, &web, withStore(s)).Checker(), "http://a.example/")
		synctest.Wait()
		if n := robotsFetches(&web, ""); n != 0 {
			t.Errorf("%d fetches of what a member whose clock is 2 s ahead has just fetched", n)
		}
	})
}
