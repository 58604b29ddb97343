package robotsmw

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// A page waits for the slot of a refresh of robots.txt, whose new rules
// disallow the page. The file is large, and the client needs some time to parse
// it after the last byte. The page does not start during this time, in which
// memory still has the old rules.
func TestSlot_IsFreedWhenTheRulesAreInForce(t *testing.T) {
	filler := strings.Repeat("# a comment\n", 490<<10/12)
	for name, shutFile := range map[string]string{"large": filler + shut, "small": shut} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var isShut atomic.Bool
				var pages atomic.Int32
				web := new(robotstest.Internet)
				web.Handle("http://slot.example", newSite(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Cache-Control", "max-age=3600")
					if !isShut.Load() {
						io.WriteString(w, open)
						return
					}
					time.Sleep(time.Second)
					io.WriteString(w, shutFile)
				}), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { pages.Add(1) })))
				limiter := &politeness.Limiter{Delay: -1}
				client, err := NewClient(Options{
					UserAgent: "ExampleBot/1.0 (+https://bot.example/)", Base: web, Limiter: limiter,
					// This is as slow as the parser on a machine under load.
					Observer: &Observer{Fetched: func(context.Context, Fetch) { time.Sleep(time.Second) }},
				})
				if err != nil {
					t.Fatal(err)
				}
				if answered, _ := getPages(t, client, "slot.example", 1); answered != 1 {
					t.Fatalf("%d responses for the first page, want 1", answered)
				}
				time.Sleep(55 * time.Minute)
				isShut.Store(true)
				resp, err := client.Get("http://slot.example/waits") // begins the refresh, and may start before it
				if err == nil {
					resp.Body.Close()
				}
				time.Sleep(500 * time.Millisecond) // the refresh is in flight
				before := pages.Load()
				if _, err := client.Get("http://slot.example/waits"); !errors.Is(err, ErrDisallowed) {
					t.Errorf("the page that waits for the refresh returned error %v, want ErrDisallowed", err)
				}
				if n := pages.Load() - before; n > 0 {
					t.Errorf("%d pages were sent against the rules, want none", n)
				}
				time.Sleep(time.Minute)
				if s := limiter.Stats(); s.Waiting != 0 || s.InFlight != 0 {
					t.Errorf("%d requests wait at the Limiter and %d are in flight, want none", s.Waiting, s.InFlight)
				}
			})
		})
	}
}
