package integration

import (
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/goodbots/courtesy/integration_test/redisserver"
)

// A host's daily budget holds even if the spider is killed and resumed 20
// times.
func TestSpider_BudgetOutlivesKills(t *testing.T) {
	t.Parallel()
	notAtMidnight(t)
	const kills, requests, size = 20, 200, 2000
	binary := build(t, "politespider")
	for name, tt := range map[string]struct {
		flag  string
		bytes int
	}{
		"requests": {fmt.Sprint("-budget-requests=", requests), 0},
		"bytes":    {fmt.Sprint("-budget-bytes=", requests*size), requests * size},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			web := &chaosWeb{hosts: 3, pages: 3 * 2 * requests, size: size}
			proxy := httptest.NewServer(web)
			defer proxy.Close()
			dir := filepath.Join(t.TempDir(), "crawl")
			for n := range kills + 1 {
				p := web.start(t, binary, proxy.URL, fmt.Sprint("run ", n), "-delay", "0", "-resume", dir, tt.flag)
				if n < kills {
					web.waitFor(web.requests()+rand.N(3*requests*3/2/kills), 5*time.Second)
				} else {
					web.waitUntilQuiet(5 * time.Second)
				}
				if !p.kill(t) {
					t.Fatalf("run %d ended by itself: %s", n, p.stderr.String())
				}
			}
			for host, used := range web.used() {
				// A kill loses at most one block of the budget. A block is a
				// 32nd of the budget. If the budget counts bytes, each kill may
				// also make a difference of one page, the one that was being
				// read.
				most, least := requests, requests-kills*(requests/32+1)
				if tt.bytes > 0 {
					most = requests + 1 + kills
					least -= kills
					if bytes := tt.bytes + (kills+1)*size; used.bytes > bytes {
						t.Errorf("%s: %d bytes, %d may be", host, used.bytes, bytes)
					}
				}
				if used.requests > most || used.requests < least {
					t.Errorf("%s: %d requests, %d may be, and %d at least after %d kills", host, used.requests, most, least, kills)
				}
				t.Logf("%s: %d requests, %d bytes", host, used.requests, used.bytes)
			}
		})
	}
}

// Eight processes share the budget of each host. The budget holds although four
// of the processes are killed.
func TestSpider_BudgetOfAFleet(t *testing.T) {
	t.Parallel()
	notAtMidnight(t)
	const members, kills, requests = 8, 4, 200
	binary := build(t, "politespider/fleet")
	server := redisserver.Start(t)
	web := &chaosWeb{hosts: 6, pages: 6 * 2 * requests}
	proxy := httptest.NewServer(web)
	defer proxy.Close()
	var fleet []*chaosProcess
	for n := range members {
		fleet = append(fleet, web.start(t, binary, proxy.URL, fmt.Sprint("process ", n), "-redis", "redis://"+server.Addr, "-lease", "5s",
			"-delay", "20ms", "-budget-requests", fmt.Sprint(requests)))
	}
	for n := range kills {
		web.waitFor((n+1)*6*requests/(kills+2), 30*time.Second)
		fleet[n].kill(t)
	}
	web.waitUntilQuiet(15 * time.Second) // after a kill, a host may have to wait 2.5 leases (12.5 s) for a request
	for _, p := range fleet[kills:] {
		p.kill(t)
	}
	_, _, owners := web.moves()
	used := web.used()
	for host, n := range used {
		t.Logf("%s: %d requests", host, n.requests)
		if n.requests > requests || n.requests < requests-kills*(requests/32+1) {
			t.Errorf("%s: %d requests, %d may be, and a block of a 32nd less for each of %d kills", host, n.requests, requests, kills)
		}
	}
	t.Logf("the last owners are %d of %d processes", len(owners), members)
}

// notAtMidnight skips the test if a new day, with a new budget, begins within
// ten minutes.
func notAtMidnight(t *testing.T) {
	if now := time.Now().UTC(); now.Add(10*time.Minute).YearDay() != now.YearDay() {
		t.Skip("SKIPPED: it is midnight in UTC: the day's budget is another one soon")
	}
}

// waitUntilQuiet waits until no request has come for the given time.
func (w *chaosWeb) waitUntilQuiet(long time.Duration) {
	for n := -1; n != w.requests(); {
		n = w.requests()
		w.waitFor(n+1, long)
	}
}

func (w *chaosWeb) used() map[string]struct{ requests, bytes int } {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make(map[string]struct{ requests, bytes int })
	for _, r := range w.log {
		n := all[r.host]
		n.requests++
		n.bytes += r.bytes
		all[r.host] = n
	}
	return all
}
