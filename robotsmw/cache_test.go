package robotsmw

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
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
		visit(0, 1, 2, 0, 3) // h1 is dropped
		visit(0, 2, 3)       // all three are in memory
		if n := robotsFetches(&web, ""); n != 4 {
			t.Errorf("%d fetches, want 4", n)
		}
		visit(1) // h0 is dropped
		visit(2, 3, 1)
		if n := robotsFetches(&web, ""); n != 5 {
			t.Errorf("%d fetches, want 5", n)
		}
		if s := c.Stats(); s.Origins != 3 {
			t.Errorf("%+v", s)
		}
	})
}

func TestCacheIsBoundedByBytes(t *testing.T) {
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

// An unreachable origin keeps its place in memory until its next try. Here such
// origins hold all places, and no two of them belong to one domain. A new
// origin is refused until one of them may be tried again.
func TestFullOfUnreachableOrigins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		ev := new(events)
		c := newTestTransport(t, &web, func(o *Options) { o.MaxOrigins, o.Observer = 3, ev.observer() }).Checker()
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
		for i := range 3 { // their records are in memory, so no robots.txt is fetched
			decide(t, c, fmt.Sprintf("http://down%d.example/", i))
		}
		if n := len(web.Log()); n != 3 {
			t.Errorf("%d fetches, want 3", n)
		}
		if s := c.Stats(); ev.lookups[LookupRefused] != 1 || s.Origins != 3 {
			t.Errorf("%+v, %v", s, ev.lookups)
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

// The origin that was used last stays in memory, however large it is.
func TestOneOriginFitsInto1Byte(t *testing.T) {
	var web robotstest.Internet
	web.Handle("a.example", robots(someRules))
	c := newTestTransport(t, &web, func(o *Options) { o.MaxBytes = 1 }).Checker()
	decide(t, c, "http://a.example/")
	decide(t, c, "http://a.example/")
	if n := robotsFetches(&web, ""); n != 1 {
		t.Errorf("%d fetches", n)
	}
}

// If the records take too many bytes, and no record may be dropped, a new
// origin is refused.
func TestHeldOriginsFillTheBytes(t *testing.T) {
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

func TestHotOriginIsNeverEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("hot.example", robots(someRules))
		for i := range 40 {
			web.Handle(fmt.Sprintf("h%d.example", i), robots(someRules))
		}
		c := newTestTransport(t, &web, func(o *Options) { o.MaxOrigins = 3 }).Checker()
		decide(t, c, "http://hot.example/")
		decide(t, c, "http://hot.example/")
		for i := range 40 {
			decide(t, c, fmt.Sprintf("http://h%d.example/", i))
			decide(t, c, "http://hot.example/")
		}
		if n := robotsFetches(&web, "hot.example"); n != 1 {
			t.Errorf("%d fetches of the origin in constant use", n)
		}
	})
}
