package audit

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/robotsmw/evidence/audit"
)

// breachAt returns n violations of a rule.
func breachAt(line int, rule string, n int) *breach {
	return &breach{
		Violation: audit.Violation{Kind: "disallowed", Line: line, Rule: rule},
		N:         n,
	}
}

// The violated line is highlighted in the version of robots.txt that contains
// it.
func TestViolatedFiles(t *testing.T) {
	const otherTxt = "User-agent: *\nDisallow: /a\n"
	private := func(n int) *breach { return breachAt(2, "Disallow: /private/", n) }
	for _, tt := range []struct {
		name     string
		files    []string
		breaches []*breach
		// want has, for each returned file, its index, and then its violated
		// lines as NUMBER:COUNT.
		want string
	}{
		{"one line", []string{robotsTxt}, []*breach{private(3)}, "0 2:3"},
		{"two robots", []string{robotsTxt}, []*breach{private(3), private(4)}, "0 2:7"},
		{
			"a line with a comment and other whitespace",
			[]string{"user-agent:*\ndisallow :/private/ # no\n"}, []*breach{private(1)}, "0 2:1",
		},
		{"two versions", []string{otherTxt, robotsTxt}, []*breach{private(1)}, "1 2:1"},
		{
			"two violated versions",
			[]string{otherTxt, robotsTxt}, []*breach{private(2), breachAt(2, "Disallow: /a", 1)},
			"1 2:2 0 2:1",
		},
		{
			"a rule that is not normalized",
			[]string{"User-agent: *\nDisallow: /pr%69vate/\n"}, []*breach{private(1)}, "0 2:1",
		},
		{"a violation without a line", []string{robotsTxt}, []*breach{breachAt(0, "", 1)}, "0"},
		{"no violation", []string{"a", robotsTxt}, nil, "1"},
		{"no file", nil, []*breach{private(1)}, ""},
		{"a line beyond the file", []string{robotsTxt}, []*breach{breachAt(9, "Disallow: /a", 1)}, "0"},
	} {
		var files []*robotsFile
		for i, text := range tt.files {
			files = append(files, newRobotsFile(fmt.Sprint(i), []byte(text)))
		}
		var fields []string
		for _, f := range violatedFiles(files, &breaches{all: tt.breaches}) {
			fields = append(fields, f.Name)
			for _, line := range f.Lines() {
				if line.Hits > 0 {
					fields = append(fields, fmt.Sprintf("%d:%d", line.Number, line.Hits))
				}
			}
		}
		if got := strings.Join(fields, " "); got != tt.want {
			t.Errorf("%s: violatedFiles returned %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Of a long file, only the lines around the violated ones are shown.
func TestRobotsFile_Lines(t *testing.T) {
	text := "User-agent: *\n" + strings.Repeat("Disallow: /x\n", 500) + "Disallow: /end\n"
	f := newRobotsFile("long", []byte(text))
	violatedFiles([]*robotsFile{f}, &breaches{all: []*breach{
		breachAt(2, "Disallow: /x", 1),
		breachAt(502, "Disallow: /end", 1),
	}})
	var numbers []int
	for _, line := range f.Lines() {
		numbers = append(numbers, line.Number)
		if want := line.Number == 498; line.After != want {
			t.Errorf("After of line %d is %t, want %t", line.Number, line.After, want)
		}
	}
	if want := []int{1, 2, 3, 4, 5, 6, 498, 499, 500, 501, 502}; !slices.Equal(numbers, want) {
		t.Errorf("Lines returned the lines %v, want %v", numbers, want)
	}
}
