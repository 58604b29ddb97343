package integration

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/goodbots/courtesy/integration_test/redisserver"
)

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
		t.Logf("%s received %d requests", host, n.requests)
		if n.requests > requests || n.requests < requests-kills*(requests/32+1) {
			t.Errorf("%s received %d requests although %d processes were killed, want %d to %d", host, n.requests, kills, requests-kills*(requests/32+1), requests)
		}
	}
	t.Logf("at the end, the hosts belonged to %d of %d processes", len(owners), members)
}

// notAtMidnight skips the test if a new day, with a new budget, begins within
// ten minutes.
func notAtMidnight(t *testing.T) {
	if now := time.Now().UTC(); now.Add(10*time.Minute).YearDay() != now.YearDay() {
		t.Skip("SKIPPED: it is nearly midnight in UTC, when each host gets a new budget")
	}
}

// waitUntilQuiet waits until no request has arrived for the given time.
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
