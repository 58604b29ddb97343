package preference

import (
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// A scoped is the value of a robots.txt field. It may be limited to a path.
type scoped struct {
	path string // as written; empty means any path
	text string // what follows the path
	line int
}

// cutPath splits the value of a field into a path and what follows the path. A
// path begins with "/" and ends at the first space or tab.
func cutPath(value string) (path, rest string) {
	if !strings.HasPrefix(value, "/") {
		return "", value
	}
	if end := strings.IndexAny(value, " \t"); end >= 0 {
		return value[:end], strings.Trim(value[end:], " \t")
	}
	return value, ""
}

// maxFields limits how many fields of one kind are read from our group, and how
// many licences and unknown signals are returned. Real files have a handful.
const maxFields = 256

// inForce looks at the fields of our group that have one of the given names. It
// returns the field with the longest path that matches the target, or several
// fields if their paths are equally long.
func (in Input) inForce(names ...string) []scoped {
	if in.Robots == nil {
		return nil
	}
	var best []scoped
	n := 0
	for group := range in.Robots.GroupsFor(in.Tokens...) {
		for _, field := range group.Fields {
			if !isAny(field, names) {
				continue
			}
			if n++; n > maxFields {
				return best
			}
			path, text := cutPath(field.Value)
			s := scoped{path, text, field.Line}
			if !matches(s.pattern(), in.target()) {
				continue
			}
			switch {
			case len(best) == 0 || longer(s.pattern(), best[0].pattern(), in.target()):
				best = []scoped{s}
			case !longer(best[0].pattern(), s.pattern(), in.target()):
				best = append(best, s)
			}
		}
	}
	return best
}

func isAny(f robotstxt.Field, names []string) bool {
	for _, name := range names {
		if f.Is(name) {
			return true
		}
	}
	return false
}

func (s scoped) pattern() string {
	if s.path == "" {
		return "/"
	}
	return s.path
}
