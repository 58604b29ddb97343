package audit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// A shared cache in front of a site answers most requests for robots.txt, and
// passes on those for which it has no copy. A robot whose requests the cache
// has answered must not be accused. The log has eight robots, each of which
// requests robots.txt before its pages, and a ninth one that never does.
func TestFair_SharedCache(t *testing.T) {
	const day = 24 * time.Hour
	caches := []struct {
		name      string
		lifetime  time.Duration
		locations int
		address   string // of all clients; "" means their own
		guilty    bool   // the log shows that there is no such cache
	}{
		{"none", 0, 1, "", true},
		{"a cache that passes everything on", 0, 4, "", true},
		{"10 minutes", 10 * time.Minute, 1, "", false},
		{"an hour", time.Hour, 1, "", false},
		{"two hours, five locations", 2 * time.Hour, 5, "", false},
		{"four hours, eight locations", 4 * time.Hour, 8, "", false},
		{"a day", day, 1, "", false},
		{"a day, three locations", day, 3, "", false},
		{"a month", 30 * day, 1, "", false},
		{"none, behind one address", 0, 1, "10.0.0.1", false},
	}
	for _, c := range caches {
		t.Run(c.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(5, 6))
			var hits []hit
			filled := make(map[int]time.Time)
			for at := morning; at.Before(morning.Add(3 * day)); at = at.Add(time.Duration(1+random.IntN(8)) * time.Minute) {
				robot := random.IntN(8)
				address := fmt.Sprintf("198.%d.100.%d", 51+robot, random.IntN(200))
				location := robot % c.locations
				if last, ok := filled[location]; !ok || at.Sub(last) >= c.lifetime {
					filled[location] = at
					hits = append(hits, hit{at, 0, address, "", fmt.Sprintf("Robot%d/1.0", robot), "/robots.txt", 200})
				}
				hits = append(hits, hit{at.Add(time.Second), 0, address, "", fmt.Sprintf("Robot%d/1.0", robot), "/a", 200})
			}
			for robot := range 8 { // their first requests are on the second day
				at := morning.Add(day + time.Duration(robot+1)*time.Hour)
				if c.lifetime == 0 {
					hits = append(hits, hit{at, 0, fmt.Sprintf("203.0.113.%d", robot), "", fmt.Sprintf("Late%d/1.0", robot), "/robots.txt", 200})
				}
				hits = append(hits, hit{at.Add(time.Second), 0, fmt.Sprintf("203.0.113.%d", robot), "", fmt.Sprintf("Late%d/1.0", robot), "/a", 200})
			}
			hits = append(hits, hit{morning.Add(2 * day), 0, "203.0.113.66", "", "GuiltyBot/1.0", "/a", 200})
			if c.address != "" {
				for i := range hits {
					hits[i].address = c.address
				}
			}
			var want []string
			if c.guilty {
				want = []string{"GuiltyBot before-robots-txt"}
			}
			wantAccused(t, read(t, always("User-agent: *\nAllow: /\n"), linesOf(hits, hit.precise)), want...)
		})
	}
}

// Two requests for robots.txt from one network, within the time for which a
// shared cache stores a response, prove that there is no such cache.
func TestCacheProof(t *testing.T) {
	at := func(clock string) int64 {
		t.Helper()
		when, err := time.Parse(time.TimeOnly, clock)
		if err != nil {
			t.Fatal(err)
		}
		return when.AddDate(2026, 0, 0).UnixNano()
	}
	for _, tt := range []struct {
		name, fetches string // time, address, status, URL
		want          bool
	}{
		{"the same address", "10:00:00 192.0.2.1 200 /robots.txt,10:09:59 192.0.2.1 200 /robots.txt", true},
		{"the same network", "10:00:00 192.0.2.1 200 /robots.txt,10:05:00 192.0.9.9 304 /robots.txt", true},
		{"the same network of IPv6", "10:00:00 2001:db8::1 200 /robots.txt,10:05:00 2001:db8:9::1 200 /robots.txt", true},
		{"with another one between", "10:00:00 192.0.2.1 200 /robots.txt,10:01:00 198.51.100.1 200 /robots.txt,10:05:00 192.0.2.1 200 /robots.txt", true},
		{"too late", "10:00:00 192.0.2.1 200 /robots.txt,10:10:00 192.0.2.1 200 /robots.txt", false},
		{"other networks", "10:00:00 192.0.2.1 200 /robots.txt,10:00:01 198.51.100.1 200 /robots.txt,10:00:02 203.0.113.1 200 /robots.txt", false},
		{"a failure", "10:00:00 192.0.2.1 503 /robots.txt,10:01:00 192.0.2.1 200 /robots.txt", false},
		{"a redirect", "10:00:00 192.0.2.1 301 /robots.txt,10:00:01 192.0.2.1 200 /robots.txt", false},
		{"a query", "10:00:00 192.0.2.1 200 /robots.txt?1,10:01:00 192.0.2.1 200 /robots.txt?2", false},
		{"no address", "10:00:00 - 200 /robots.txt,10:01:00 - 200 /robots.txt", false},
		{"a name instead of an address", "10:00:00 a.example 200 /robots.txt,10:01:00 a.example 200 /robots.txt", false},
	} {
		var c cacheProof
		for fetch := range strings.SplitSeq(tt.fetches, ",") {
			f := strings.Fields(fetch)
			e := event{at: at(f[0]), address: f[1], url: f[3], status: 200}
			if f[2] != "200" {
				e.status = int(f[2][0]-'0')*100 + int(f[2][2]-'0')
			}
			c.add(&e)
		}
		later := at("11:00:00")
		if got := c.isDirect(later); got != tt.want {
			t.Errorf("%s: isDirect an hour later is %t, want %t", tt.name, got, tt.want)
		}
		if c.isDirect(later + int64(24*time.Hour)) {
			t.Errorf("%s: isDirect 25 hours later is true, want false", tt.name)
		}
	}
	var c cacheProof
	for i := range 1000 {
		c.add(&event{at: int64(i), address: fmt.Sprintf("10.%d.0.1", i%256), url: "/robots.txt", status: 200})
	}
	if len(c.recent) > maxCacheables {
		t.Errorf("%d requests are kept, want at most %d", len(c.recent), maxCacheables)
	}
	if !slices.IsSortedFunc(c.recent, func(a, b cacheable) int { return int(a.at - b.at) }) {
		t.Errorf("the requests %+v are not sorted by time, want them sorted", c.recent)
	}
}
