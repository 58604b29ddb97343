package explain

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// withoutRule makes one rule ineffective and changes nothing else.
func TestWithoutRule(t *testing.T) {
	text := "\xef\xbb\xbfUser-agent: a\r\nallow:/\r\nUser-agent: b\rDisallow /b\nAllow: /c # why\n"
	for line, want := range map[int]string{
		2: "User-agent: a\nAllow:\nUser-agent: b\nDisallow /b\nAllow: /c # why\n",
		4: "User-agent: a\nallow:/\nUser-agent: b\nAllow:\nAllow: /c # why\n",
		5: "User-agent: a\nallow:/\nUser-agent: b\nDisallow /b\nAllow:\n",
	} {
		got := withoutRule(robotstxt.Parse([]byte(text)), line)
		if string(got) != want {
			t.Errorf("without line %d: %q, want %q", line, got, want)
		}
		if rules := robotstxt.Parse(got).Rules("b"); line == 2 && rules.Allowed("/b") {
			t.Error("without the rule of a's group, b's is no group of its own")
		}
	}
}

// In a large file, explain shows only the lines around the rule and the
// user-agent line of its group.
func TestExplain_LargeFile(t *testing.T) {
	var text bytes.Buffer
	text.WriteString("User-agent: *\n")
	for i := range 20000 {
		fmt.Fprintf(&text, "Disallow: /%d/\n", i)
	}
	s := robots.New("large.txt", text.Bytes())
	var out strings.Builder
	explain(s, "ExampleBot", "/12345/a").print(&out, s, 1)
	for _, want := range []string{
		"by line 12347: Disallow: /12345/\n",
		"        1  User-agent: *\n         ...\n    12346  Disallow: /12344/\n  > 12347  Disallow: /12345/\n    12348  Disallow: /12346/\n\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

// An empty line within the file is shown like any other. A line break at the
// end of the file does not begin another line.
func TestPrintAround(t *testing.T) {
	for _, tt := range []struct {
		name, text          string
		line, group, around int
		want                string
	}{
		{"an empty line in the middle", "User-agent: *\nDisallow: /a\n\nUser-agent: b\n", 2, 1, 1, "        1  User-agent: *\n  >     2  Disallow: /a\n        3\n"},
		{"the end of the file", "User-agent: *\nDisallow: /a\n", 2, 1, 2, "        1  User-agent: *\n  >     2  Disallow: /a\n"},
		{"an empty line at the end", "User-agent: *\r\nDisallow: /a\r\n\r\n", 2, 1, 2, "        1  User-agent: *\n  >     2  Disallow: /a\n        3\n"},
		{"no line end at the end", "User-agent: *\nDisallow: /a", 2, 1, 2, "        1  User-agent: *\n  >     2  Disallow: /a\n"},
		{"a group far away", "User-agent: *\n\n\nDisallow: /a\n\n#", 4, 1, 1, "        1  User-agent: *\n         ...\n        3\n  >     4  Disallow: /a\n        5\n"},
	} {
		var out strings.Builder
		printAround(&out, robotstxt.Parse([]byte(tt.text)), tt.line, tt.group, tt.around)
		if out.String() != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, out.String(), tt.want)
		}
	}
}

// A path is disallowed if servers may take it for another path that is
// disallowed. The output names the other path. Google's parser judges only the
// path as it is written.
func TestExplain_OtherNames(t *testing.T) {
	s := robots.New("robots.txt", []byte("User-agent: *\nAllow: /\nDisallow: /private/\nDisallow: /private\n"))
	var out strings.Builder
	explain(s, "ExampleBot", "/x/../private/").print(&out, s, 0)
	for _, want := range []string{
		"/x/../private/: disallowed for ExampleBot by line 3: Disallow: /private/, as /private/\n",
		"runner-up   line 4: Disallow: /private, as /private/ (disallowed)\n",
		"Google      ALLOWED, line 2: Allow: /\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

// Beside the verdict of RFC 9309 stand those of the other dialects.
func TestExplain_Dialects(t *testing.T) {
	for _, tt := range []struct{ text, path, want string }{
		{"User-agent: *\nDisallow: /a\n", "/a", "  others      Google's parser and the draft of 1996 agree\n"},
		{"", "/a", "  others      Google's parser and the draft of 1996 agree\n"},
		{"User-agent: *\nAllow: /\nDisallow: /a\n", "/a", "  Google      the same\n  1996 draft  ALLOWED, line 2: Allow: /\n"},
		{"User-agent: *\nDisallow: /\nAllow: /a\n", "/a", "  Google      the same\n  1996 draft  DISALLOWED, line 2: Disallow: /\n"},
		{"User-agent: *\nDisallow: /\nDisallow: /a\n", "/a", "  Google      the same\n  1996 draft  disallowed too, but line 2: Disallow: /\n"},
		{"User-agent: *\nDisallow: /*.gif$\n", "/a.gif", "  Google      the same\n  1996 draft  ALLOWED, no rule of its group matches\n"},
		{"User-agent: *\nDisallow: /%7Ejoe\n", "/~joe", "  Google      ALLOWED, no rule of its group matches\n  1996 draft  the same\n"},
		{"User-agent: *\n\nDisallow: /a?b\n", "/a?b", "  Google      the same\n  1996 draft  ALLOWED, "},
	} {
		s := robots.New("robots.txt", []byte(tt.text))
		var out strings.Builder
		x := explain(s, "ExampleBot", tt.path)
		x.print(&out, s, 0)
		if !strings.Contains(out.String(), tt.want) {
			t.Errorf("%q, %s: %q is not in\n%s", tt.text, tt.path, tt.want, out.String())
		}
		if len(x.Dialects) != 2 {
			t.Errorf("%q: dialects %v", tt.text, x.Dialects)
		}
	}
}

// Explain says which line speaks of each use of the path.
func TestExplain_Uses(t *testing.T) {
	s := robots.New("robots.txt", []byte("User-agent: *\nContent-Usage: train-ai=n\nContent-Signal: /a ai-input=no, search=yes, use=reference\n"))
	for agent, wants := range map[string][]string{
		"ExampleBot": {
			"  search      allow by Content-Signal in robots.txt, line 3: ai-input=no, search=yes, use=reference\n",
			"  train-ai    deny by Content-Usage in robots.txt, line 2: train-ai=n\n",
			"  ai-input    deny by Content-Signal in robots.txt, line 3: ",
			"  reuse       Content-Signal in robots.txt, line 3: use=reference\n",
		},
		"*": {"  train-ai    deny by Content-Usage in robots.txt, line 2: train-ai=n\n"},
	} {
		var out strings.Builder
		explain(s, agent, "/a/b").print(&out, s, 0)
		for _, want := range wants {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q is not in\n%s", agent, want, out.String())
			}
		}
	}
	if x := explain(s, "ExampleBot", "/b"); len(x.Uses) != 1 || x.Reuse != nil {
		t.Errorf("of another path: %+v %v", x.Uses, x.Reuse)
	}
}
