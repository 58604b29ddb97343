package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/robotsmw/evidence/audit"
)

// A breach is what one robot did against one rule.
type breach struct {
	audit.Violation // the first one
	N               int
	Last            time.Time
	addresses       map[string]int
}

// breaches sums up violations. It keeps a part of them, whatever visitors
// invent.
type breaches struct {
	all     []*breach
	by      map[audit.Violation]*breach  // by robot, rule, line and kind
	listed  map[string][]audit.Violation // of each robot, for the page
	kept    int                          // violations in listed
	counted int                          // addresses in all breaches
}

const (
	maxKeptBreaches   = 10_000
	maxAddresses      = 100_000
	maxListed         = 10_000
	maxListedPerRobot = 5000
	topAddresses      = 3
)

func (b *breaches) add(v audit.Violation) {
	if b.kept < maxListed && len(b.listed[v.Robot]) < maxListedPerRobot {
		b.kept++
		b.listed[v.Robot] = append(b.listed[v.Robot], v)
	}
	key := audit.Violation{Robot: v.Robot, Rule: v.Rule, Line: v.Line, Kind: v.Kind}
	one := b.by[key]
	if one == nil {
		if len(b.all) == maxKeptBreaches {
			return
		}
		one = &breach{Violation: v, addresses: make(map[string]int)}
		b.by[key], b.all = one, append(b.all, one)
	}
	one.N++
	one.Last = v.Time
	if one.addresses[v.Address] == 0 {
		if b.counted == maxAddresses || v.Address == "" {
			return
		}
		b.counted++
	}
	one.addresses[v.Address]++
}

// sort puts the rules that were broken most often first.
func (b *breaches) sort() {
	slices.SortStableFunc(b.all, func(x, y *breach) int { return cmp.Compare(y.N, x.N) })
}

// ofRobot returns what a robot broke.
func (b *breaches) ofRobot(name string) []*breach {
	return slices.DeleteFunc(slices.Clone(b.all), func(one *breach) bool { return one.Robot != name })
}

// String describes which rule was broken, how often, when and from where.
func (b *breach) String() string {
	text := b.Kind
	if b.Line > 0 {
		text += fmt.Sprintf("  line %d, %s", b.Line, command.Printable(b.Rule))
	}
	text += "  " + cli.Count(b.N, "time") + "  " + stamp(b.Time)
	if b.N > 1 {
		text += " to " + stamp(b.Last)
	}
	if len(b.addresses) == 0 {
		return text
	}
	top := slices.SortedFunc(maps.Keys(b.addresses), func(x, y string) int {
		return cmp.Or(cmp.Compare(b.addresses[y], b.addresses[x]), cmp.Compare(x, y))
	})
	return text + "  " + listed(top, func(address string) string {
		return fmt.Sprintf("%s (%s)", command.Printable(address), cli.Thousands(b.addresses[address]))
	})
}

// listed returns how many addresses there are, and the first of them, each as
// show returns it.
func listed(addresses []string, show func(string) string) string {
	var named []string
	for _, address := range addresses[:min(len(addresses), topAddresses)] {
		named = append(named, show(address))
	}
	text := cli.Count(len(addresses), "address") + ": " + strings.Join(named, ", ")
	if len(addresses) > len(named) {
		text += ", …"
	}
	return text
}

func stamp(t time.Time) string { return t.Format("2006-01-02T15:04:05.999Z07:00") }
