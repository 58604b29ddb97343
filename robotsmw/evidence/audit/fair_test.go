package audit

import (
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

// Each of these tests has a robot that obeys the rules although its requests
// resemble violations, and a robot that violates the rules in a similar way.

// A hit is a request in the log of a site.
type hit struct {
	at      time.Time // when it arrived
	took    time.Duration
	address string
	host    string
	agent   string
	url     string
	status  int
}

func (h hit) combined(user string) string {
	return fmt.Sprintf(`%s - %s [%s] "GET %s HTTP/1.1" %d 512 "-" "%s"`, h.address, user, h.at.Add(h.took).Format("02/Jan/2006:15:04:05 -0700"), h.url, h.status, h.agent)
}

// precise is nginx's combined format with $msec and $request_time.
func (h hit) precise() string {
	end := h.at.Add(h.took).UnixMilli()
	return fmt.Sprintf("%s %d.%03d %d.%03d", h.combined("-"), end/1000, end%1000, h.took.Milliseconds()/1000, h.took.Milliseconds()%1000)
}

func (h hit) caddy(ts string) string {
	return fmt.Sprintf(`{"level":"info","ts":%s,"logger":"http.log.access.log0","msg":"handled request","request":{"remote_ip":"10.0.0.1","client_ip":%q,"method":"GET","host":%q,"uri":%q,"headers":{"User-Agent":[%q]}},"duration":%f,"size":1,"status":%d,"resp_headers":{"Server":["Caddy"]}}`,
		ts, h.address, h.host, h.url, h.agent, h.took.Seconds(), h.status)
}

func (h hit) caddyFloat() string {
	return h.caddy(fmt.Sprintf("%f", float64(h.at.Add(h.took).UnixMicro())/1e6))
}

func linesOf(hits []hit, line func(hit) string) string {
	slices.SortStableFunc(hits, func(a, b hit) int { return a.at.Add(a.took).Compare(b.at.Add(b.took)) })
	var b strings.Builder
	for _, h := range hits {
		b.WriteString(line(h) + "\n")
	}
	return b.String()
}

var morning = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// pages returns n requests for pages. interval(i) is the time between request i
// and the next one.
func pages(agent, address string, from time.Time, n int, interval func(i int) time.Duration) (hits []hit) {
	for i := range n {
		hits = append(hits, hit{from, 20 * time.Millisecond, address, "site.example", agent, fmt.Sprintf("/page/%d", i), 200})
		from = from.Add(interval(i))
	}
	return hits
}

func every(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }

// accused returns "robot kind" for each robot and kind of violation that an
// audit reports.
func accused(got audited) (list []string) {
	for _, v := range got.violations {
		if one := v.Robot + " " + v.Kind; !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	slices.Sort(list)
	return list
}

func wantAccused(t *testing.T, got audited, want ...string) {
	t.Helper()
	if list := accused(got); !slices.Equal(list, want) {
		t.Errorf("the violations are %q, want %q; the first ones are %.3v", list, want, got.violations)
	}
}

// A robot may have received robots.txt before the log began. A violation is
// reported only for a page more than 24 hours later (RFC 9309 §2.4), and only
// once.
func TestFair_RobotsTxtBeforeTheLog(t *testing.T) {
	got := read(t, always("User-agent: *\nAllow: /\n"), combined(`
		20T00:00:00 Googlebot/2.1 /a
		20T00:00:01 PoliteBot/1.0 /a
		20T09:00:00 PoliteBot/1.0 /robots.txt
		20T23:59:59 LateBot/1.0 /a
		21T00:00:01 LateBot/1.0 /robots.txt 304
		21T00:05:00 LateBot/1.0 /robots.txt 304
		21T05:00:00 LateBot/1.0 /a
		21T06:00:00 GuiltyBot/1.0 /a
		21T06:00:01 GuiltyBot/1.0 /robots.txt
		21T06:00:02 GuiltyBot/1.0 /b
		21T07:00:00 PoliteBot/1.0 /b`))
	if want := "06:00:00 GuiltyBot /a before-robots-txt\n"; got.String() != want {
		t.Errorf("the audit reports\n%swant\n%s", got, want)
	}
	if n := got.result.Counts["not_shown"]; n != 3 {
		t.Errorf("not_shown is %d, want 3", n)
	}
}

// If no robot requests robots.txt in the log, a cache in front of the server
// may have answered these requests.
func TestFair_RobotsTxtFromACDN(t *testing.T) {
	log := combined(`
		20T00:00:00 Googlebot/2.1 /a
		22T00:00:00 Googlebot/2.1 /b
		22T00:00:00 OtherBot/1.0 /private/b`)
	got := read(t, always(rulesOfSite), log)
	if want := "00:00:00 OtherBot /private/b disallowed\n"; got.String() != want {
		t.Errorf("the audit reports\n%swant\n%s", got, want)
	}
	if n := got.result.Counts["not_shown"]; n != 3 {
		t.Errorf("not_shown is %d, want 3", n)
	}
}

// A robot may fetch robots.txt from another address and through another front
// end than its pages. Googlebot-Image may use a file that Googlebot has
// fetched.
func TestFair_RobotsTxtByAnotherOfTheFamily(t *testing.T) {
	first := combined("20T00:00:00 OtherBot/1.0 /robots.txt\n21T20:00:00 OtherBot/1.0 /robots.txt\n21T20:05:00 OtherBot/1.0 /robots.txt\n22T00:00:00 Googlebot/2.1 /robots.txt")
	second := combined("22T00:00:00 Googlebot-Image/1.0 /a.png\n22T00:00:00 Googlebot/2.1 /a\n22T00:00:00 bingbot/2.0 /a")
	for _, logs := range [][]string{{first, second}, {second, first}, {first + second}, {second + first}} {
		wantAccused(t, read(t, always("User-agent: *\nAllow: /\n"), logs...), "bingbot before-robots-txt")
	}
}

// Requests arrive with jitter, so only a series of them proves that the gaps
// were too short. RunBot is 5 % too fast. BurstBot sends three requests at
// once.
func TestFair_Jitter(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	jitter := func(d time.Duration) func(int) time.Duration {
		late := time.Duration(0)
		return func(int) time.Duration {
			was := late
			late = 20*time.Millisecond + time.Duration(random.Int64N(int64(100*time.Millisecond)))
			return d + late - was
		}
	}
	hits := slices.Concat(pages("PoliteBot/1.0", "192.0.2.1", morning, 500, jitter(2*time.Second)), pages("RunBot/1.0", "192.0.2.2", morning, 100, jitter(1900*time.Millisecond)),
		pages("BurstBot/1.0", "192.0.2.3", morning, 3, every(time.Millisecond)))
	for name, format := range map[string]func(hit) string{"nginx": hit.precise, "caddy": hit.caddyFloat} {
		t.Run(name, func(t *testing.T) {
			wantAccused(t, read(t, always("User-agent: *\nCrawl-delay: 2\n"), linesOf(hits, format)), "BurstBot gap", "RunBot gap")
		})
	}
}

// A robot continues to use its copy of robots.txt while it fetches the file
// again, which may take longer than the fetch of a page.
func TestFair_SlowRobotsTxt(t *testing.T) {
	early := func(i int) time.Duration { return 2*time.Second - time.Duration(1-i%2*2)*100*time.Millisecond }
	hits := slices.Concat(pages("PoliteBot/1.0", "192.0.2.1", morning.Add(2*time.Second), 20, early), pages("GuiltyBot/1.0", "192.0.2.2", morning.Add(2*time.Second), 20, every(time.Second)))
	for _, h := range []hit{hits[0], hits[20]} {
		h.at, h.took, h.url = morning, 5*time.Second, "/robots.txt"
		hits = append(hits, h)
	}
	wantAccused(t, read(t, always("User-agent: *\nCrawl-delay: 2\n"), linesOf(hits, hit.precise)), "GuiltyBot gap")
}

// Five users of one library are not mistaken for one robot that is five times
// too fast. A violation contains the address of the user who is too fast.
func TestFair_UsersOfOneLibrary(t *testing.T) {
	var hits []hit
	for i := range 5 {
		hits = append(hits, pages("Library/1.0", fmt.Sprintf("192.0.2.%d", i), morning.Add(time.Duration(i)*time.Second), 50, every(10*time.Second))...)
	}
	history := always("User-agent: *\nCrawl-delay: 10\nDisallow: /private/\n")
	got := read(t, history, linesOf(hits, hit.precise))
	wantAccused(t, got)
	wantAddresses := []string{"192.0.2.0", "192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"}
	if addresses := got.result.Robots[0].Addresses; !slices.Equal(addresses, wantAddresses) {
		t.Errorf("the addresses of the robot are %q, want %q", addresses, wantAddresses)
	}
	hits = append(hits, pages("Library/1.0", "192.0.2.66", morning, 50, every(5*time.Second))...)
	got = read(t, history, linesOf(hits, hit.precise))
	wantAccused(t, got, "Library gap")
	for _, v := range got.violations {
		if v.Address != "192.0.2.66" {
			t.Errorf("the violation %+v has another address, want 192.0.2.66", v)
		}
	}
}

// A robot may obey a group in robots.txt whose name is not that in its
// User-Agent.
func TestFair_NamesInRobotsTxt(t *testing.T) {
	const rules = `User-agent: Yandex
Disallow: /yandex/
User-agent: Googlebot
Disallow: /google/
User-agent: Slurp
Disallow: /slurp/
User-agent: Baiduspider
Disallow: /baidu/
User-agent: ExampleBot
Disallow: /example/
User-agent: *
Disallow: /
`
	tests := []struct{ agent, name, shut string }{
		{"Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)", "YandexBot", "/yandex/"},
		{"Mozilla/5.0 (compatible; YandexImages/3.0; +http://yandex.com/bots)", "YandexImages", "/yandex/"},
		{"Googlebot-Image/1.0", "Googlebot-Image", "/google/"},
		{"Mozilla/5.0 (compatible; Google-InspectionTool/1.0)", "Google-InspectionTool", "/google/"},
		{"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.1.1 Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)", "Applebot", "/google/"},
		{"Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)", "Slurp", "/slurp/"},
		{"Mozilla/5.0 (compatible; Baiduspider-render/2.0; +http://www.baidu.com/search/spider.html)", "Baiduspider-render", "/baidu/"},
		{"AdsBot-Google (+http://www.google.com/adsbot.html)", "AdsBot-Google", ""},
		{"Mediapartners-Google", "Mediapartners-Google", ""},
		{"Mozilla/5.0 (bingbot/2.0)", "bingbot", "/"},
		{"ExampleBot-Image/1.0", "ExampleBot-Image", "/example/"},
		{"UnknownBot/1.0", "UnknownBot", "/"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got audited
			a := Auditor{given: *always(rules), Groups: map[string][]string{"examplebot-image": {"ExampleBot-Image", "ExampleBot"}},
				OnViolation: func(v Violation) { got.violations = append(got.violations, v) }}
			log := ""
			for i, url := range []string{"/robots.txt", "/yandex/", "/google/", "/slurp/", "/baidu/", "/example/", "/"} {
				log += hit{morning.Add(time.Duration(i) * time.Second), 0, "192.0.2.1", "", tt.agent, url, 200}.combined("-") + "\n"
			}
			if err := a.Read(t.Context(), Input{"log", strings.NewReader(log)}); err != nil {
				t.Fatal(err)
			}
			if r := a.Result(); len(r.Robots) != 1 || r.Robots[0].Name != tt.name {
				t.Fatalf("the robots are %+v, want only %s", r.Robots, tt.name)
			}
			var urls []string
			for _, v := range got.violations {
				urls = append(urls, v.URL)
			}
			want := []string{tt.shut}
			switch tt.shut {
			case "":
				want = nil
			case "/":
				want = []string{"/yandex/", "/google/", "/slurp/", "/baidu/", "/example/", "/"}
			}
			if !slices.Equal(urls, want) {
				t.Errorf("the violations are about %q, want %q", urls, want)
			}
		})
	}
	wantAccused(t, read(t, always("User-agent: AdsBot-Google\nDisallow: /\n"), combined("10:00:00 AdsBot-Google /robots.txt\n10:00:01 AdsBot-Google /a")), "AdsBot-Google disallowed")
}

// The lines of a log are out of order if workers or front ends write them
// through separate buffers. The result is the same as for the sorted log.
func TestFair_LinesOutOfOrder(t *testing.T) {
	t.Parallel()
	var hits []hit
	for i := range 10 {
		hits = append(hits, pages(fmt.Sprintf("Polite%d/1.0", i), fmt.Sprintf("192.0.2.%d", i), morning.Add(time.Duration(i)*time.Second), 400, every(10*time.Second))...)
	}
	hits = append(hits, pages("FastBot/1.0", "192.0.2.66", morning, 400, every(7*time.Second))...)
	hits = append(hits, hit{morning, 0, "192.0.2.1", "site.example", "Polite1/1.0", "/robots.txt", 200})
	for name, format := range map[string]func(hit) string{"seconds": func(h hit) string { return h.combined("-") }, "nginx": hit.precise, "caddy": hit.caddyFloat} {
		t.Run(name, func(t *testing.T) {
			sorted := strings.SplitAfter(strings.TrimSuffix(linesOf(hits, format), "\n"), "\n")
			sorted[len(sorted)-1] += "\n"
			history := always("User-agent: *\nCrawl-delay: 10\n")
			want := read(t, history, strings.Join(sorted, ""))
			wantAccused(t, want, "FastBot gap")
			// Each of three workers writes its buffer when the buffer is full.
			buffered := func(size int) string {
				var out strings.Builder
				workers := make([][]string, 3)
				for i, line := range sorted {
					w := i * 7 % 11 % 3
					if workers[w] = append(workers[w], line); len(workers[w]) == size*(w+1) {
						out.WriteString(strings.Join(workers[w], ""))
						workers[w] = nil
					}
				}
				for _, w := range workers {
					out.WriteString(strings.Join(w, ""))
				}
				return out.String()
			}
			ends := make([]string, 3)
			for i, line := range sorted {
				ends[i%3] += line
			}
			for name, log := range map[string]string{"buffers": buffered(10), "long buffers": buffered(300),
				"front ends behind each other": ends[2] + ends[0] + ends[1], "compressed": gzipped(ends[1] + ends[2] + ends[0])} {
				got := read(t, history, log)
				if got.String() != want.String() || got.result.Counts["jumps"] > 0 {
					t.Errorf("%s: %d violations and %d jumps, want %d and none", name, len(got.violations), got.result.Counts["jumps"], len(want.violations))
				}
			}
		})
	}
}

// If a log is completely out of order, the result contains jumps, and no
// violation is reported because of the order of the lines.
func TestFair_NoOrder(t *testing.T) {
	hits := pages("PoliteBot/1.0", "192.0.2.1", morning, 2000, every(120*time.Second))
	hits = append(hits, hit{morning.Add(time.Second), 0, "192.0.2.2", "", "GuiltyBot/1.0", "/private/", 200})
	lines := strings.SplitAfter(strings.TrimSpace(linesOf(hits, hit.precise)), "\n")
	random := rand.New(rand.NewPCG(3, 4))
	random.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	got := read(t, always("User-agent: *\nCrawl-delay: 100\nDisallow: /private/\n"), strings.Join(lines, "\n"))
	if wantAccused(t, got, "GuiltyBot disallowed"); got.result.Counts["jumps"] == 0 {
		t.Error("jumps is 0, want it to count the lines that are out of order")
	}
}

// The status of a request for robots.txt in the log determines which file is in
// force afterwards.
func TestFair_StatusOfRobotsTxt(t *testing.T) {
	tests := []struct {
		name, log, want string
		unaudited       int
	}{
		{"a 404 opens, until a 200", "10:00:00 ABot/1 /robots.txt 404\n10:00:01 ABot/1 /private/a\n10:00:02 BBot/1 /private/a\n10:01:00 BBot/1 /robots.txt\n10:01:01 BBot/1 /private/b", "10:01:01 BBot /private/b disallowed\n", 0},
		{"a 410", "10:00:00 ABot/1 /robots.txt 410\n10:00:01 ABot/1 /private/a\n10:01:00 CBot/1 /robots.txt\n10:01:01 CBot/1 /private/b", "10:01:01 CBot /private/b disallowed\n", 0},
		{"a 403 for one", "10:00:00 BBot/1 /robots.txt\n10:00:00 ABot/1 /robots.txt 403\n10:00:01 ABot/1 /private/a\n10:00:02 BBot/1 /private/b", "10:00:02 BBot /private/b disallowed\n", 0},
		{"a 418 is a 404", "10:00:00 ABot/1 /robots.txt 418\n10:00:01 ABot/1 /private/a", "", 0},
		{"a 503 leaves the old copy", "10:00:00 ABot/1 /robots.txt\n10:01:00 ABot/1 /robots.txt 503\n10:01:01 ABot/1 /private/a", "10:01:01 ABot /private/a disallowed\n", 0},
		{"a 503 without an old copy", "10:00:00 ABot/1 /robots.txt 503\n10:01:01 ABot/1 /private/a\n10:01:02 BBot/1 /private/a", "10:01:02 BBot /private/a disallowed\n", 1},
		{"a 499 is no answer", "10:00:00 ABot/1 /robots.txt 499\n10:00:01 ABot/1 /private/a\n10:00:02 BBot/1 /private/a", "10:00:02 BBot /private/a disallowed\n", 1},
		{"a 400 for one", "10:00:00 BBot/1 /robots.txt\n10:00:00 ABot/1 /robots.txt 400\n10:00:01 ABot/1 /private/a\n10:00:02 BBot/1 /private/b", "10:00:02 BBot /private/b disallowed\n", 0},
		{"a 429 is no 404", "10:00:00 ABot/1 /robots.txt\n10:01:00 ABot/1 /robots.txt 429\n10:01:01 ABot/1 /private/a", "10:01:01 ABot /private/a disallowed\n", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := read(t, always(rulesOfSite), combined(tt.log))
			if got.String() != tt.want || got.result.Counts["unaudited"] != tt.unaudited {
				t.Errorf("%d requests are unaudited, want %d; the audit reports\n%swant\n%s", got.result.Counts["unaudited"], tt.unaudited, got, tt.want)
			}
		})
	}
	changed := new(history)
	give(changed, "", morning.Add(-10*time.Hour), 200, []byte("User-agent: *\nDisallow:\n"))
	give(changed, "", morning.Add(2*time.Hour), 200, []byte("User-agent: *\nDisallow: /private/\n"))
	log := combined(`
		20T11:00:00 ABot/1 /robots.txt
		20T11:00:00 GuiltyBot/1 /robots.txt
		21T10:00:00 ABot/1 /robots.txt 503
		21T12:00:00 ABot/1 /private/a
		21T12:00:00 GuiltyBot/1 /private/a`)
	wantAccused(t, read(t, changed, log), "GuiltyBot stale") // ABot may continue to use its copy, because its later fetch failed
	if got := read(t, nil, combined("10:00:00 ABot/1 /robots.txt 404\n10:00:01 ABot/1 /a")); got.result.Counts["unaudited"] != 0 {
		t.Errorf("after a 404 for robots.txt, the result is %+v, want no unaudited requests", got.result)
	}
}

// A robot may have received robots.txt before the log began. Therefore, a new
// file is in force for that robot only when an older copy must have expired.
func TestFair_ChangeAfterAFetchBeforeTheLog(t *testing.T) {
	changed := new(history)
	give(changed, "", morning.Add(-90*time.Hour), 200, []byte("User-agent: *\nDisallow: /private/\n"))
	give(changed, "", morning.Add(-20*time.Hour), 200, []byte("User-agent: *\nDisallow: /b/\n"))
	give(changed, "", morning.Add(2*time.Hour), 200, []byte("User-agent: *\nDisallow: /private/\nDisallow: /b/\n"))
	got := read(t, changed, combined(`
		20T13:00:00 ABot/1 /private/a
		20T13:00:01 ABot/1 /b/a
		20T14:30:00 ABot/1 /b/b
		21T12:00:00 ABot/1 /private/b
		21T12:01:01 ABot/1 /private/c`))
	if want := "14:30:00 ABot /b/b disallowed\n12:01:01 ABot /private/c disallowed\n"; got.String() != want || got.result.Counts["not_shown"] != 5 {
		t.Errorf("the counts are %v, want 5 not_shown; the audit reports\n%swant\n%s", got.result.Counts, got, want)
	}
}

// A robot may use its copy of robots.txt for 24 hours, and need not obey a
// newer Crawl-delay during this time.
func TestFair_CrawlDelayThatIsNew(t *testing.T) {
	changed := new(history)
	give(changed, "", morning.Add(-90*time.Hour), 200, []byte("User-agent: *\nCrawl-delay: 1\n"))
	give(changed, "", morning, 200, []byte("User-agent: *\n\nCrawl-delay: 10\n"))
	hits := slices.Concat(
		pages("OldBot/1.0", "192.0.2.1", morning.Add(time.Hour), 20, every(2*time.Second)),
		pages("CopyBot/1.0", "192.0.2.2", morning.Add(time.Hour), 20, every(2*time.Second)),
		pages("FreshBot/1.0", "192.0.2.3", morning.Add(time.Hour), 20, every(2*time.Second)),
		pages("HastyBot/1.0", "192.0.2.4", morning.Add(time.Hour), 20, every(500*time.Millisecond)),
		pages("FailBot/1.0", "192.0.2.5", morning.Add(time.Hour), 20, every(100*time.Millisecond)),
		[]hit{
			{morning.Add(-time.Hour), 0, "192.0.2.2", "site.example", "CopyBot/1.0", "/robots.txt", 200},
			{morning.Add(time.Minute), 0, "192.0.2.3", "site.example", "FreshBot/1.0", "/robots.txt", 200},
			{morning.Add(-time.Hour), 0, "192.0.2.4", "site.example", "HastyBot/1.0", "/robots.txt", 200},
			{morning.Add(time.Minute), 0, "192.0.2.5", "site.example", "FailBot/1.0", "/robots.txt", 503},
		})
	got := read(t, changed, linesOf(hits, hit.precise))
	wantAccused(t, got, "FreshBot gap", "HastyBot gap")
	for _, v := range got.violations {
		if v.Robot != "HastyBot" {
			continue
		}
		if v.Rule != "Crawl-delay: 1" || v.Line != 2 || v.Want != time.Second {
			t.Fatalf("got the violation %+v, want the Rule Crawl-delay: 1, line 2 and 1 s", v)
		}
	}
}

// The combined format contains the end of a request. The request is judged by
// the files that the robot may have had when the request began.
func TestFair_RequestsThatTakeLong(t *testing.T) {
	changed := new(history)
	give(changed, "", morning.Add(-90*time.Hour), 200, []byte("User-agent: *\nDisallow:\n"))
	give(changed, "", morning.Add(2*time.Hour), 200, []byte("User-agent: *\nDisallow: /private/\n"))
	tests := []struct {
		name, log, want string
		unaudited       int
	}{
		{"a page that was sent within 24 hours", "20T11:00:00 ABot/1 /robots.txt\n21T11:00:40 ABot/1 /private/a\n21T11:02:00 ABot/1 /private/b", "11:02:00 ABot /private/b stale\n", 0},
		{"a fetch that may have begun before the change", "20T12:00:20 ABot/1 /robots.txt\n20T12:00:30 ABot/1 /private/a\n20T12:02:00 ABot/1 /robots.txt\n20T12:02:10 ABot/1 /private/b", "12:02:10 ABot /private/b disallowed\n", 1},
		{"the first page", "20T11:00:00 XBot/1 /robots.txt\n21T10:00:00 XBot/1 /robots.txt\n21T10:05:00 XBot/1 /robots.txt\n21T11:00:40 ABot/1 /a\n21T11:00:40 BBot/1 /a | 1795258840.000 0.001", "11:00:39.999 BBot /a before-robots-txt\n", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := read(t, changed, combined(tt.log))
			if got.String() != tt.want || got.result.Counts["unaudited"] != tt.unaudited {
				t.Errorf("%d requests are unaudited, want %d; the audit reports\n%swant\n%s", got.result.Counts["unaudited"], tt.unaudited, got, tt.want)
			}
		})
	}
}

// A log does not contain the target of a redirect. After a redirect of
// robots.txt, the next request of the robot may therefore be for the file
// itself, and is not a violation. This applies to only one URL.
func TestFair_RedirectOfRobotsTxt(t *testing.T) {
	got := read(t, always("User-agent: *\nCrawl-delay: 1000\nDisallow: /static/\n"), combined(`
		20T10:00:00 ABot/1 /robots.txt 301
		20T10:00:01 ABot/1 /static/robots.txt
		20T10:01:10 ABot/1 /a
		20T11:00:00 ABot/1 /static/robots.txt
		20T12:00:00 ABot/1 /robots.txt 301
		20T12:00:01 ABot/1 /static/robots.txt
		20T13:00:00 ABot/1 /robots.txt 301
		20T13:00:01 ABot/1 /static/b
		20T14:00:00 BBot/1 /robots.txt 301
		20T14:00:00 BBot/1 /robots.txt
		20T14:00:01 BBot/1 /static/b`))
	want := "11:00:00 ABot /static/robots.txt disallowed\n13:00:01 ABot /static/b disallowed\n14:00:01 BBot /static/b disallowed\n"
	if got.String() != want || got.result.Counts["unaudited"] != 2 {
		t.Errorf("%d requests are unaudited, want 2; the audit reports\n%swant\n%s", got.result.Counts["unaudited"], got, want)
	}
}

// A robot that is named by no group obeys "*", even if "*" and another robot
// share a group.
func TestFair_AnotherRobotBesideEveryone(t *testing.T) {
	const rules = "User-agent: OtherBot\nUser-agent: *\nDisallow: /\n\nUser-agent: Googlebot\nDisallow: /google/\n"
	got := read(t, always(rules), combined(`
		10:00:00 Googlebot-Image/1.0 /robots.txt
		10:00:01 Googlebot-Image/1.0 /a
		10:00:02 Googlebot-Image/1.0 /google/a
		10:00:03 AdsBot-Google /a
		10:00:04 PoorBot/1.0 /a`))
	if want := "10:00:02 Googlebot-Image /google/a disallowed\n10:00:04 PoorBot /a disallowed\n"; got.String() != want {
		t.Errorf("the audit reports\n%swant\n%s", got, want)
	}
}

// A violation is reported for any name of a user that the robot sends.
func TestRead_ForgedUser(t *testing.T) {
	h := hit{morning, 0, "192.0.2.66", "", "GuiltyBot/1.0", "/private/a", 200}
	for name, line := range map[string]string{
		"a user with a bracket": h.combined("a [b"),
		"a user with a date":    h.combined("a [19/Nov/2026:10:00:00 +0000] b"),
		"a user with a line":    h.combined(`x [19/Nov/2026:10:00:00 +0000] \x22GET / HTTP/1.1\x22 200 1 \x22-\x22 \x22Googlebot\x22`),
	} {
		got := read(t, always(rulesOfSite), line+"\n")
		if want := "10:00:00 GuiltyBot /private/a disallowed\n"; got.String() != want {
			t.Errorf("%s: the audit reports\n%swant\n%s", name, got, want)
			continue
		}
		if address := got.violations[0].Address; address != "192.0.2.66" {
			t.Errorf("%s: the violation has the address %q, want 192.0.2.66", name, address)
		}
	}
}

// A disallowed path in another form is a violation if servers treat both forms
// as the same path.
func TestRead_EquivalentPaths(t *testing.T) {
	for url, want := range map[string]int{
		"//private/a":         1,
		"/x/../private/a":     1,
		"/x/%2e%2e/private/a": 1,
		"/./private/a":        1,
		"/private%2fa":        0,
		"/x/../a":             0,
	} {
		h := hit{morning, 0, "192.0.2.66", "", "GuiltyBot/1.0", url, 200}
		got := read(t, always(rulesOfSite), h.combined("-")+"\n")
		if n := got.result.Violations; n != want {
			t.Errorf("%s: %d violations, want %d", url, n, want)
		}
	}
}

// Only a GET is a fetch of robots.txt. A 404 for another method does not mean
// that there is no robots.txt.
func TestRead_MethodOfRobotsTxt(t *testing.T) {
	for _, method := range []string{"POST", "HEAD"} {
		refused := strings.Replace(combined("10:00:01 GuiltyBot/1.0 /robots.txt 404"), "GET", method, 1)
		log := refused + combined("10:00:02 GuiltyBot/1.0 /private/a")
		caddy := strings.Replace(hit{morning, 0, "192.0.2.1", "a.example", "GuiltyBot/1.0", "/robots.txt", 404}.caddyFloat(), "GET", method, 1) + "\n" +
			hit{morning.Add(time.Second), 0, "192.0.2.1", "a.example", "GuiltyBot/1.0", "/private/a", 200}.caddyFloat() + "\n"
		archive := warcOf(warcText("request", "http://a.example/robots.txt", "2026-11-20T10:00:00Z", "", method+" /robots.txt HTTP/1.1\r\nUser-Agent: GuiltyBot/1.0\r\n\r\n"),
			answer("http://a.example/robots.txt", "2026-11-20T10:00:00Z", "404 No", ""), asked("http://a.example/private/a", "2026-11-20T10:00:02Z", "GuiltyBot/1.0"))
		for _, input := range []string{log, caddy, archive} {
			wantAccused(t, read(t, always(rulesOfSite), input), "GuiltyBot disallowed")
		}
	}
}

// A robot whose User-Agent resembles that of a browser is recognized.
func TestRobotName_LikeBrowsers(t *testing.T) {
	for agent, want := range map[string]string{
		"Mozilla/5.0 (iPhone; CPU iPhone OS 7_0 like Mac OS X) (bingbot/2.0; http://www.bing.com/bingbot.htm)":                   "bingbot",
		"Mozilla/5.0 (X11; Linux x86_64; Storebot-Google/1.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/79.0 Safari/537.36":  "Storebot-Google",
		"Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/15.0.1 Fetcher/1.0 (+https://example.com/about)":                 "Fetcher",
		"Mozilla/5.0 (Macintosh) AppleWebKit/600.2.5 (KHTML, like Gecko) Version/8.0.2 Safari/600.2.5 (+https://who.example/it)": "who.example",
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot":              "ChatGPT-User",
		"Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1; Trident/4.0)":                                                        "",
		"Mozilla/5.0 (Linux; Android 9; CUBOT X19) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/90.0 Mobile Safari/537.36":      "",
		"Opera/9.80 (Windows NT 6.1) Presto/2.12 Version/12.16":                                                                  "",
	} {
		if got := robotName(agent); got != want {
			t.Errorf("robotName(%q) = %q, want %q", agent, got, want)
		}
	}
}

// The JSON of servers other than Caddy is read, and a message of Caddy is not
// mistaken for a request.
func TestRead_JSONOfOtherServers(t *testing.T) {
	for server, line := range map[string]string{
		"nginx":   `{"time_iso8601":"2026-11-20T10:00:00+00:00","remote_addr":"192.0.2.1","request":"GET /private/a HTTP/1.1","status":"200","http_user_agent":"GuiltyBot/1.0"}`,
		"Traefik": `{"ClientAddr":"192.0.2.1:40000","DownstreamStatus":200,"RequestHost":"a.example","RequestPath":"/private/a","level":"info","msg":"","request_User-Agent":"GuiltyBot/1.0","time":"2026-11-20T10:00:00Z"}`,
		"docker":  `{"log":"192.0.2.1 - - [20/Nov/2026:10:00:00 +0000] \"GET /private/a HTTP/1.1\" 200 512 \"-\" \"GuiltyBot/1.0\"\n","stream":"stdout","time":"2026-11-20T10:00:00.1Z"}`,
	} {
		got := read(t, always(rulesOfSite), line+"\n")
		wantAccused(t, got, "GuiltyBot disallowed")
		if len(got.broken) != 0 {
			t.Errorf("%s: the line is reported as broken (%v), want it to be read", server, got.broken)
		}
		if address := got.violations[0].Address; address != "192.0.2.1" {
			t.Errorf("%s: the violation has the address %q, want 192.0.2.1", server, address)
		}
	}
	message := `{"level":"info","ts":1795168900,"msg":"serving initial configuration"}` + "\n"
	if got := read(t, always(rulesOfSite), message); len(got.broken) != 0 {
		t.Errorf("a message of Caddy is reported as broken (%v), want it to be ignored", got.broken)
	}
}

// Only requests between Since and Until are judged and counted, but robots.txt
// files that robots fetched before Since are taken into account.
func TestAuditor_SinceAndUntil(t *testing.T) {
	log := combined(`
		19T10:00:00 PoliteBot/1.0 /private/yesterday
		19T11:00:00 PoliteBot/1.0 /robots.txt
		19T11:00:00 Mozilla/5.0 /a
		19T11:00:00 OtherBot/1.0 /robots.txt
		19T19:00:00 OtherBot/1.0 /robots.txt
		19T19:05:00 OtherBot/1.0 /robots.txt
		20T10:00:00 PoliteBot/1.0 /a
		20T10:00:00 Mozilla/5.0 /a
		20T12:00:00 GuiltyBot/1.0 /a
		20T12:00:01 GuiltyBot/1.0 /private/a
		21T00:00:00 GuiltyBot/1.0 /private/tomorrow`)
	var got audited
	a := Auditor{given: *always(rulesOfSite), Since: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC), Until: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC),
		OnViolation: func(v Violation) { got.violations = append(got.violations, v) }}
	if err := a.Read(t.Context(), Input{"log", strings.NewReader(log)}); err != nil {
		t.Fatal(err)
	}
	r := a.Result()
	if want := "12:00:00 GuiltyBot /a before-robots-txt\n12:00:01 GuiltyBot /private/a disallowed\n"; got.String() != want || r.Requests != 4 || r.Violations != 2 || len(r.Robots) != 2 || r.Counts["not_shown"] != 0 {
		t.Errorf("the result is %+v, want 4 requests, 2 violations, 2 robots and no not_shown; the audit reports\n%swant\n%s", r, got, want)
	}
}

// Visitors cannot exhaust the memory with invented names, hosts and addresses,
// or with long URLs, which take little space in a compressed log.
func TestRead_WhatVisitorsInvent(t *testing.T) {
	if testmain.RaceEnabled {
		t.Skip("the race detector takes memory of its own")
	}
	live := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	long := "/private/" + strings.Repeat("a", 900<<10)
	for name, line := range map[string]func(i int) string{
		"names": func(i int) string {
			return hit{morning, 0, fmt.Sprintf("2001:db8::%x:%x", i>>16, i&0xffff), "", fmt.Sprintf("Bot%d/1.0", i), "/private/a", 200}.combined("-")
		},
		"hosts": func(i int) string {
			return fmt.Sprintf("h%d.example:80 ", i) + hit{morning, 0, "192.0.2.1", "", "Bot/1.0", "/private/a", 200}.combined("-")
		},
		"addresses": func(i int) string {
			return hit{morning, 0, fmt.Sprintf("2001:db8::%x:%x", i>>16, i&0xffff), "", "Bot/1.0", "/a", 200}.combined("-")
		},
		"long URLs": func(i int) string {
			return hit{morning, 0, "192.0.2.1", "", fmt.Sprintf("Bot%d/1.0", i%20), long, 200}.combined("-")
		},
	} {
		t.Run(name, func(t *testing.T) {
			lines := 200_000
			if name == "long URLs" {
				lines = 300
			}
			if testmain.RaceEnabled {
				lines /= 10
			}
			read, write := io.Pipe()
			go func() {
				zip, _ := gzip.NewWriterLevel(write, gzip.BestSpeed)
				for i := range lines {
					io.WriteString(zip, line(i)+"\n")
				}
				zip.Close()
				write.Close()
			}()
			begin, most := live(), uint64(0)
			a := Auditor{given: *always(rulesOfSite)}
			a.OnViolation = func(Violation) {
				if a.total.Violations%(lines/10) == 0 {
					most = max(most, live())
				}
			}
			if err := a.Read(t.Context(), Input{"log", read}); err != nil {
				t.Fatal(err)
			}
			r := a.Result()
			most = max(most, live()) - begin
			t.Logf("%d MiB for %d lines, %d robots, %d hosts", most>>20, lines, len(r.Robots), len(r.Hosts))
			if r.Requests != lines || name != "addresses" && r.Violations != lines || most > 96<<20 {
				t.Errorf("got %d MiB, %d requests and %d violations for %d lines, want at most 96 MiB, and one of each for a line", most>>20, r.Requests, r.Violations, lines)
			}
		})
	}
}
