package audit

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

// A simulated site is visited by 50 robots for two days, some of which violate
// one rule each. Three front ends log the requests in all formats, with jitter
// and through buffers, and rotate the files. The audit must report all of these
// violations, and no others.
const simulatedRobotsTxt = `User-agent: *
Disallow: /private/
Crawl-delay: 2
User-agent: Yandex
Disallow: /private/
Crawl-delay: 5
`

// A crawl describes the requests of a simulated robot.
type crawl struct {
	agent     string
	addresses []string
	delay     time.Duration
	begin     time.Duration
	cached    bool   // the robot has received robots.txt before the log begins
	rude      string // the kind of its violations; "" if it obeys all rules
}

func crawls(random *rand.Rand) (list []crawl) {
	for i := range 50 {
		c := crawl{agent: fmt.Sprintf("Robot%d/1.0", i), delay: 2 * time.Second, begin: time.Duration(random.Int64N(int64(30 * time.Hour)))}
		for j := range 1 + i%3 {
			c.addresses = append(c.addresses, fmt.Sprintf("198.51.%d.%d", i, j))
		}
		switch {
		case i < 5: // users of one library, each of whom obeys the Crawl-delay
			c.agent, c.cached, c.begin = "Library/2.0", true, time.Duration(i)*time.Hour
			c.addresses = c.addresses[:1]
		case i == 5:
			c.agent, c.delay, c.cached, c.begin = "Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)", 5*time.Second, true, 0
		case i < 16:
			c.cached, c.begin = true, time.Duration(i)*time.Minute
		case i < 20:
			c.rude = "disallowed"
		case i < 24:
			c.rude, c.delay = "gap", time.Second
		case i < 28:
			c.rude, c.begin = "before-robots-txt", 26*time.Hour
		}
		list = append(list, c)
	}
	return list
}

func (c crawl) hits(random *rand.Rand, start time.Time) (hits []hit) {
	jitter := func() time.Duration { return time.Duration(random.Int64N(int64(400 * time.Millisecond))) }
	ask := func(at time.Time, address, url string) {
		took := time.Duration(random.ExpFloat64() * float64(80*time.Millisecond))
		if random.IntN(100) == 0 {
			took += time.Duration(random.Int64N(int64(20 * time.Second))) // a large page
		}
		hits = append(hits, hit{at.Add(jitter()), took.Round(time.Millisecond), address, "site.example", c.agent, url, 200})
	}
	if c.rude != "before-robots-txt" {
		if at := start.Add(c.begin); !c.cached {
			ask(at.Add(-40*time.Second), c.addresses[0], "/robots.txt")
		} else if c.begin == 0 { // the robot fetches robots.txt again before its copy expires
			ask(at.Add(20*time.Hour), c.addresses[0], "/robots.txt")
		}
	}
	for i, address := range c.addresses { // each machine of the robot fetches its own pages at its own pace
		at := start.Add(c.begin + time.Duration(i)*time.Second)
		for n := range 150 {
			url := fmt.Sprintf("/page/%d?machine=%d", n, i)
			if c.rude == "disallowed" && n == 100 {
				url = "/x/../private/plan"
			}
			ask(at, address, url)
			at = at.Add(c.delay + time.Duration(random.Int64N(int64(3*time.Second))*int64(btoi(c.rude != "gap"))))
		}
	}
	return hits
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestSimulatedSite(t *testing.T) {
	t.Parallel()
	formats := append([]logFormat{
		{"vhost_combined with times", FormatCombined, "", func(h hit) string { return h.host + ":443 " + h.precise() }},
		{"Caddy with dates", FormatCaddy, "", func(h hit) string { return h.caddy(h.at.Add(h.took).Format(`"2006-01-02T15:04:05.000Z0700"`)) }},
	}, logFormats...)
	most := 6 // formats that are tested with all seeds, with a CDN and all kinds of files
	seeds := uint64(2)
	if testmain.RaceEnabled { // the race detector makes this ten times slower
		most = 2
		seeds = 1
	}
	for seed := range seeds {
		random := rand.New(rand.NewPCG(seed, 36))
		var hits []hit
		var guilty []string
		for _, c := range crawls(random) {
			hits = append(hits, c.hits(random, morning)...)
			if c.rude != "" {
				guilty = append(guilty, robotName(c.agent)+" "+c.rude)
			}
		}
		hits = append(hits, hit{morning.Add(-time.Minute), 0, "198.51.100.1", "site.example", "Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0", "/private/", 200})
		slices.Sort(guilty)
		for i, format := range formats {
			if i >= most && seed > 0 {
				break
			}
			t.Run(fmt.Sprint(format.name, " ", seed), func(t *testing.T) {
				t.Parallel()
				random := rand.New(rand.NewPCG(seed, uint64(i)))
				for _, cdn := range []bool{false, true} {
					if cdn && i >= most {
						break
					}
					seen, want := hits, guilty
					if cdn { // the CDN responds to all requests for robots.txt itself
						seen = slices.DeleteFunc(slices.Clone(hits), func(h hit) bool { return h.url == "/robots.txt" })
						want = slices.DeleteFunc(slices.Clone(guilty), func(s string) bool { return strings.HasSuffix(s, "before-robots-txt") })
					}
					for name, logs := range logged(random, seen, format) {
						if i >= most && name != "rotated" {
							continue
						}
						got := read(t, always(simulatedRobotsTxt), logs...)
						if list := accused(got); !slices.Equal(list, want) || got.result.Counts["broken"] > 0 || got.result.Counts["jumps"] > 0 {
							t.Errorf("%s, CDN %t: the violations are %q, want %q; %d lines are broken and %d jump", name, cdn, list, want, got.result.Counts["broken"], got.result.Counts["jumps"])
						}
					}
				}
			})
		}
	}
}

// logged returns the logs of three front ends, each in buffers of two workers,
// as one file, as rotated files, and as one file that is compressed.
func logged(random *rand.Rand, hits []hit, format logFormat) map[string][]string {
	hits = slices.Clone(hits)
	slices.SortStableFunc(hits, func(a, b hit) int { return a.at.Add(a.took).Compare(b.at.Add(b.took)) })
	var ends [3]strings.Builder
	var buffers [3][2][]string
	for _, h := range hits {
		end, worker := random.IntN(3), random.IntN(2)
		buffer := &buffers[end][worker]
		if *buffer = append(*buffer, format.line(h)+"\n"); len(*buffer) >= 20+30*worker {
			ends[end].WriteString(strings.Join(*buffer, ""))
			*buffer = nil
		}
	}
	var files, rotated []string
	for i := range ends {
		ends[i].WriteString(strings.Join(slices.Concat(buffers[i][0], buffers[i][1]), ""))
		log := ends[i].String()
		files = append(files, format.header+log)
		half := len(log)/2 + strings.IndexByte(log[len(log)/2:], '\n') + 1
		rotated = append(rotated, zipped(format.header+log[half:]), format.header+log[:half])
	}
	return map[string][]string{"front ends": files, "rotated": rotated, "behind each other": {files[1] + files[0] + files[2]}, "compressed": {zipped(files[2] + files[1] + files[0])}}
}

func zipped(text string) string {
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	_, err := io.WriteString(zip, text)
	if err = cmp.Or(err, zip.Close()); err != nil {
		panic(err)
	}
	return b.String()
}
