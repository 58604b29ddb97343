package robotsmw

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// The error of Sitemaps never says "allowed", not even under DryRun.
func TestSitemapsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", status(503))
		c := newTestTransport(t, &web, func(o *Options) { o.DryRun = true }).Checker()
		_, err := c.Sitemaps(t.Context(), mustURL(t, "http://a.example/"))
		if err == nil || strings.Contains(err.Error(), ": allowed") {
			t.Errorf("%v", err)
		}
	})
}

// Sitemaps looks up robots.txt as Check does: an Observer sees each lookup, and
// the file is refreshed before its lifetime ends.
func TestSitemapsLookAsCheckDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots("Sitemap: http://a.example/s.xml\n"))
		ev := new(events)
		c := newTestTransport(t, &web, func(o *Options) { o.Observer = ev.observer() }).Checker()
		for _, wait := range []time.Duration{0, time.Hour, 19 * time.Hour} {
			time.Sleep(wait)
			if s, err := c.Sitemaps(t.Context(), mustURL(t, "http://a.example/")); err != nil || len(s) != 1 {
				t.Errorf("%v, %v", s, err)
			}
			synctest.Wait()
		}
		if ev.lookups[LookupMiss] != 1 || ev.lookups[LookupHit] != 2 || len(ev.decisions) != 0 {
			t.Errorf("lookups %v, %d decisions", ev.lookups, len(ev.decisions))
		}
		if n := robotsFetches(&web, ""); n != 2 {
			t.Errorf("%d fetches, want one and its refresh", n)
		}
	})
}
