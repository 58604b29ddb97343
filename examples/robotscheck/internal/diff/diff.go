package diff

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// Command is the subcommand robotscheck diff.
var Command = command.Command{
	Name:  "diff",
	Usage: "[flags] OLD NEW -urls FILE",
	Short: "which URLs an edit opens or closes, for whom",
	Setup: func(flags *flag.FlagSet) command.Action {
		o := declare(flags)
		return func(ctx context.Context, e command.Env, args []string) (command.Status, error) {
			if err := o.check(args); err != nil {
				return 0, err
			}
			return o.run(ctx, e, args)
		}
	},
}

// options are the values of the flags.
type options struct {
	urls      *string
	agents    *[]string
	asJSON    *bool
	userAgent *string
}

func declare(flags *flag.FlagSet) options {
	return options{
		urls: flags.String("urls", "",
			"`file` with one URL or \"/path?query\" per line; \"-\" for standard input; required"),
		agents: robots.TokensFlag(flags,
			"product `token` of a robot, may be repeated; default: all that OLD or NEW names, and \"*\""),
		asJSON:    flags.Bool("json", false, "print JSON, one object per line"),
		userAgent: robots.UserAgentFlag(flags),
	}
}

// check returns an error if the command line is wrong.
func (o options) check(args []string) error {
	if len(args) != 2 {
		return command.Usagef("specify two robots.txt files, OLD and NEW")
	}
	if *o.urls == "" {
		return command.Usagef("-urls is required: a file with one URL per line")
	}
	if command.StdinTwice(args[0], args[1], *o.urls) {
		return command.Usagef("only one of OLD, NEW and -urls can be standard input")
	}
	return nil
}

func (o options) run(ctx context.Context, e command.Env, args []string) (command.Status, error) {
	d := diff{print: func(c change) { e.Print(c, *o.asJSON) }}
	for i, arg := range args {
		source, err := robots.Read(ctx, e, arg, *o.userAgent)
		if err == nil {
			err = source.Unreachable()
		}
		if err != nil {
			return 0, err
		}
		d.sources[i] = source
	}
	d.addRobots(*o.agents)
	in, err := e.Open(*o.urls)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	isDoubtful := false
	for _, source := range d.sources {
		if doubt := source.Doubt(); doubt != "" {
			isDoubtful = true
			e.Print(robots.Doubtful{Source: source.Name, Doubt: doubt}, *o.asJSON)
		}
	}
	if err := d.compare(command.DisplayName(*o.urls), in); err != nil {
		return 0, err
	}
	if !*o.asJSON {
		e.Stdout.Flush()
		fmt.Fprintln(e.Stderr, d.summary())
	}
	if isDoubtful {
		return command.Doubtful, nil
	}
	if d.opened+d.closed > 0 {
		return command.No, nil
	}
	return command.OK, nil
}

type diff struct {
	sources [2]*robots.Source // the old and the new file
	robots  []robot
	print   func(change)

	urls, opened, closed int // number of URLs: all; opened and closed for a robot
}

// A robot is a robot's name with its old and its new rules.
type robot struct {
	agent    string
	rules    [2]*robotstxt.Rules
	dialects [len(robots.Dialects)][2]*robotstxt.Rules // as robots.Dialects read them
}

// addRobots adds the agents or, if there are none, all robots that the files
// name, and "*".
func (d *diff) addRobots(agents []string) {
	if len(agents) == 0 {
		agents = robots.Named(d.sources[0].File, d.sources[1].File)
		if !slices.Contains(agents, "*") {
			agents = slices.Insert(agents, 0, "*")
		}
	}
	for _, agent := range agents {
		d.robots = append(d.robots, d.robot(agent))
	}
}

func (d *diff) robot(agent string) robot {
	r := robot{agent: agent}
	for i, source := range d.sources {
		r.rules[i] = source.File.Rules(agent)
		for k, dialect := range robots.Dialects {
			r.dialects[k][i] = dialect.Parse(source.Text).Rules(agent)
		}
	}
	return r
}

func (d *diff) summary() string {
	return fmt.Sprintf("%s, %s: %s opened, %s closed",
		cli.Count(d.urls, "URL"),
		cli.Count(len(d.robots), "robot"),
		cli.Thousands(d.opened),
		cli.Thousands(d.closed))
}

// verdicts are the verdicts of the old and the new file.
type verdicts struct {
	Old robots.Verdict `json:"old"`
	New robots.Verdict `json:"new"`
}

// isSame reports whether v and other agree on whether the URL is allowed, both
// by the old file and by the new one.
func (v verdicts) isSame(other verdicts) bool {
	return v.Old.Allowed == other.Old.Allowed && v.New.Allowed == other.New.Allowed
}

func (v verdicts) String() string { return v.Old.Word() + " -> " + v.New.Word() }

// A change is a changed verdict on a URL, as -json prints it.
type change struct {
	URL    string   `json:"url"`
	Agents []string `json:"agents"`
	verdicts

	// Dialects maps the name of each dialect whose verdicts differ from those
	// of RFC 9309 to these verdicts.
	Dialects map[string][]dialectChange `json:"dialects,omitempty"`
}

type dialectChange struct {
	Agents []string `json:"agents"`
	verdicts
}

func (c change) Print(w io.Writer) {
	url := command.Printable(c.URL)
	fmt.Fprintf(w, "%s: %v for %s\n", url, c.verdicts, strings.Join(c.Agents, ", "))
	fmt.Fprintf(w, "    old: %s\n    new: %s\n", c.Old.Why(), c.New.Why())
	for _, dialect := range robots.Dialects {
		for _, other := range c.Dialects[dialect.Name] {
			agents := strings.Join(other.Agents, ", ")
			fmt.Fprintf(w, "    %s: %v for %s\n", dialect.Title, other.verdicts, agents)
		}
	}
}

// compare compares the verdicts on each URL of a list. name is the DisplayName
// of the list.
func (d *diff) compare(name string, in io.Reader) error {
	return command.EachURL(name, in, func(number int, url string) error {
		for _, source := range d.sources {
			if err := source.CheckTarget(url); err != nil {
				// Do not wrap a UsageError, because the command line is right.
				return fmt.Errorf("%s:%d: %v", name, number, err)
			}
		}
		d.compareURL(url)
		return nil
	})
}

func (d *diff) compareURL(target string) {
	d.urls++
	changes := d.changes(target)
	for _, c := range changes {
		d.print(c)
	}
	opens := func(c change) bool { return c.New.Allowed }
	closes := func(c change) bool { return !c.New.Allowed }
	if slices.ContainsFunc(changes, opens) {
		d.opened++
	}
	if slices.ContainsFunc(changes, closes) {
		d.closed++
	}
}

// changes returns the changes for a target. Robots with the same verdicts share
// a change.
func (d *diff) changes(target string) (changes []change) {
	for _, r := range d.robots {
		v := verdicts{
			Old: d.sources[0].Judge(r.rules[0], target),
			New: d.sources[1].Judge(r.rules[1], target),
		}
		if v.Old.Allowed == v.New.Allowed {
			continue
		}
		i := slices.IndexFunc(changes, func(c change) bool { return c.verdicts == v })
		if i < 0 {
			i = len(changes)
			changes = append(changes, change{URL: target, verdicts: v})
		}
		changes[i].Agents = append(changes[i].Agents, r.agent)
		d.addDialects(&changes[i], r, target)
	}
	return changes
}

// addDialects adds to c the verdicts of the dialects for the robot, if they
// differ from those of RFC 9309 in c.
func (d *diff) addDialects(c *change, r robot, target string) {
	for k, dialect := range robots.Dialects {
		v := verdicts{
			Old: d.dialectVerdict(0, r.dialects[k][0], target, c.Old),
			New: d.dialectVerdict(1, r.dialects[k][1], target, c.New),
		}
		if !v.isSame(c.verdicts) {
			c.addDialect(dialect.Name, v, r.agent)
		}
	}
}

// dialectVerdict returns the verdict by the rules of a dialect or, if source i
// has no file, the verdict by RFC 9309, which is the same.
func (d *diff) dialectVerdict(
	i int, rules *robotstxt.Rules, target string, rfc9309 robots.Verdict,
) robots.Verdict {
	if d.sources[i].Absent != "" {
		return rfc9309
	}
	return robots.NewVerdict(rules.Match(robots.Escape(target)))
}

// addDialect adds the verdicts of a dialect for an agent. Agents with the same
// verdicts share a dialectChange.
func (c *change) addDialect(name string, v verdicts, agent string) {
	if c.Dialects == nil {
		c.Dialects = make(map[string][]dialectChange)
	}
	others := c.Dialects[name]
	i := slices.IndexFunc(others, func(o dialectChange) bool { return o.verdicts == v })
	if i < 0 {
		i = len(others)
		others = append(others, dialectChange{verdicts: v})
	}
	others[i].Agents = append(others[i].Agents, agent)
	c.Dialects[name] = others
}
