package preference

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

const (
	maxField   = 64 << 10 // how many bytes a field may have, all its lines in a header together
	maxFields  = 256      // how many fields of one kind, licences and unknown labels are read from a file
	maxRaw     = 300      // how many bytes of a field a statement shows
	maxUnknown = 16       // how many unknown labels of one field are listed
)

// header returns the lines of a field, each as a statement that has no answer
// yet. It returns false if they are longer than maxField, and then only the
// first of them, marked as cut.
func (in Input) header(signal string) (lines []Statement, ok bool) {
	size := 0
	for i, text := range in.Header.Values(signal) {
		if size += len(text) + len(", "); size > maxField {
			first := append(lines, Statement{Signal: signal, Where: "header", Line: 1, Raw: text})[:1]
			first[0].cut = true
			return first, false
		}
		lines = append(lines, Statement{Signal: signal, Where: "header", Line: i + 1, Raw: text})
	}
	return lines, true
}

// inForce looks at the fields of our group that have one of the given names. It
// returns the field with the longest path that matches the target, or several
// fields if their paths are equally long. The statements have no answer yet. If
// a limit hides further fields, which may be in force instead, unread names it.
func (in Input) inForce(signal string, names ...string) (best []Statement, unread *Statement) {
	if in.Robots == nil {
		return nil, nil
	}
	unread = in.endOfRobots(signal)
	n := 0
	for group := range in.Robots.GroupsFor(in.Tokens...) {
		for _, field := range group.Fields {
			if !slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, field.Name) }) {
				continue
			}
			if n++; n > maxFields {
				return best, &Statement{
					Signal: signal, Where: "robots.txt", Line: field.Line, cut: true,
					Raw: fmt.Sprintf("there are more than %d such lines", maxFields),
				}
			}
			path, text := cutPath(field.Value)
			s := Statement{Signal: signal, Where: "robots.txt", Line: field.Line, Path: path, Raw: text}
			switch {
			case !matches(s.pattern(), in.target()):
			case len(best) == 0 || longer(s.pattern(), best[0].pattern(), in.target()):
				best = []Statement{s}
			case !longer(best[0].pattern(), s.pattern(), in.target()):
				best = append(best, s)
			}
		}
	}
	return best, unread
}

// endOfRobots returns a statement that the end of robots.txt was not read, or
// nil if all of it was.
func (in Input) endOfRobots(signal string) *Statement {
	if !in.Robots.Truncated() {
		return nil
	}
	return &Statement{
		Signal: signal, Where: "robots.txt", cut: true,
		Raw: fmt.Sprintf("the file has more than %d KiB", robotstxt.MaxSize>>10),
	}
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

func (s Statement) pattern() string {
	if s.Path == "" {
		return "/"
	}
	return s.Path
}
