package audit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// A robotsFile is a robots.txt that the page shows.
type robotsFile struct {
	Name  string
	lines []string
	hits  map[int]int // how many violations each line has
}

// A fileLine is a line of a robots.txt on the page.
type fileLine struct {
	Number int
	Text   string
	Hits   int  // how many violations of it there are
	After  bool // lines before it are not shown
}

const (
	// maxFileLines is the maximum number of lines of a robots.txt that is shown
	// completely.
	maxFileLines = 200
	// linesAround is how many lines are shown on each side of a violated one.
	linesAround = 4
)

func newRobotsFile(name string, text []byte) *robotsFile {
	f := &robotsFile{Name: name, hits: make(map[int]int)}
	for _, line := range robotstxt.Parse(text).Lines() {
		f.lines = append(f.lines, line)
	}
	return f
}

// has reports whether a line has this rule, such as "Disallow: /private/".
func (f *robotsFile) has(line int, rule string) bool {
	if line < 1 || line > len(f.lines) {
		return false
	}
	text, _, _ := strings.Cut(f.lines[line-1], "#")
	name, value, _ := strings.Cut(text, ":")
	ruleName, ruleValue, _ := strings.Cut(rule, ":")
	return strings.EqualFold(strings.TrimSpace(name), strings.TrimSpace(ruleName)) && strings.TrimSpace(value) == strings.TrimSpace(ruleValue)
}

// Lines returns the lines that the page shows: all of them, or those around the
// violated ones if there are many.
func (f *robotsFile) Lines() (shown []fileLine) {
	last := 0
	for i, text := range f.lines {
		number := i + 1
		if len(f.lines) > maxFileLines && !f.isNear(number) {
			continue
		}
		shown = append(shown, fileLine{number, text, f.hits[number], number > last+1})
		last = number
	}
	return shown
}

func (f *robotsFile) isNear(number int) bool {
	for n := number - linesAround; n <= number+linesAround; n++ {
		if f.hits[n] > 0 {
			return true
		}
	}
	return false
}

// violated counts the violations of each line, and returns the files that have
// one. If no file has one, it returns the last file, which is the one in force.
// With several versions of a robots.txt, a violation counts for those that have
// its rule in its line.
func violated(files []*robotsFile, found *breaches) []*robotsFile {
	for _, one := range found.all {
		if one.Line == 0 {
			continue
		}
		isKnown := slices.ContainsFunc(files, func(f *robotsFile) bool { return f.has(one.Line, one.Rule) })
		for _, f := range files {
			if f.has(one.Line, one.Rule) || !isKnown && one.Line <= len(f.lines) {
				f.hits[one.Line] += one.N
			}
		}
	}
	shown := slices.DeleteFunc(slices.Clone(files), func(f *robotsFile) bool { return len(f.hits) == 0 })
	slices.SortStableFunc(shown, func(a, b *robotsFile) int { return cmp.Compare(b.total(), a.total()) })
	const maxShown = 5
	shown = shown[:min(len(shown), maxShown)]
	if len(shown) == 0 && len(files) > 0 {
		shown = files[len(files)-1:]
	}
	return shown
}

func (f *robotsFile) total() (n int) {
	for _, hits := range f.hits {
		n += hits
	}
	return n
}
