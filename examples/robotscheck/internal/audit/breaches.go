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

// A breach summarizes the violations of one rule by one robot.
type breach struct {
	audit.Violation // the first one
	N               int
	Last            time.Time
	addresses       map[string]int // number of violations by address
}

// breaches summarizes violations, in bounded memory.
type breaches struct {
	all        []*breach
	byRule     map[breachKey]*breach
	listed     map[string][]audit.Violation // by robot, for the page
	nlisted    int                          // number of violations in listed
	naddresses int                          // number of addresses in all breaches
}

type breachKey struct {
	robot, rule string
	line        int
	kind        string
}

const (
	maxKeptBreaches   = 10_000
	maxAddresses      = 100_000
	maxListed         = 10_000
	maxListedPerRobot = 5000
	maxTopAddresses   = 3 // addresses in the summary of a list
)

func newBreaches() *breaches {
	return &breaches{
		byRule: make(map[breachKey]*breach),
		listed: make(map[string][]audit.Violation),
	}
}

func (b *breaches) add(v audit.Violation) {
	if b.nlisted < maxListed && len(b.listed[v.Robot]) < maxListedPerRobot {
		b.nlisted++
		b.listed[v.Robot] = append(b.listed[v.Robot], v)
	}
	one := b.breach(v)
	if one == nil {
		return
	}
	one.N++
	one.Last = v.Time
	b.countAddress(one, v.Address)
}

// breach returns the breach that v belongs to. If it is new and there is no
// space for it, breach returns nil.
func (b *breaches) breach(v audit.Violation) *breach {
	key := breachKey{robot: v.Robot, rule: v.Rule, line: v.Line, kind: v.Kind}
	if one := b.byRule[key]; one != nil {
		return one
	}
	if len(b.all) == maxKeptBreaches {
		return nil
	}
	one := &breach{Violation: v, addresses: make(map[string]int)}
	b.byRule[key] = one
	b.all = append(b.all, one)
	return one
}

func (b *breaches) countAddress(one *breach, address string) {
	if address == "" {
		return
	}
	if one.addresses[address] == 0 {
		if b.naddresses == maxAddresses {
			return
		}
		b.naddresses++
	}
	one.addresses[address]++
}

// sort sorts the breaches by the number of violations, with the most first.
func (b *breaches) sort() {
	slices.SortStableFunc(b.all, func(x, y *breach) int { return cmp.Compare(y.N, x.N) })
}

// byRobot returns the breaches by a robot.
func (b *breaches) byRobot(name string) []*breach {
	isOther := func(one *breach) bool { return one.Robot != name }
	return slices.DeleteFunc(slices.Clone(b.all), isOther)
}

// String describes which rule was broken, how often, when and from where.
func (b *breach) String() string {
	text := b.Kind
	if b.Line > 0 {
		text += fmt.Sprintf("  line %d, %s", b.Line, command.Printable(b.Rule))
	}
	text += "  " + cli.Count(b.N, "time") + "  " + formatTime(b.Time)
	if b.N > 1 {
		text += " to " + formatTime(b.Last)
	}
	if len(b.addresses) == 0 {
		return text
	}
	top := slices.SortedFunc(maps.Keys(b.addresses), func(x, y string) int {
		return cmp.Or(cmp.Compare(b.addresses[y], b.addresses[x]), cmp.Compare(x, y))
	})
	return text + "  " + summarizeAddresses(top, func(address string) string {
		return fmt.Sprintf("%s (%s)", command.Printable(address), cli.Thousands(b.addresses[address]))
	})
}

func printableAddresses(addresses []string) string {
	return summarizeAddresses(addresses, command.Printable)
}

// summarizeAddresses returns the number of addresses, and the first of them in
// the given format.
func summarizeAddresses(addresses []string, format func(string) string) string {
	var top []string
	for _, address := range addresses[:min(len(addresses), maxTopAddresses)] {
		top = append(top, format(address))
	}
	text := cli.Count(len(addresses), "address") + ": " + strings.Join(top, ", ")
	if len(addresses) > len(top) {
		text += ", …"
	}
	return text
}

func formatTime(t time.Time) string { return t.Format("2006-01-02T15:04:05.999Z07:00") }
