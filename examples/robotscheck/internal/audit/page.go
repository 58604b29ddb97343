package audit

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/robotsmw/evidence/audit"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"visible":  command.Printable,
	"count":    cli.Count,
	"counts":   counts,
	"kinds":    func() []string { return kinds },
	"noun":     cli.Noun,
	"number":   cli.Thousands,
	"why":      why,
	"from":     func(addresses []string) string { return listed(addresses, command.Printable) },
	"partial":  isPartial,
	"target":   target,
	"stamp":    stamp,
	"period":   period,
	"marked":   isMarked,
	"shortest": shortest,
	"delay":    delay,
	"host":     hostName,
}).Parse(pageHTML))

// pageRobots is how many robots a page shows at most.
const pageRobots = 200

// A view is what the template of the page shows.
type view struct {
	Result     *audit.Result
	Style      template.CSS
	Script     template.JS
	Policy     string // the Content-Security-Policy, which allows only Script
	From, To   string // the days of the first and the last request
	Notes      []string
	Chart      []column
	Ticks      []tick
	Robots     []robotView
	More       int // how many robots are not shown
	Violations []audit.Violation
	Unlisted   int // how many violations are not in Violations
	Files      []*robotsFile
	Faults     []fault
	MoreFaults int // how many faults are not in Faults
	Unread     []unread
	Numbers    string // the counts of all robots as a table, to be copied
}

type robotView struct {
	*audit.Tally
	Chart    []column
	Breaches []*breach
}

// A pageSource is what a page is made of.
type pageSource struct {
	result   *audit.Result
	found    *breaches
	timeline *timeline
	files    []*robotsFile
	broken   *brokenLines
	notes    []string
}

func writePage(name string, s pageSource) error {
	var buf bytes.Buffer
	if err := page.Execute(&buf, newView(s)); err != nil {
		return err // this happens only if the template is wrong
	}
	return os.WriteFile(name, buf.Bytes(), 0o644)
}

func newView(s pageSource) *view {
	r := s.result
	sum := sha256.Sum256([]byte(pageJS))
	v := &view{
		Result: r, Style: template.CSS(pageCSS), Script: template.JS(pageJS), Notes: s.notes,
		Policy: "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'",
		Chart:  s.timeline.columns(s.timeline.all), Ticks: s.timeline.ticks(),
		Files: violated(s.files, s.found), Faults: s.broken.faults, MoreFaults: s.broken.moreFaults, Unread: s.broken.unread(),
	}
	robots := slices.Clone(r.Robots)
	slices.SortStableFunc(robots, byWeight)
	v.Numbers = numbers(robots)
	v.More = max(0, len(robots)-pageRobots)
	if len(robots) > 0 {
		v.From = slices.MinFunc(robots, func(a, b *audit.Tally) int { return a.First.Compare(b.First) }).First.Format(time.DateOnly)
		v.To = slices.MaxFunc(robots, func(a, b *audit.Tally) int { return a.Last.Compare(b.Last) }).Last.Format(time.DateOnly)
	}
	for _, robot := range robots {
		v.Violations = append(v.Violations, s.found.listed[robot.Name]...)
		if len(v.Robots) < pageRobots {
			v.Robots = append(v.Robots, robotView{robot, s.timeline.columns(s.timeline.robots[robot.Name]), s.found.ofRobot(robot.Name)})
		}
	}
	v.Unlisted = max(0, r.Violations-len(v.Violations))
	return v
}

// byWeight puts robots first that did the worst. One page that robots.txt
// forbids weighs more than any number of gaps.
func byWeight(a, b *audit.Tally) int {
	for _, kind := range []string{"disallowed", "stale", "before-robots-txt", "retry-after", "gap"} {
		if order := cmp.Compare(b.Counts[kind], a.Counts[kind]); order != 0 {
			return order
		}
	}
	return cmp.Compare(b.Requests, a.Requests)
}

// numbers returns the counts of robots as lines of values with tabs between
// them, as spreadsheets read them.
func numbers(robots []*audit.Tally) string {
	var b strings.Builder
	b.WriteString("robot\trequests\trobots.txt\t" + strings.Join(kinds, "\t") + "\tunaudited\taddresses\n")
	for _, robot := range robots {
		fmt.Fprintf(&b, "%s\t%d\t%d", command.Printable(robot.Name), robot.Requests, robot.Counts["fetches"])
		for _, kind := range kinds {
			fmt.Fprintf(&b, "\t%d", robot.Counts[kind])
		}
		fmt.Fprintf(&b, "\t%d\t%d\n", robot.Counts["unaudited"], len(robot.Addresses))
	}
	return b.String()
}

// isMarked reports whether a chart has a violation.
func isMarked(chart []column) bool {
	return slices.ContainsFunc(chart, func(c column) bool { return c.Violations > 0 })
}

// period returns the time that a column of a chart stands for.
func period(c column) string {
	return fmt.Sprintf("%s to %s: %s, %s", stamp(c.From), stamp(c.To), cli.Count(c.Requests, "request"), cli.Count(c.Violations, "violation"))
}
