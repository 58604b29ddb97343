package survey

import (
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// A front says of robots whether a file lets them ask for "/". It gives the
// answer of File.Rules(name).Allowed("/") without compiling all rules for each
// robot: nearly every group shows at first sight what it says about "/".
type front struct {
	file    *robotstxt.File
	verdict []verdict        // of each group
	named   map[string][]int // by what user-agent lines begin with, in lower case: groups
}

// A verdict is what a group says about "/".
type verdict uint8

const (
	open verdict = iota // nothing, or yes
	shut
	unclear // at first sight
)

func newFront(file *robotstxt.File, groups []robotstxt.Group) *front {
	f := &front{file, make([]verdict, len(groups)), make(map[string][]int, len(groups))}
	for i, g := range groups {
		f.verdict[i] = firstSight(g.Rules)
		for _, a := range g.UserAgents {
			// A robot is named by all that its own name may be made of: see
			// RFC 9309 §2.2.1, and File.Rules for digits and dots.
			if strings.HasPrefix(a.Value, "*") {
				if a.Value != "*" {
					f.verdict[i] = unclear // whether it is for all
				}
				f.add("*", i)
			}
			narrow := prefixOf(a.Value, false)
			wide := prefixOf(a.Value, true)
			f.add(narrow, i)
			if wide != narrow && strings.ContainsAny(wide, "0123456789.") {
				f.add(wide, i)
			}
		}
	}
	return f
}

func (f *front) add(name string, group int) {
	name = strings.ToLower(name)
	if groups := f.named[name]; name != "" && (len(groups) == 0 || groups[len(groups)-1] != group) {
		f.named[name] = append(groups, group)
	}
}

// prefixOf returns what a value begins with that may be a robot's name, with
// digits and dots or without.
func prefixOf(value string, wide bool) string {
	for i := range len(value) {
		switch c := value[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '-', c == '_':
		case wide && ('0' <= c && c <= '9' || c == '.'):
		default:
			return value[:i]
		}
	}
	return value
}

// isShut reports whether a robot may not ask for "/": one that the file names,
// or "*".
func (f *front) isShut(robot string) bool {
	groups := f.named[strings.ToLower(robot)]
	if len(groups) == 0 && robot != "*" {
		return !f.file.Rules(robot).Allowed("/")
	}
	says := open
	for i, g := range groups {
		if v := f.verdict[g]; i == 0 {
			says = v
		} else if v != says { // of several groups the rules count together
			says = unclear
		}
	}
	if says == unclear {
		return !f.file.Rules(robot).Allowed("/")
	}
	return says == shut
}

// firstSight is what rules say about "/", if that shows at first sight.
func firstSight(rules []robotstxt.Rule) verdict {
	says := open
	for _, r := range rules {
		switch {
		case r.Pattern == "/" && r.Kind == robotstxt.Disallow:
			if says == open {
				says = shut
			}
		case r.Pattern == "", hasWord(r.Pattern): // not about "/"
		default:
			says = unclear
		}
	}
	return says
}

// hasWord reports whether a pattern has a letter or a digit, which "/" has not.
// In an escape it may stand for something else.
func hasWord(pattern string) bool {
	if strings.IndexByte(pattern, '%') >= 0 {
		return false
	}
	for i := range len(pattern) {
		if c := pattern[i]; 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' {
			return true
		}
	}
	return false
}
