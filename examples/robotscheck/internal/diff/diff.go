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
		urls := flags.String("urls", "",
			"`file` with one URL or \"/path?query\" per line; \"-\" for standard input; required")
		named := robots.TokensFlag(flags, "product `token` of a robot, may be repeated; default: all that OLD or NEW names, and \"*\"")
		asJSON := flags.Bool("json", false, "print JSON, one object per line")
		userAgent := robots.UserAgentFlag(flags)
		return func(ctx context.Context, e command.Env, args []string) (command.Status, error) {
			switch {
			case len(args) != 2:
				return 0, command.Usagef("specify two robots.txt files, OLD and NEW")
			case *urls == "":
				return 0, command.Usagef("-urls is required: a file with one URL per line")
			}
			if command.StdinTwice(args[0], args[1], *urls) {
				return 0, command.Usagef("only one of OLD, NEW and -urls can be standard input")
			}
			d := diff{print: func(c change) { e.Print(c, *asJSON) }}
			for i, arg := range args {
				s, err := robots.Read(ctx, e, arg, *userAgent)
				if err == nil {
					err = s.Unreachable()
				}
				if err != nil {
					return 0, err
				}
				d.sources[i] = s
			}
			if len(*named) == 0 {
				*named = slices.Compact(append([]string{"*"}, robots.Named(d.sources[0].File, d.sources[1].File)...)) // which may begin with "*", too
			}
			for _, agent := range *named {
				d.robots = append(d.robots, d.robot(agent))
			}
			in, err := e.Open(*urls)
			if err != nil {
				return 0, err
			}
			defer in.Close()
			isDoubtful := false
			for _, s := range d.sources {
				if doubt := s.Doubt(); doubt != "" {
					isDoubtful = true
					e.Print(robots.Doubtful{Source: s.Name, Doubt: doubt}, *asJSON)
				}
			}
			if err := d.compare(command.DisplayName(*urls), in); err != nil {
				return 0, err
			}
			if !*asJSON {
				e.Stdout.Flush()
				fmt.Fprintf(e.Stderr, "%s, %s: %s opened, %s closed\n",
					cli.Count(d.urls, "URL"),
					cli.Count(len(*named), "robot"),
					cli.Thousands(d.opened),
					cli.Thousands(d.closed))
			}
			switch {
			case isDoubtful:
				return command.Doubtful, nil
			case d.opened+d.closed > 0:
				return command.No, nil
			}
			return command.OK, nil
		}
	},
}

type diff struct {
	sources [2]*robots.Source
	robots  []robot
	print   func(change)

	urls, opened, closed int // counts of URLs: all URLs; URLs opened for a robot; URLs closed for a robot
}

// A robot is a robot's name, and what it obeys of the old and of the new file.
type robot struct {
	agent  string
	rules  [2]*robotstxt.Rules
	others [len(robots.Dialects)][2]*robotstxt.Rules // the same in robots.Dialects
}

func (d *diff) robot(agent string) robot {
	r := robot{agent: agent}
	for i, s := range d.sources {
		r.rules[i] = s.File.Rules(agent)
		for k, dialect := range robots.Dialects {
			r.others[k][i] = dialect.Parse(s.Text).Rules(agent)
		}
	}
	return r
}

// A change is a changed verdict on a URL, as -json prints it.
type change struct {
	URL    string         `json:"url"`
	Agents []string       `json:"agents"`
	Old    robots.Verdict `json:"old"`
	New    robots.Verdict `json:"new"`

	// Dialects has the other dialects that see another change, by their names.
	Dialects map[string][]dialectChange `json:"dialects,omitempty"`
}

// A dialectChange has the verdicts of a dialect, which may be equal.
type dialectChange struct {
	Agents []string       `json:"agents"`
	Old    robots.Verdict `json:"old"`
	New    robots.Verdict `json:"new"`
}

func (c change) Print(w io.Writer) {
	fmt.Fprintf(w, "%s: %s -> %s for %s\n", command.Printable(c.URL), c.Old.Word(), c.New.Word(), strings.Join(c.Agents, ", "))
	fmt.Fprintf(w, "    old: %s\n    new: %s\n", c.Old.Why(), c.New.Why())
	for _, d := range robots.Dialects {
		for _, o := range c.Dialects[d.Name] {
			fmt.Fprintf(w, "    %s: %s -> %s for %s\n", d.Title, o.Old.Word(), o.New.Word(), strings.Join(o.Agents, ", "))
		}
	}
}

func (d *diff) compare(name string, in io.Reader) error {
	return command.EachURL(name, in, func(number int, line string) error {
		for _, s := range d.sources {
			if err := s.CheckTarget(line); err != nil {
				return fmt.Errorf("%s:%d: %v", name, number, err) // not %w, because Run would print the usage for a wrapped UsageError
			}
		}
		d.compareURL(line)
		return nil
	})
}

func (d *diff) compareURL(target string) {
	d.urls++
	var changes []change
	for _, r := range d.robots {
		var v [2]robots.Verdict
		for i, s := range d.sources {
			v[i] = s.Judge(r.rules[i], target)
		}
		if v[0].Allowed == v[1].Allowed {
			continue
		}
		same := slices.IndexFunc(changes, func(c change) bool { return c.Old == v[0] && c.New == v[1] })
		if same < 0 {
			same = len(changes)
			changes = append(changes, change{URL: target, Old: v[0], New: v[1]})
		}
		changes[same].Agents = append(changes[same].Agents, r.agent)
		d.addDialects(&changes[same], r, target)
	}
	for _, c := range changes {
		d.print(c)
	}
	if slices.ContainsFunc(changes, func(c change) bool { return c.New.Allowed }) {
		d.opened++
	}
	if slices.ContainsFunc(changes, func(c change) bool { return !c.New.Allowed }) {
		d.closed++
	}
}

// addDialects adds the verdicts of those dialects that see another change of a
// robot's verdict than RFC 9309, whose verdicts are in c.
func (d *diff) addDialects(c *change, r robot, target string) {
	sent := robots.Escape(target)
	for k, dialect := range robots.Dialects {
		v := [2]robots.Verdict{c.Old, c.New}
		for i, s := range d.sources {
			if s.Absent == "" {
				v[i] = robots.NewVerdict(r.others[k][i].Match(sent))
			}
		}
		if v[0].Allowed == c.Old.Allowed && v[1].Allowed == c.New.Allowed {
			continue
		}
		if c.Dialects == nil {
			c.Dialects = make(map[string][]dialectChange)
		}
		others := c.Dialects[dialect.Name]
		same := slices.IndexFunc(others, func(o dialectChange) bool { return o.Old == v[0] && o.New == v[1] })
		if same < 0 {
			same = len(others)
			others = append(others, dialectChange{Old: v[0], New: v[1]})
		}
		others[same].Agents = append(others[same].Agents, r.agent)
		c.Dialects[dialect.Name] = others
	}
}
