package preference

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

const (
	maxField   = 64 << 10 // maximum size of a line, or of all lines of a header field, in bytes
	maxFields  = 256      // maximum number of lines of a kind, licenses or unknown labels in a file
	maxRaw     = 300      // maximum size of Statement.Raw in bytes
	maxUnknown = 16       // maximum number of unknown labels of a line
)

// headerFields returns the lines of a header field as statements without
// answers. If they have more than maxField bytes, ok is false, and the result
// is the first line, which is marked as truncated.
func (in Input) headerFields(signal string) (lines []Statement, ok bool) {
	size := 0
	for i, value := range in.Header.Values(signal) {
		lines = append(lines, Statement{Signal: signal, Where: "header", Line: i + 1, Raw: value})
		size += len(value) + len(", ")
		if size > maxField {
			lines[0].truncated = true
			return lines[:1], false
		}
	}
	return lines, true
}

// robotsFields returns, as statements without answers, the lines of robots.txt
// that apply to the crawler, have one of the given names, and have the longest
// path that matches the target. If a limit was exceeded, truncated describes
// the limit, because a line that was not parsed may have a longer path.
// Otherwise truncated is nil.
func (in Input) robotsFields(
	signal string, names ...string,
) (longest []Statement, truncated *Statement) {
	if in.Robots == nil {
		return nil, nil
	}
	if s, ok := in.truncatedRobots(signal); ok {
		truncated = &s
	}
	count := 0
	for group := range in.Robots.GroupsFor(in.Tokens...) {
		for _, field := range group.Fields {
			isField := func(name string) bool { return strings.EqualFold(name, field.Name) }
			if !slices.ContainsFunc(names, isField) {
				continue
			}
			count++
			if count > maxFields {
				return longest, &Statement{
					Signal:    signal,
					Where:     "robots.txt",
					Line:      field.Line,
					truncated: true,
					Raw:       fmt.Sprintf("there are more than %d such lines", maxFields),
				}
			}
			path, value := cutPath(field.Value)
			s := Statement{
				Signal: signal,
				Where:  "robots.txt",
				Line:   field.Line,
				Path:   path,
				Raw:    value,
			}
			longest = appendLongest(longest, s, in.target(), Statement.pattern)
		}
	}
	return longest, truncated
}

// truncatedRobots reports whether robots.txt exceeds the size limit of package
// robotstxt, and returns a statement that describes the limit.
func (in Input) truncatedRobots(signal string) (s Statement, ok bool) {
	s = Statement{
		Signal:    signal,
		Where:     "robots.txt",
		truncated: true,
		Raw:       fmt.Sprintf("the file has more than %d KiB", robotstxt.MaxSize>>10),
	}
	return s, in.Robots.Truncated()
}

// cutPath cuts the value of a line into a path, which begins with "/" and ends
// before white space, and the rest. Both may be empty.
func cutPath(value string) (path, rest string) {
	if !strings.HasPrefix(value, "/") {
		return "", value
	}
	end := strings.IndexAny(value, " \t")
	if end < 0 {
		return value, ""
	}
	return value[:end], strings.Trim(value[end:], " \t")
}

// pattern returns the pattern that the target must match, which is "/" if the
// statement is for all paths.
func (s Statement) pattern() string {
	if s.Path == "" {
		return "/"
	}
	return s.Path
}
