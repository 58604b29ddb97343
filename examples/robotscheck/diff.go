package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

var diffCommand = command{
	name:  "diff",
	usage: "[flags] OLD NEW -urls FILE",
	short: "which URLs an edit opens or closes, for whom",
	help: `
Diff tells which of the URLs in a file change their verdict between two robots.txt files, for which robots, and by which
lines. OLD and NEW are files or URLs, so that an edit can be compared with what is in force:

  robotscheck diff https://example.com/robots.txt edited.txt -urls urls.txt

Exit status: 0 no verdict changes, 1 one does, 2 it cannot be told.

With -json, one object for each URL and robots that share the change:
  url       as in the file
  agents    whom it changes for
  old, new  the verdicts, each with:
` + verdictHelp,
	setup: func(flags *flag.FlagSet) func(context.Context, env, []string) (int, error) {
		urls := flags.String("urls", "", "`file` with a URL or \"/path?query\" a line, \"-\" for standard input; required")
		named := agentsFlag(flags, "product `token` of a robot, may be repeated; without, all that OLD or NEW names, and \"*\"")
		asJSON := flags.Bool("json", false, "print JSON, an object a line")
		userAgent := userAgentFlag(flags)
		return func(ctx context.Context, e env, args []string) (int, error) {
			switch {
			case len(args) != 2:
				return 0, usagef("name two robots.txt files, OLD and NEW")
			case *urls == "":
				return 0, usagef("which URLs? Add -urls with a file that has one a line")
			}
			if stdins := strings.Count("\n"+strings.Join(append(args, *urls), "\n")+"\n", "\n-\n"); stdins > 1 {
				return 0, usagef("only one of OLD, NEW and -urls can be standard input")
			}
			d := diff{print: changePrinter(e.stdout, *asJSON)}
			for i, arg := range args {
				s, err := readSource(ctx, e, arg, *userAgent)
				if err == nil {
					err = s.unknown()
				}
				if err != nil {
					return 0, err
				}
				d.sources[i] = s
			}
			if len(*named) == 0 {
				*named = append(agents{"*"}, namedIn(d.sources[0].file(robotstxt.RFC9309), d.sources[1].file(robotstxt.RFC9309))...)
				*named = slices.Compact(*named) // "*" comes first, if it is named
			}
			d.classify(*named)
			in, err := openFile(e, *urls)
			if err != nil {
				return 0, err
			}
			defer in.Close()
			if err := d.compare(shownName(*urls), in); err != nil {
				return 0, err
			}
			if !*asJSON {
				e.stdout.Flush()
				fmt.Fprintf(e.stderr, "%s, %s: %s opened, %s closed\n", count(d.urls, "URL"), count(len(*named), "robot"), thousands(d.opened), thousands(d.closed))
			}
			if d.opened+d.closed > 0 {
				return exitNo, nil
			}
			return exitOK, nil
		}
	},
}

// A diff compares two robots.txt files.
type diff struct {
	sources [2]*source
	classes []*class
	print   func(change)

	urls, opened, closed int // the last two count a URL for which there is at least one such change
}

// A class is robots that obey the same groups in both files, and so always change together.
type class struct {
	agents []string
	rules  [2]*robotstxt.Rules
}

// A change is what -json prints.
type change struct {
	URL    string   `json:"url"`
	Agents []string `json:"agents"`
	Old    verdict  `json:"old"`
	New    verdict  `json:"new"`
}

// classify sorts robots into classes.
func (d *diff) classify(agents []string) {
	byGroups := make(map[string]*class)
	for _, agent := range agents {
		groups := ""
		for _, s := range d.sources {
			for g := range s.file(robotstxt.RFC9309).GroupsFor(agent) {
				groups += fmt.Sprint(" ", g.UserAgents[0].Line)
			}
			groups += ";"
		}
		c := byGroups[groups]
		if c == nil {
			c = new(class)
			for i, s := range d.sources {
				c.rules[i] = s.file(robotstxt.RFC9309).Rules(agent)
			}
			byGroups[groups] = c
			d.classes = append(d.classes, c)
		}
		c.agents = append(c.agents, agent)
	}
}

// compare reads URLs and prints the changes.
func (d *diff) compare(name string, in io.Reader) error {
	lines := bufio.NewReader(in)
	for number := 1; ; number++ {
		line, err := lines.ReadString('\n')
		if line = strings.TrimSpace(line); line != "" {
			if !strings.HasPrefix(line, "/") && !isURL(line) {
				return fmt.Errorf("%s:%d: %q: write a path that begins with \"/\", or a whole URL", name, number, line)
			}
			for _, s := range d.sources {
				if err := s.governs(line); err != nil {
					return fmt.Errorf("%s:%d: %w", name, number, err)
				}
			}
			d.compareURL(line)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read %s: %w", name, err)
		}
	}
}

func (d *diff) compareURL(target string) {
	d.urls++
	var changes []change
	for _, c := range d.classes {
		var v [2]verdict
		for i, s := range d.sources {
			none := false
			if v[i], none = s.withoutFile(); !none {
				v[i] = verdictOf(c.rules[i].Match(target))
			}
		}
		if v[0].Allowed == v[1].Allowed {
			continue
		}
		same := slices.IndexFunc(changes, func(c change) bool { return c.Old == v[0] && c.New == v[1] })
		if same < 0 {
			same = len(changes)
			changes = append(changes, change{URL: target, Old: v[0], New: v[1]})
		}
		changes[same].Agents = append(changes[same].Agents, c.agents...)
	}
	opened, closed := 0, 0
	for _, c := range changes {
		d.print(c)
		if c.New.Allowed {
			opened = 1
		} else {
			closed = 1
		}
	}
	d.opened, d.closed = d.opened+opened, d.closed+closed
}

// namedIn returns the robots that some user-agent line names, each once: "*" first, the others in order.
func namedIn(files ...*robotstxt.File) []string {
	var names []string
	known := make(map[string]bool)
	for _, f := range files {
		for g := range f.Groups() {
			for _, a := range g.UserAgents {
				name := agentOf(a.Value)
				switch lower := strings.ToLower(name); {
				case name == "" || known[lower]:
				case name == "*":
					names = append([]string{"*"}, names...)
					known[lower] = true
				default:
					names = append(names, name)
					known[lower] = true
				}
			}
		}
	}
	return names
}

// changePrinter returns what prints a change.
func changePrinter(w io.Writer, asJSON bool) func(change) {
	if asJSON {
		enc := newJSON(w)
		return func(c change) { enc.Encode(c) }
	}
	return func(c change) {
		fmt.Fprintf(w, "%s: %s -> %s for %s\n", printable(c.URL), c.Old.word(), c.New.word(), strings.Join(c.Agents, ", "))
		fmt.Fprintf(w, "    old: %s\n    new: %s\n", c.Old.why(), c.New.why())
	}
}
