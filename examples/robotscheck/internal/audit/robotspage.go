package audit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// A robotsFile is a robots.txt on the page.
type robotsFile struct {
	Name  string
	lines []string
	hits  map[int]int // number of violations by line, counted from 1
}

// A fileLine is a line of a robots.txt on the page.
type fileLine struct {
	Number int
	Text   string
	Hits   int  // number of violations of the line
	After  bool // whether the lines before it are omitted
}

const (
	maxFileLines     = 200 // of a robots.txt that is shown completely
	maxFilesOnPage   = 5
	contextLineCount = 4 // lines on each side of a violated one
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
	isSameName := strings.EqualFold(strings.TrimSpace(name), strings.TrimSpace(ruleName))
	isSameValue := strings.TrimSpace(value) == strings.TrimSpace(ruleValue)
	return isSameName && isSameValue
}

// Lines returns the lines on the page: all lines or, if there are more than
// maxFileLines, those around the violated ones.
func (f *robotsFile) Lines() (lines []fileLine) {
	last := 0
	for i, text := range f.lines {
		number := i + 1
		if len(f.lines) > maxFileLines && !f.isNearHit(number) {
			continue
		}
		lines = append(lines, fileLine{
			Number: number,
			Text:   text,
			Hits:   f.hits[number],
			After:  number > last+1,
		})
		last = number
	}
	return lines
}

// isNearHit reports whether the line is near a violated one.
func (f *robotsFile) isNearHit(number int) bool {
	for n := number - contextLineCount; n <= number+contextLineCount; n++ {
		if f.hits[n] > 0 {
			return true
		}
	}
	return false
}

// violatedFiles counts the violations of each line, and returns the files that
// have one, with the most violations first. If no file has one, it returns the
// last file, which is the one in force. With several versions of a robots.txt,
// a violation counts for those that have its rule in its line.
func violatedFiles(files []*robotsFile, found *breaches) []*robotsFile {
	for _, one := range found.all {
		if one.Line > 0 {
			countHits(files, one)
		}
	}
	hasNoHits := func(f *robotsFile) bool { return len(f.hits) == 0 }
	violated := slices.DeleteFunc(slices.Clone(files), hasNoHits)
	slices.SortStableFunc(violated, func(a, b *robotsFile) int {
		return cmp.Compare(b.totalHits(), a.totalHits())
	})
	if len(violated) == 0 && len(files) > 0 {
		return files[len(files)-1:]
	}
	return violated[:min(len(violated), maxFilesOnPage)]
}

// countHits adds the violations of a breach to the files that have its rule in
// its line. If no file has it there, because the rule is reported in a
// normalized form, countHits adds them to all files.
func countHits(files []*robotsFile, one *breach) {
	hasRule := func(f *robotsFile) bool { return f.has(one.Line, one.Rule) }
	isInFile := slices.ContainsFunc(files, hasRule)
	for _, f := range files {
		hasLine := one.Line <= len(f.lines)
		if hasRule(f) || (!isInFile && hasLine) {
			f.hits[one.Line] += one.N
		}
	}
}

func (f *robotsFile) totalHits() (n int) {
	for _, hits := range f.hits {
		n += hits
	}
	return n
}
