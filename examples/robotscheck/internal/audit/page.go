package audit

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"slices"
	"time"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/robotsmw/evidence/audit"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

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
	"shortest": shortest,
	"delay":    delay,
	"host":     hostName,
}).Parse(pageHTML))

// pageRobots is how many robots a page shows at most.
const pageRobots = 200

type view struct {
	Result *audit.Result
	Style  template.CSS
	Robots []robotView
	More   int // how many robots are not shown
	Notes  []string
	From   string // the first day that the page shows
	To     string // the last day that the page shows
}

type robotView struct {
	*audit.Tally
	Strip    []cell
	Breaches []*breach
	Listed   []audit.Violation
	More     int // how many violations are not listed
}

// A cell stands for one day in a strip. If there are more than stripCells days,
// it stands for several days.
type cell struct {
	Class, Title string
}

func writePage(name string, r *audit.Result, found *breaches, notes []string) error {
	var buf bytes.Buffer
	if err := page.Execute(&buf, newView(r, found, notes)); err != nil {
		return err // this happens only if the template is wrong
	}
	return os.WriteFile(name, buf.Bytes(), 0o644)
}

func newView(r *audit.Result, found *breaches, notes []string) *view {
	v := &view{Result: r, Style: template.CSS(pageCSS), Notes: notes, More: max(0, len(r.Robots)-pageRobots)}
	robots := r.Robots[:min(len(r.Robots), pageRobots)]
	var first, last time.Time
	if len(robots) > 0 {
		first = slices.MinFunc(robots, func(a, b *audit.Tally) int { return a.First.Compare(b.First) }).First
		last = slices.MaxFunc(robots, func(a, b *audit.Tally) int { return a.Last.Compare(b.Last) }).Last
	}
	v.From, v.To = first.Format(time.DateOnly), last.Format(time.DateOnly)
	for _, robot := range robots {
		listed := found.listed[robot.Name]
		v.Robots = append(v.Robots, robotView{robot, strip(robot, first, last), found.ofRobot(robot.Name), listed, robot.Violations - len(listed)})
	}
	return v
}

// stripCells is how many cells a strip has at most.
const stripCells = 92

// strip returns the cells of a robot, for the days from first to last. The
// strips of all robots show the same days.
func strip(robot *audit.Tally, first, last time.Time) (cells []cell) {
	const day = 24 * time.Hour
	first = first.Truncate(day)
	date := func(i int) string { return first.AddDate(0, 0, i).Format(time.DateOnly) }
	days := int(last.Sub(first)/day) + 1
	each := (days + stripCells - 1) / stripCells
	for from := 0; from < days; from += each {
		var sum audit.Tally
		unaudited := 0
		for i := from; i < min(from+each, days); i++ {
			if d := robot.Days[date(i)]; d != nil {
				sum.Requests += d.Requests
				sum.Violations += d.Violations
				unaudited += d.Counts["unaudited"]
			}
		}
		title := date(from)
		if each > 1 {
			title += " to " + date(min(from+each, days)-1)
		}
		c := cell{Title: fmt.Sprintf("%s: %s, %s", title, cli.Count(sum.Requests, "request"), cli.Count(sum.Violations, "violation"))}
		switch {
		case sum.Requests == 0:
			c.Class, c.Title = "none", title+": not there"
		case sum.Violations > 0:
			c.Class = "bad"
		case unaudited > 0:
			c.Class = "unknown"
			c.Title += fmt.Sprintf(", %s unaudited", cli.Thousands(unaudited))
		default:
			c.Class = "good"
		}
		cells = append(cells, c)
	}
	return cells
}
