package robotsmw

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// mapRules has Sitemap lines of different spellings and places, and none that
// depends on the crawler's name.
const mapRules = "Sitemap: http://a.example/one.xml\n" +
	"User-agent: *\nDisallow: /private/\n" +
	"SITEMAP:http://other.example/two.xml # on another host\n" +
	"User-agent: OtherBot\nDisallow: /\nsitemap: /relative.xml\nSitemap:\n"

var mapRulesSitemaps = []string{"http://a.example/one.xml", "http://other.example/two.xml", "/relative.xml"}

// The cases that the documentation of Sitemaps lists, without and with
// KeepFiles.
func TestSitemaps(t *testing.T) {
	for _, keep := range []bool{false, true} {
		for _, tt := range []struct {
			name string
			url  string
			edit func(*Options)
			want []string
			err  error // that errors.Is finds; nil means no error
		}{
			{name: "lines", url: "http://a.example/page", want: mapRulesSitemaps},
			{name: "of a disallowed page", url: "http://a.example/private/", want: mapRulesSitemaps},
			{name: "of robots.txt itself", url: "http://a.example/robots.txt", want: mapRulesSitemaps},
			{name: "after a redirect", url: "http://moved.example/", want: mapRulesSitemaps},
			{name: "no lines", url: "http://plain.example/"},
			{name: "an empty file", url: "http://empty.example/"},
			{name: "missing", url: "http://none.example/"},
			{name: "401", url: "http://locked.example/"},
			{name: "401 that disallows", url: "http://locked.example/",
				edit: func(o *Options) { o.DisallowForbidden = true }},
			{name: "an override", url: "http://mine.example/", want: []string{"http://mine.example/map.xml"}},
			{name: "another scheme", url: "data:text/plain,a"},
			{name: "503", url: "http://down.example/", err: ErrUnreachable},
			{name: "no such host", url: "http://nowhere.example/", err: ErrUnreachable},
		} {
			t.Run(fmt.Sprintf("%s, KeepFiles %v", tt.name, keep), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var web robotstest.Internet
					web.Handle("a.example", robots(mapRules))
					web.Handle("moved.example",
						http.RedirectHandler("http://a.example/robots.txt", http.StatusMovedPermanently))
					web.Handle("plain.example", robots(someRules))
					web.Handle("empty.example", robots(""))
					web.Handle("none.example", status(404))
					web.Handle("locked.example", status(401))
					web.Handle("down.example", status(503))
					c := newTestTransport(t, &web, func(o *Options) {
						o.KeepFiles = keep
						o.Override = map[string]string{"http://mine.example": "Sitemap: http://mine.example/map.xml\n"}
						if tt.edit != nil {
							tt.edit(o)
						}
					}).Checker()
					got, err := c.Sitemaps(t.Context(), mustURL(t, tt.url))
					if !slices.Equal(got, tt.want) || !errors.Is(err, tt.err) {
						t.Errorf("Sitemaps returned %q and error %v, want %q and error %v", got, err, tt.want, tt.err)
					}
					if disallowed, ok := errors.AsType[*DisallowedError](err); ok && !disallowed.Decision.NextTry.After(time.Now()) {
						t.Errorf("NextTry is %v, want a time in the future: %v", disallowed.Decision.NextTry, err)
					}
				})
			})
		}
	}
}

// Sitemaps fetches robots.txt once, sends no other request, and makes no
// decision. The caller may change the result.
func TestSitemaps_FetchesRobotsTxtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(mapRules))
		var seen events
		c := newTestTransport(t, &web, func(o *Options) { o.Observer = seen.observer() }).Checker()
		for range 3 {
			got, err := c.Sitemaps(t.Context(), mustURL(t, "http://a.example/"))
			if !slices.Equal(got, mapRulesSitemaps) || err != nil {
				t.Errorf("Sitemaps returned %q and error %v, want the Sitemap lines", got, err)
			}
			clear(got)
		}
		if n := len(web.Log()); n != 1 {
			t.Errorf("%d requests, want the one for robots.txt", n)
		}
		if len(seen.decisions) != 0 {
			t.Errorf("the Observer received the decisions %v, want none", seen.decisions)
		}
	})
}

// While the server fails, Sitemaps returns the lines of the last good copy. If
// there is no such copy, Sitemaps returns ErrUnreachable. With
// AllowAfter30Days, after 30 days, it returns nil instead, as for a missing
// file.
func TestSitemaps_WhileFetchesFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		site := new(switchable)
		site.set(robots(mapRules))
		web.Handle("a.example", site)
		web.Handle("down.example", status(503))
		c := newTestTransport(t, &web, func(o *Options) { o.AllowAfter30Days = true }).Checker()
		u, down := mustURL(t, "http://a.example/"), mustURL(t, "http://down.example/")
		for range 2 {
			if got, err := c.Sitemaps(t.Context(), u); !slices.Equal(got, mapRulesSitemaps) || err != nil {
				t.Errorf("Sitemaps returned %q and error %v, want the Sitemap lines", got, err)
			}
			if got, err := c.Sitemaps(t.Context(), down); got != nil || !errors.Is(err, ErrUnreachable) {
				t.Errorf("Sitemaps = %q, %v; want nil, ErrUnreachable", got, err)
			}
			site.set(status(503))
			time.Sleep(2 * day)
		}
		for range 31 * 24 {
			time.Sleep(time.Hour)
			c.Sitemaps(t.Context(), down)
		}
		if got, err := c.Sitemaps(t.Context(), down); got != nil || err != nil {
			t.Errorf("after 30 days: got %q and error %v, want nil and no error", got, err)
		}
	})
}

// The errors other than ErrUnreachable are those of Check.
func TestSitemaps_Errors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(mapRules))
		limiter := &politeness.Limiter{MaxWait: time.Minute}
		c := newTestTransport(t, &web, paced(limiter)).Checker()
		for name, u := range map[string]*url.URL{
			"nil":        nil,
			"relative":   {Path: "/page"},
			"a bad port": {Scheme: "http", Host: "a.example:99999"},
		} {
			_, err := c.Sitemaps(t.Context(), u)
			if wrong, ok := errors.AsType[*url.Error](err); !ok || wrong.Op != "Sitemaps" {
				t.Errorf("%s: Sitemaps returned error %v, want a *url.Error with the Op Sitemaps", name, err)
			}
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Sitemaps(ended, mustURL(t, "http://a.example/")); !errors.Is(err, context.Canceled) {
			t.Errorf("a context that has ended: got error %v, want Canceled", err)
		}
		pauseHost(t, limiter, "http://a.example/", time.Hour)
		if _, err := c.Sitemaps(t.Context(), mustURL(t, "http://a.example/")); !isDelay(err) {
			t.Errorf("a host that is paused: Sitemaps returned error %v, want a *politeness.DelayError", err)
		}
		if n := len(web.Log()); n != 0 {
			t.Errorf("%d requests were sent, want none", n)
		}
	})
}

// A record that one process stores has its Sitemap lines in another process,
// whether or not the processes have KeepFiles.
func TestSitemaps_FromAStore(t *testing.T) {
	for _, writer := range []bool{false, true} {
		for _, reader := range []bool{false, true} {
			t.Run(fmt.Sprintf("KeepFiles %v, then %v", writer, reader), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var web robotstest.Internet
					web.Handle("a.example", robots(mapRules))
					store := new(memoryStore)
					for _, keep := range []bool{writer, reader} {
						c := newTestTransport(t, &web, withStore(store),
							func(o *Options) { o.KeepFiles = keep }).Checker()
						if got, err := c.Sitemaps(t.Context(), mustURL(t, "http://a.example/")); !slices.Equal(got, mapRulesSitemaps) || err != nil {
							t.Errorf("Sitemaps returned %q and error %v, want the Sitemap lines", got, err)
						}
						synctest.Wait()
					}
					if n := len(web.Log()); n != 1 {
						t.Errorf("%d requests, want 1", n)
					}
				})
			})
		}
	}
}

// A server sends a robots.txt of the maximum size that contains only Sitemap
// lines. The values that are kept are limited, count toward MaxBytes, and are
// the same with KeepFiles.
func TestSitemaps_AreLimited(t *testing.T) {
	short := func(i int) string { return fmt.Sprintf("http://a.example/%d.xml", i) }
	long := func(i int) string { return short(i) + strings.Repeat("?", 1000) }
	for _, tt := range []struct {
		name  string
		lines func(i int) string
		first int // how many lines precede those that are kept
		want  int // how many lines are kept
	}{
		{"short lines", short, 0, 1000},
		{"long lines", long, 0, 64},
		{"lines that are too long", func(i int) string {
			if i < 10 {
				return strings.Repeat("x", 8<<10+1)
			}
			return short(i)
		}, 10, 1000},
		{"the longest", func(int) string { return strings.Repeat("x", 8<<10) }, 0, 8},
	} {
		for _, keep := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, KeepFiles %v", tt.name, keep), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var text strings.Builder
					for i := 0; text.Len() < 490<<10; i++ {
						text.WriteString("Sitemap: " + tt.lines(i) + "\n")
					}
					var web robotstest.Internet
					web.Handle("a.example", robots(text.String()))
					web.Handle("bare.example", robots("#"))
					c := newTestTransport(t, &web, func(o *Options) { o.KeepFiles = keep }).Checker()
					decide(t, c, "http://bare.example/")
					bare := c.Stats().Bytes
					got, err := c.Sitemaps(t.Context(), mustURL(t, "http://a.example/"))
					if err != nil || len(got) != tt.want {
						t.Fatalf("Sitemaps returned %d lines and error %v, want %d lines and no error", len(got), err, tt.want)
					}
					size := int64(0)
					for i, value := range got {
						if value != tt.lines(tt.first+i) {
							t.Fatalf("line %d is %.50q, want %.50q, as in the file", i, value, tt.lines(tt.first+i))
						}
						size += int64(len(value))
					}
					takes := c.Stats().Bytes - 2*bare
					if takes < size || !keep && takes > size+int64(len(got))*16+1<<10 {
						t.Errorf("%d bytes of Sitemap lines count as %d in MaxBytes, want at least as many and, without KeepFiles, little more",
							size, takes)
					}
				})
			})
		}
	}
}
