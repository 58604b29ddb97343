package integration

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
)

// collyRaceList names a file with one known race on each line. A line has the
// four fields of a collyRace.
const collyRaceList = "testdata/collyraces.txt"

// These crawlers change a setting during requests. This is a race even without
// Courtesy, so they show that the detector finds races.
var careless = map[string]func(t *testing.T, sites []*collySite, attach func(c *colly.Collector, late bool)){
	"sets a proxy while requests are under way": whileUnderWay(func(c *colly.Collector) {
		c.SetProxyFunc(func(*http.Request) (*url.URL, error) { return nil, nil })
	}),
	"sets a timeout while requests are under way": whileUnderWay(func(c *colly.Collector) { c.SetRequestTimeout(time.Minute) }),
}

func whileUnderWay(set func(*colly.Collector)) func(*testing.T, []*collySite, func(*colly.Collector, bool)) {
	return func(t *testing.T, sites []*collySite, attach func(*colly.Collector, bool)) {
		c := colly.NewCollector(colly.Async())
		attach(c, false)
		c.OnHTML("a[href]", func(e *colly.HTMLElement) { e.Request.Visit(e.Attr("href")) })
		c.OnResponse(func(*colly.Response) { set(c) })
		attach(c, true)
		for _, s := range sites {
			c.Visit(s.URL)
		}
		c.Wait()
	}
}

// Courtesy adds no race: each race that is reported with Courtesy attached is
// also reported with plain colly. Each crawler runs as a separate program under
// the race detector: plain, attached early, and attached late. .ci/colly-races
// runs this test.
func TestColly_Races(t *testing.T) {
	if os.Getenv("COLLY_RACES") == "" {
		t.Skip("COLLY_RACES is not set: how often each crawler is to run under the race detector")
	}
	times, err := strconv.Atoi(os.Getenv("COLLY_RACES"))
	if err != nil {
		t.Fatal(err)
	}
	head, listed := readRaces(t)
	seen := make(map[collyRace]bool)
	for _, program := range slices.Concat(slices.Sorted(maps.Keys(collyShapes)), slices.Sorted(maps.Keys(careless))) {
		for _, when := range []string{"plain", "early", "late"} {
			for range times {
				for _, r := range racesOf(t, program, when) {
					seen[r] = true
				}
			}
		}
	}
	has := func(list map[collyRace]bool, program, when, what string) bool {
		for r := range list {
			if r.program == program && r.when == when && r.what == what {
				return true
			}
		}
		return false
	}
	for r := range seen {
		if r.when != "plain" && !has(seen, r.program, "plain", r.what) && !has(listed, r.program, "plain", r.what) {
			t.Errorf("this race was found only with Courtesy, and not with plain colly: %s", r)
		} else if !has(listed, r.program, r.when, r.what) && !*update {
			t.Errorf("this race is not listed in %s (go test -update adds it): %s", collyRaceList, r)
		}
	}
	controls := slices.Collect(maps.Keys(careless))
	if !slices.ContainsFunc(controls, func(program string) bool { return has(seen, program, "plain", "a request and a setting") }) {
		t.Errorf("the race detector found no race in plain colly with %q, want at least one", controls)
	}
	if *update && !t.Failed() {
		maps.Copy(listed, seen)
		writeRaces(t, head, listed)
	}
}

func TestColly_RaceProgram(t *testing.T) {
	program, when, ok := strings.Cut(os.Getenv("COLLY_RACE_PROGRAM"), "|")
	if !ok {
		t.Skip("SKIPPED: only TestColly_Races runs this test, in a process of its own")
	}
	run := collyShapes[program]
	if run == nil {
		run = careless[program]
	}
	sites := []*collySite{newCollySite(t), newCollySite(t)}
	run(t, sites, func(c *colly.Collector, late bool) {
		if when == "plain" || late != (when == "late") {
			return
		}
		_, err := collyrobots.Attach(c, robotsmw.Options{
			UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
			Limiter:   &politeness.Limiter{Delay: -1, Concurrency: -1, BackOff: time.Millisecond},
			Logger:    slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	fmt.Printf("crawled %d pages\n", len(sites[0].log())+len(sites[1].log()))
}

type collyRace struct {
	program string
	when    string // when Courtesy was attached: "plain" (never), "early" or "late"
	what    string // for each of the two accesses, the result of whatOf
	places  string // the two functions; for the standard library, their packages
}

func (r collyRace) String() string {
	return strings.Join([]string{r.program, r.when, r.what, r.places}, " | ")
}

// racesOf runs a program under the race detector and returns the reported
// races.
func racesOf(t *testing.T, program, when string) (races []collyRace) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "race")
	cmd := exec.Command(os.Args[0], "-test.run=^TestColly_RaceProgram$", "-test.v")
	cmd.Env = append(os.Environ(), "COLLY_RACE_PROGRAM="+program+"|"+when, "GORACE=halt_on_error=0 exitcode=0 log_path="+log)
	said, _ := cmd.CombinedOutput() // the error is ignored, because the program's test fails if there is a race
	if !bytes.Contains(said, []byte("crawled ")) {
		t.Fatalf("the program %q, attached %s, printed no line that begins with \"crawled\":\n%s", program, when, said)
	}
	files, err := filepath.Glob(log + ".*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		report, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range strings.Split(string(report), "WARNING: DATA RACE\n")[1:] {
			accesses := strings.Split(one, "\n\n")
			what := []string{whatOf(accesses[0]), whatOf(accesses[1])}
			places := []string{placeOf(accesses[0]), placeOf(accesses[1])}
			slices.Sort(what)
			slices.Sort(places)
			races = append(races, collyRace{program, when, strings.Join(what, " and "), strings.Join(places, " and ")})
		}
	}
	return races
}

var (
	frame   = regexp.MustCompile(`(?m)^  (\S+)\(\)$`)
	setting = regexp.MustCompile(`/colly/v2\.\(\*Collector\)\.(Set|With|On)\w*$|/collyrobots\.(\(\*guard\)\.|copyChange\b|isFromSetProxy$|hasDialer$)`)
)

// whatOf returns "a setting" if the access is in a function that changes a
// setting. Otherwise it returns "a request".
func whatOf(access string) string {
	if f := frame.FindStringSubmatch(access); f != nil && setting.MatchString(f[1]) {
		return "a setting"
	}
	return "a request"
}

// placeOf returns the function that raced. It skips functions of runtime, sync
// and sync/atomic, and takes their caller instead. For any other function of
// the standard library, it returns the package.
func placeOf(access string) string {
	for _, f := range frame.FindAllStringSubmatch(access, -1) {
		path, name := "", f[1]
		if i := strings.LastIndexByte(name, '/'); i >= 0 {
			path, name = name[:i+1], name[i+1:]
		}
		pkg, _, _ := strings.Cut(name, ".")
		switch {
		case strings.Contains(path, "."): // no import path of the standard library has a dot
			return name
		case pkg != "runtime" && pkg != "atomic" && pkg != "sync":
			return path + pkg
		}
	}
	return strings.TrimSpace(access)
}

func readRaces(t *testing.T) (head string, listed map[collyRace]bool) {
	text, err := os.ReadFile(collyRaceList)
	if err != nil {
		t.Fatal(err)
	}
	listed = make(map[collyRace]bool)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			head += line
			continue
		}
		if parts := strings.Split(strings.TrimSpace(line), " | "); len(parts) == 4 {
			listed[collyRace{parts[0], parts[1], parts[2], parts[3]}] = true
		}
	}
	return head, listed
}

func writeRaces(t *testing.T, head string, listed map[collyRace]bool) {
	var lines []string
	for r := range listed {
		lines = append(lines, r.String()+"\n")
	}
	slices.Sort(lines)
	if err := os.WriteFile(collyRaceList, []byte(head+strings.Join(lines, "")), 0o644); err != nil {
		t.Fatal(err)
	}
}
