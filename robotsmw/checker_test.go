package robotsmw

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// Sitemaps under DryRun and AllowAfter30Days.
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
