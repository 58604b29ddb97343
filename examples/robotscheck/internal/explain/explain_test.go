package explain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

func TestWithoutRule(t *testing.T) {
	text := "\xef\xbb\xbfUser-agent: a\r\nallow:/\r\nUser-agent: b\rDisallow /b\nAllow: /c # why\n"
	for line, want := range map[int]string{
		2: "User-agent: a\nAllow:\nUser-agent: b\nDisallow /b\nAllow: /c # why\n",
		4: "User-agent: a\nallow:/\nUser-agent: b\nAllow:\nAllow: /c # why\n",
		5: "User-agent: a\nallow:/\nUser-agent: b\nDisallow /b\nAllow:\n",
	} {
		if got := withoutRule(robotstxt.Parse([]byte(text)), line); string(got) != want {
			t.Errorf("without line %d, the file is %q, want %q", line, got, want)
		}
	}
	without := robotstxt.Parse(withoutRule(robotstxt.Parse([]byte(text)), 2))
	if without.Rules("b").Allowed("/b") {
		t.Error("without the rule of a, /b is allowed for b; want a and b in different groups")
	}
}

// explainText returns what explain prints for ExampleBot.
func explainText(t *testing.T, text, target string, contextLines int) string {
	t.Helper()
	source := robots.New("robots.txt", []byte(text))
	var out strings.Builder
	explain(source, "ExampleBot", target).print(&out, source, contextLines)
	return out.String()
}

func checkContains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("output lacks %q:\n%s", part, text)
		}
	}
}

// Of a large file, explain shows only the lines around the rule and the
// user-agent line of its group.
func TestExplain_LargeFile(t *testing.T) {
	var file strings.Builder
	file.WriteString("User-agent: *\n")
	for i := range 20000 {
		fmt.Fprintf(&file, "Disallow: /%d/\n", i)
	}
	checkContains(t, explainText(t, file.String(), "/12345/a", 1),
		"by line 12347: Disallow: /12345/\n",
		"        1  User-agent: *\n"+
			"         ...\n"+
			"    12346  Disallow: /12344/\n"+
			"  > 12347  Disallow: /12345/\n"+
			"    12348  Disallow: /12346/\n"+
			"\n")
}

// Empty lines are shown like others. A line break at the end of the file does
// not begin another line.
func TestPrintContext(t *testing.T) {
	const ruleInLine2 = "        1  User-agent: *\n  >     2  Disallow: /a\n"
	for _, tt := range []struct {
		name, text                string
		line, group, contextLines int
		want                      string
	}{
		{
			"an empty line in the middle", "User-agent: *\nDisallow: /a\n\nUser-agent: b\n", 2, 1, 1,
			ruleInLine2 + "        3\n",
		},
		{"the end of the file", "User-agent: *\nDisallow: /a\n", 2, 1, 2, ruleInLine2},
		{
			"an empty line at the end", "User-agent: *\r\nDisallow: /a\r\n\r\n", 2, 1, 2,
			ruleInLine2 + "        3\n",
		},
		{"no line break at the end", "User-agent: *\nDisallow: /a", 2, 1, 2, ruleInLine2},
		{
			"a distant user-agent line", "User-agent: *\n\n\nDisallow: /a\n\n#", 4, 1, 1,
			"        1  User-agent: *\n         ...\n        3\n  >     4  Disallow: /a\n        5\n",
		},
	} {
		var out strings.Builder
		printContext(&out, robotstxt.Parse([]byte(tt.text)), tt.line, tt.group, tt.contextLines)
		if out.String() != tt.want {
			t.Errorf("%s: printContext printed %q, want %q", tt.name, out.String(), tt.want)
		}
	}
}

// A path is disallowed if servers may treat it as another path that is
// disallowed. The output contains the other path. Google's parser judges only
// the unchanged path.
func TestExplain_Resolved(t *testing.T) {
	const text = "User-agent: *\nAllow: /\nDisallow: /private/\nDisallow: /private\n"
	checkContains(t, explainText(t, text, "/x/../private/", 0),
		"/x/../private/: disallowed for ExampleBot by line 3: Disallow: /private/, as /private/\n",
		"runner-up   line 4: Disallow: /private, as /private/ (disallowed)\n",
		"Google      ALLOWED, line 2: Allow: /\n")
}

func TestExplain_Dialects(t *testing.T) {
	const (
		agree      = "  others      Google's parser and the draft of 1996 agree\n"
		googleSame = "  Google      the same\n"
		noMatch    = "ALLOWED, no rule of its group matches\n"
	)
	for _, tt := range []struct{ text, path, want string }{
		{"User-agent: *\nDisallow: /a\n", "/a", agree},
		{"", "/a", agree},
		{
			"User-agent: *\nAllow: /\nDisallow: /a\n", "/a",
			googleSame + "  1996 draft  ALLOWED, line 2: Allow: /\n",
		},
		{
			"User-agent: *\nDisallow: /\nAllow: /a\n", "/a",
			googleSame + "  1996 draft  DISALLOWED, line 2: Disallow: /\n",
		},
		{
			"User-agent: *\nDisallow: /\nDisallow: /a\n", "/a",
			googleSame + "  1996 draft  disallowed too, but line 2: Disallow: /\n",
		},
		{
			"User-agent: *\nDisallow: /*.gif$\n", "/a.gif",
			googleSame + "  1996 draft  " + noMatch,
		},
		{
			"User-agent: *\nDisallow: /%7Ejoe\n", "/~joe",
			"  Google      " + noMatch + "  1996 draft  the same\n",
		},
		{
			"User-agent: *\n\nDisallow: /a?b\n", "/a?b",
			googleSame + "  1996 draft  ALLOWED, ",
		},
	} {
		checkContains(t, explainText(t, tt.text, tt.path, 0), tt.want)
		source := robots.New("robots.txt", []byte(tt.text))
		if x := explain(source, "ExampleBot", tt.path); len(x.Dialects) != 2 {
			t.Errorf("explain of %q has the dialects %v, want 2", tt.text, x.Dialects)
		}
	}
}

// The output contains the line with the preference for each use of the path.
func TestExplain_Uses(t *testing.T) {
	const text = "User-agent: *\nContent-Usage: train-ai=n\n" +
		"Content-Signal: /a ai-input=no, search=yes, use=reference\n"
	const deniesTraining = "  train-ai    deny by Content-Usage in robots.txt, line 2: train-ai=n\n"
	checkContains(t, explainText(t, text, "/a/b", 0),
		"  search      allow by Content-Signal in robots.txt, line 3: "+
			"ai-input=no, search=yes, use=reference\n",
		deniesTraining,
		"  ai-input    deny by Content-Signal in robots.txt, line 3: ",
		"  reuse       Content-Signal in robots.txt, line 3: use=reference\n")

	source := robots.New("robots.txt", []byte(text))
	var out strings.Builder
	explain(source, "*", "/a/b").print(&out, source, 0)
	checkContains(t, out.String(), deniesTraining)

	// The Content-Signal is not for this path.
	x := explain(source, "ExampleBot", "/b")
	if len(x.Uses) != 1 {
		t.Errorf("explain of /b has the uses %+v, want only train-ai", x.Uses)
	}
	if x.Reuse != nil {
		t.Errorf("explain of /b has the reuse %v, want none", x.Reuse)
	}
}
