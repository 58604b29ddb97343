package survey

import (
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// A front says which robots may ask for "/". It gives the same answers as
// File.Rules(name).Allowed("/"). It is faster, because it rarely compiles the
// rules for a robot. For most groups, it is enough to look at each rule by
// itself.
type front struct {
	file    *robotstxt.File
	verdict []verdict        // the verdict of each group
	named   map[string][]int // the indexes of a robot's groups, by the robot's name in lower case
}

// A verdict is what a group says about "/".
type verdict uint8

const (
	open verdict = iota // no rule of the group is about "/"
	shut
	unclear // looking at each rule by itself is not enough
)

func newFront(file *robotstxt.File, groups []robotstxt.Group) *front {
	f := &front{file, make([]verdict, len(groups)), make(map[string][]int, len(groups))}
	for i, g := range groups {
		f.verdict[i] = firstSight(g.Rules)
		for _, a := range g.UserAgents {
			// A line may name two robots: "Bot2" names Bot2, and also Bot. For
			// a robot with a digit or a dot in its name, the name in the line
			// ends at the first byte that no robot's name can have. For any
			// other robot, it ends at the first digit or dot, if that comes
			// earlier. See RFC 9309 §2.2.1 and File.Rules.
			if strings.HasPrefix(a.Value, "*") {
				if a.Value != "*" {
					f.verdict[i] = unclear // a line such as "*x" may not be for all robots
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

// prefixOf returns the longest beginning of a value that may be a robot's name.
// If wide is set, the name may have digits and dots.
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

// isShut reports whether a robot must not ask for "/". The robot must be one
// that the file names, or "*".
func (f *front) isShut(robot string) bool {
	groups := f.named[strings.ToLower(robot)]
	if len(groups) == 0 && robot != "*" {
		return !f.file.Rules(robot).Allowed("/")
	}
	says := open
	for i, g := range groups {
		if v := f.verdict[g]; i == 0 {
			says = v
		} else if v != says { // the rules of several groups count together
			says = unclear
		}
	}
	if says == unclear {
		return !f.file.Rules(robot).Allowed("/")
	}
	return says == shut
}

// firstSight returns what rules say about "/". It looks at each rule by itself.
// If that is not enough, it returns unclear.
func firstSight(rules []robotstxt.Rule) verdict {
	says := open
	for _, r := range rules {
		switch {
		case r.Pattern == "/" && r.Kind == robotstxt.Disallow:
			if says == open {
				says = shut
			}
		case r.Pattern == "", hasWord(r.Pattern): // the rule is not about "/"
		default:
			says = unclear
		}
	}
	return says
}

// hasWord reports whether a pattern has a letter or a digit. Such a pattern
// cannot match "/". For a pattern with an escape, such as %2F, hasWord returns
// false, because an escape may stand for any byte.
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
