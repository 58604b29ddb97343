package integration

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/integration_test/redisserver"
	"github.com/goodbots/courtesy/integration_test/testmain"
)

// The processes of a crawl keep their hosts. If a process is killed, the others
// take over its hosts within two and a half leases. No page is lost, and only
// pages in flight are fetched twice.
func TestSpider_FleetKeepsItsHosts(t *testing.T) {
	t.Parallel()
	testmain.SkipIfOverloaded(t)
	binary := build(t, "politespider/fleet")
	stalls := startMetronome(t)
	web := &chaosWeb{hosts: 12, pages: 600, latency: 10 * time.Millisecond}
	const lease, delay = 5 * time.Second, 400 * time.Millisecond
	server := redisserver.Start(t)
	proxy := httptest.NewServer(web)
	defer proxy.Close()
	var fleet []*chaosProcess
	for n := range 3 {
		fleet = append(fleet, web.start(t, binary, proxy.URL, fmt.Sprint("process ", n), "-redis", "redis://"+server.Addr, "-crawl", "fleet", "-lease", lease.String(), "-delay", delay.String()))
	}
	web.waitFor(web.pages/3, time.Minute)
	moves, visits, owners := web.moves()
	t.Logf("of %d requests to %d hosts, %d were sent by another process than the previous request to the host", visits, web.hosts, moves)
	if moves > visits/10 {
		t.Errorf("%d of %d requests were sent by another process than the previous request to the host, want at most a tenth", moves, visits)
	}

	dead := slices.MaxFunc(fleet, func(a, b *chaosProcess) int { return len(owners[a.name]) - len(owners[b.name]) })
	hosts := owners[dead.name]
	if !dead.kill(t) {
		t.Fatal("the crawl ended before a process could be killed: give it more pages")
	}
	killed := time.Now()
	for _, p := range fleet {
		if p != dead {
			p.wait(t)
		}
	}
	again, _ := web.audit(t, map[string]bool{dead.name: true}, len(hosts))
	web.robotsOnce(t, map[string]bool{dead.name: true}, fleet)
	var latest time.Duration
	for _, host := range hosts {
		latest = max(latest, web.next(host, killed).Sub(killed)) // the difference is negative if the host had no more pages to fetch
	}
	t.Logf("the other processes continued with %d hosts of the killed process within %v; %d pages were fetched again", len(hosts), latest.Round(time.Millisecond), again)
	most := lease*5/2 + stalls.explain(killed.UnixNano(), killed.Add(latest).UnixNano())
	if latest > most {
		t.Errorf("the other processes continued with a host of the killed process after %v, want at most %v", latest, most)
	}
	if soonest, extra := web.pace(delay); extra > 2 {
		t.Errorf("a host received n+%d requests within n delays, the closest %v apart; want at most n+2", extra, soonest)
	}
}

// moves counts the moves and the visits. A visit is a request to a host to
// which an earlier request was sent. A move is a visit for which another
// process sent the previous request to the host. For each process, moves also
// returns its hosts: those to which this process sent the last request.
func (w *chaosWeb) moves() (moves, visits int, owners map[string][]string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := make(map[string]string)
	for _, r := range w.log {
		if was, ok := last[r.host]; ok {
			visits++
			if was != r.process {
				moves++
			}
		}
		last[r.host] = r.process
	}
	owners = make(map[string][]string)
	for host, process := range last {
		owners[process] = append(owners[process], host)
	}
	return moves, visits, owners
}

// next returns the time of the first request for a page of the host after the
// given time, or the zero time if there was none.
func (w *chaosWeb) next(host string, after time.Time) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.log, func(r *chaosRequest) bool {
		return r.host == host && r.at.After(after) && !strings.HasSuffix(r.url, "/robots.txt")
	})
	if i < 0 {
		return time.Time{}
	}
	return w.log[i].at
}
