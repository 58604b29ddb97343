package robotsmw

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
			t.Errorf("%d fetches of robots.txt, want 4", n)
		}
		visit(1) // h0 is dropped
		visit(2, 3, 1)
		if n := robotsFetches(&web, ""); n != 5 {
			t.Errorf("%d fetches of robots.txt, want 5", n)
		}
		if s := c.Stats(); s.Origins != 3 {
			t.Errorf("Stats().Origins = %d, want 3", s.Origins)
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
				t.Fatalf("Stats returns %+v after %d origins, want at most %d bytes", s, i+1, limit)
			}
		}
		if s := c.Stats(); s.Bytes < limit/2 || s.Origins < 20 {
			t.Errorf("Stats returns %+v, want at least %d bytes and 20 origins", s, limit/2)
		}
	})
}

// MaxBytes is not exceeded whatever MaxOrigins is, even if each file has the
// maximum size.
func TestBytesOfTheLargestFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 4 << 20
		rule := strings.Repeat("x", 500)
		web := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
			var text strings.Builder
			text.WriteString("User-agent: *\n")
			for i := range 900 {
				fmt.Fprintf(&text, "Disallow: /%d/%s/%s\n", i, r.URL.Host, rule)
			}
			return newResponse(r, 200, text.String()), nil
		})
		c := newTestTransport(t, web, func(o *Options) { o.MaxBytes = limit }).Checker()
		for i := range 40 {
			decide(t, c, fmt.Sprintf("http://h%d.example/", i))
			if s := c.Stats(); s.Bytes > limit {
				t.Fatalf("Stats returns %+v after %d origins, want at most %d bytes", s, i+1, limit)
			}
		}
	})
}

// An unreachable origin stays in memory until its next try. Here, memory is
// full of such origins. When a new origin is checked, one of them is evicted.
func TestFullOfUnreachableOrigins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		c := newTestTransport(t, &web, func(o *Options) { o.MaxOrigins = 3 }).Checker()
		for i, retry := range []string{"300", "100", "200"} {
			host := fmt.Sprintf("down%d.example", i)
			web.Handle(host, status(503, "Retry-After: "+retry))
			decide(t, c, "http://"+host+"/")
		}
		for i := range 3 { // their records are in memory, so no robots.txt is fetched
			decide(t, c, fmt.Sprintf("http://down%d.example/", i))
		}
		if n := len(web.Log()); n != 3 {
			t.Errorf("%d fetches of robots.txt, want 3", n)
		}
		web.Handle("new.example", robots(someRules))
		if d := decide(t, c, "http://new.example/private/"); d.Allowed {
			t.Errorf("got %v; want disallowed", d)
		}
		if s := c.Stats(); s.Origins != 3 {
			t.Errorf("Stats().Origins = %d, want 3", s.Origins)
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
		t.Errorf("%d fetches of robots.txt, want 1", n)
	}
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
			t.Errorf("%d fetches of the origin in constant use, want 1", n)
		}
	})
}
