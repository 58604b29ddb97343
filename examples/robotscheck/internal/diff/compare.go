package diff

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

type diff struct {
	sources [2]*robots.Source
	classes []*class
	print   func(change)

	urls, opened, closed int // counts of URLs: all URLs; URLs opened for a robot; URLs closed for a robot
}

// A class is a set of robots. They all obey the same groups of the old file,
// and they all obey the same groups of the new file. If a verdict changes for
// one robot of a class, it changes for all.
type class struct {
	agents []string
	rules  [2]*robotstxt.Rules
}

// A change is a changed verdict on a URL, as -json prints it.
type change struct {
	URL    string         `json:"url"`
	Agents []string       `json:"agents"`
	Old    robots.Verdict `json:"old"`
	New    robots.Verdict `json:"new"`
}

func (d *diff) classify(agents []string) {
	byGroups := make(map[string]*class)
	for _, agent := range agents {
		groups := ""
		for _, s := range d.sources {
			for g := range s.File(robotstxt.RFC9309).GroupsFor(agent) {
				groups += fmt.Sprint(" ", g.UserAgents[0].Line)
			}
			groups += ";"
		}
		c := byGroups[groups]
		if c == nil {
			c = new(class)
			for i, s := range d.sources {
				c.rules[i] = s.File(robotstxt.RFC9309).Rules(agent)
			}
			byGroups[groups] = c
			d.classes = append(d.classes, c)
		}
		c.agents = append(c.agents, agent)
	}
}

func (d *diff) compare(name string, in io.Reader) error {
	lines := bufio.NewReader(in)
	for number := 1; ; number++ {
		line, err := lines.ReadString('\n')
		if line = strings.TrimSpace(line); line != "" {
			if err := command.CheckScheme(line); err != nil {
				return fmt.Errorf("%s:%d: %v", name, number, err) // not %w, because Run would print the usage for a wrapped UsageError
			}
			if !strings.HasPrefix(line, "/") && !command.IsURL(line) {
				return fmt.Errorf("%s:%d: %q: write a path that begins with \"/\", or a whole URL", name, number, line)
			}
			for _, s := range d.sources {
				if err := s.Governs(line); err != nil {
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
		var v [2]robots.Verdict
		for i, s := range d.sources {
			none := false
			if v[i], none = s.NoFile(); !none {
				v[i] = robots.Judge(c.rules[i], target)
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
