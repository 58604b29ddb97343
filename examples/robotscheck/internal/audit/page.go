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
	"count":    cli.Count,
	"counts":   countCells,
	"delay":    formatCrawlDelay,
	"from":     printableAddresses,
	"host":     hostName,
	"kinds":    func() []string { return kinds },
	"marked":   hasViolation,
	"noun":     cli.Noun,
	"number":   cli.Thousands,
	"partial":  isPartial,
	"period":   periodTitle,
	"shortest": formatGap,
	"stamp":    formatTime,
	"target":   target,
	"visible":  command.Printable,
	"why":      reason,
}).Parse(pageHTML))

// maxPageRobots is the maximum number of robots on the page.
const maxPageRobots = 200

// A view contains the data for the template of the page.
type view struct {
	Result     *audit.Result
	Style      template.CSS
	Script     template.JS
	Policy     string // the Content-Security-Policy, which allows only Script
	From, To   string // the days of the first and the last request
	Notes      notes
	Chart      []column
	Ticks      []tick
	Robots     []robotView
	More       int // number of robots that are not in Robots
	Violations []audit.Violation
	Unlisted   int // number of violations that are not in Violations
	Files      []*robotsFile
	Faults     []fault
	MoreFaults int // number of faults that are not in Faults
	Unread     []unread
	Numbers    string // the counts of all robots as a table, to be copied
}

type robotView struct {
	*audit.Tally
	Chart    []column
	Breaches []*breach
}

// A pageSource contains the results of an audit, from which the page is made.
type pageSource struct {
	result   *audit.Result
	history  *history
	reporter *reporter
	breaches *breaches
	timeline *timeline
}

// writePage writes an HTML page to the named file.
func writePage(name string, s pageSource) error {
	var buf bytes.Buffer
	if err := page.Execute(&buf, newView(s)); err != nil {
		return err // this happens only if the template is wrong
	}
	return os.WriteFile(name, buf.Bytes(), 0o644)
}

func newView(s pageSource) *view {
	robots := slices.Clone(s.result.Robots)
	slices.SortStableFunc(robots, compareSeverity)
	v := &view{
		Result:     s.result,
		Style:      template.CSS(pageCSS),
		Script:     template.JS(pageJS),
		Policy:     contentSecurityPolicy(),
		Notes:      newNotes(s.result, nil, s.history.doubtful),
		Chart:      s.timeline.columns(s.timeline.all),
		Ticks:      s.timeline.ticks(),
		More:       max(0, len(robots)-maxPageRobots),
		Files:      violatedFiles(s.history.files, s.breaches),
		Faults:     s.reporter.faults,
		MoreFaults: s.reporter.moreFaults,
		Unread:     s.reporter.unread(),
		Numbers:    tabSeparated(robots),
	}
	if len(robots) > 0 {
		v.From = firstRequest(robots).Format(time.DateOnly)
		v.To = lastRequest(robots).Format(time.DateOnly)
	}
	for _, robot := range robots[:min(len(robots), maxPageRobots)] {
		v.Robots = append(v.Robots, robotView{
			Tally:    robot,
			Chart:    s.timeline.columns(s.timeline.robots[robot.Name]),
			Breaches: s.breaches.byRobot(robot.Name),
		})
	}
	for _, robot := range robots {
		v.Violations = append(v.Violations, s.breaches.listed[robot.Name]...)
	}
	v.Unlisted = max(0, s.result.Violations-len(v.Violations))
	return v
}

// contentSecurityPolicy returns a policy that allows inline styles, and only
// the script of the page.
func contentSecurityPolicy() string {
	sum := sha256.Sum256([]byte(pageJS))
	hash := base64.StdEncoding.EncodeToString(sum[:])
	return "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + hash + "'"
}

func firstRequest(robots []*audit.Tally) time.Time {
	byFirst := func(a, b *audit.Tally) int { return a.First.Compare(b.First) }
	return slices.MinFunc(robots, byFirst).First
}

func lastRequest(robots []*audit.Tally) time.Time {
	byLast := func(a, b *audit.Tally) int { return a.Last.Compare(b.Last) }
	return slices.MaxFunc(robots, byLast).Last
}

// compareSeverity sorts robots with the worst violations first. One page that
// robots.txt disallows outweighs any number of gaps.
func compareSeverity(a, b *audit.Tally) int {
	for _, kind := range []string{"disallowed", "stale", "before-robots-txt", "retry-after", "gap"} {
		if order := cmp.Compare(b.Counts[kind], a.Counts[kind]); order != 0 {
			return order
		}
	}
	return cmp.Compare(b.Requests, a.Requests)
}

// tabSeparated returns the counts of robots as lines of tab-separated values,
// for spreadsheets.
func tabSeparated(robots []*audit.Tally) string {
	var b strings.Builder
	fmt.Fprintf(&b, "robot\trequests\trobots.txt\t%s\tunaudited\taddresses\n",
		strings.Join(kinds, "\t"))
	for _, robot := range robots {
		name := command.Printable(robot.Name)
		fmt.Fprintf(&b, "%s\t%d\t%d", name, robot.Requests, robot.Counts["fetches"])
		for _, kind := range kinds {
			fmt.Fprintf(&b, "\t%d", robot.Counts[kind])
		}
		fmt.Fprintf(&b, "\t%d\t%d\n", robot.Counts["unaudited"], len(robot.Addresses))
	}
	return b.String()
}

// hasViolation reports whether a chart contains a violation.
func hasViolation(chart []column) bool {
	return slices.ContainsFunc(chart, func(c column) bool { return c.Violations > 0 })
}

// periodTitle describes the period and the counts of a column of a chart.
func periodTitle(c column) string {
	return fmt.Sprintf("%s to %s: %s, %s",
		formatTime(c.From),
		formatTime(c.To),
		cli.Count(c.Requests, "request"),
		cli.Count(c.Violations, "violation"))
}
