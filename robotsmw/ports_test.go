package robotsmw

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// A page links to a thousand ports of its host, and each port has a robots.txt
// of its own. Meanwhile, the crawl of the host's pages continues: at least
// every second request is for a page. If the ports are filtered, so that each
// request for a robots.txt takes RobotsTimeout, pages still get half of the
// time.
func TestLinksToAThousandPortsOfOneHost(t *testing.T) {
	const pages, delay = 200, time.Second
	for _, tt := range []struct {
		name    string
		file    http.Handler // the robots.txt of the pages
		port    http.Handler
		longest time.Duration // of the crawl of all pages
		runsOut bool          // whether the pages' robots.txt expires during the crawl
	}{
		{"ports that answer", robots(open), robots(shut), 2 * pages * delay, false},
		{"ports that answer after five seconds", robots(open), slowly(5*time.Second, robots(shut)),
			2*pages*delay + 10*time.Second, false},
		{"filtered ports", robots(open), robotstest.Hang{}, 2*pages*delay + 2*defaultTimeout, false},
		// Each time, the file is fetched before those of the ports.
		{"the pages' robots.txt expires", robots(open, "Cache-Control: max-age=300"), robots(shut),
			2*pages*delay + 10*time.Second, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var web robotstest.Internet
				web.Handle("big.example", newSite(tt.file, robots("a page")))
				limiter := &politeness.Limiter{}
				client, err := NewClient(Options{UserAgent: testAgent, Base: &web, Limiter: limiter})
				if err != nil {
					t.Fatal(err)
				}
				if err := fetch(t, client, "http://big.example/0"); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				get := func(ctx context.Context, url string) error {
					req, _ := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
					resp, err := client.Do(req)
					if err == nil {
						resp.Body.Close()
					}
					return err
				}
				var links, crawl sync.WaitGroup
				for port := range 1000 {
					host := fmt.Sprint("big.example:", 1000+port)
					web.Handle(host, tt.port)
					links.Go(func() { get(ctx, "http://"+host+"/") })
				}
				synctest.Wait()
				start := time.Now()
				for page := range pages {
					crawl.Go(func() {
						if err := get(ctx, fmt.Sprint("http://big.example/", 1+page)); err != nil {
							t.Error(err)
						}
					})
				}
				synctest.Wait()
				impossible, stop := context.WithTimeout(ctx, 2*pages*delay-5*time.Second)
				defer stop()
				err = get(impossible, "http://big.example/in-time")
				if _, ok := errors.AsType[*politeness.DelayError](err); !ok || time.Since(start) > 0 {
					t.Errorf("a page behind %d pages and as many robots.txt: error %v after %v, want a DelayError at once",
						pages, err, time.Since(start))
				}
				crawl.Wait()
				took := time.Since(start)
				var ofPages, ofPorts, ofFile int
				for _, r := range web.Log() {
					switch {
					case !r.Time.After(start):
					case r.URL == "http://big.example/robots.txt":
						ofFile++
					case strings.HasSuffix(r.URL, "/robots.txt"):
						ofPorts++
					default:
						ofPages++
					}
				}
				if ofPages != pages || ofPorts > pages {
					t.Errorf("%d pages and %d robots.txt of ports were requested, want %d and at most as many",
						ofPages, ofPorts, pages)
				}
				if ofPorts == 0 {
					t.Error("no robots.txt of a port was requested, want one")
				}
				if hasRunOut := ofFile > 0; hasRunOut != tt.runsOut {
					t.Errorf("the pages' own robots.txt was requested %d times, want some: %t", ofFile, tt.runsOut)
				}
				if took > tt.longest {
					t.Errorf("the crawl took %v, want at most %v", took, tt.longest)
				}
				cancel()
				links.Wait()
				time.Sleep(time.Hour) // fetches of robots.txt that no caller waits for end, too
				if s := limiter.Stats(); s.Waiting != 0 || s.InFlight != 0 {
					t.Errorf("%d requests wait at the Limiter and %d are in flight, want none", s.Waiting, s.InFlight)
				}
			})
		})
	}
}
