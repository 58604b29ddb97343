package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// What explain says of a URL is what a crawler by that name would be told.
func TestFetchSource_AgreesWithTheChecker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, host := range []string{"site", "missing", "down", "moved", "named", "gone"} {
			for _, target := range []string{"/", "/private/a", "/robots.txt", "/a?b"} {
				raw := "https://" + host + ".example" + target
				s, err := fetchSource(t.Context(), env{base: internet()}, raw, "ExampleBot/1.0")
				if err != nil {
					t.Fatal(err)
				}
				transport, err := robotsmw.NewTransport(robotsmw.Options{UserAgent: "ExampleBot/1.0", Base: internet()})
				if err != nil {
					t.Fatal(err)
				}
				u, err := parseURL(raw)
				if err != nil {
					t.Fatal(err)
				}
				d, err := transport.Checker().Check(t.Context(), u)
				if err != nil {
					t.Fatal(err)
				}
				v := s.judge(robotstxt.RFC9309, "ExampleBot", raw)
				if target == "/robots.txt" && d.Reason == robotsmw.IsRobotsTxt {
					continue // which is not asked for
				}
				if v.Allowed != d.Allowed || v.Reason != d.Reason || v.Line != d.Line {
					t.Errorf("%s: %+v, but the checker says %v", raw, v, d)
				}
			}
		}
	})
}

// A line's number is the one that the parser gives it, whatever lines end with.
func TestLineSpans_AreTheParsersLines(t *testing.T) {
	for _, text := range []string{
		"", "a", "\n", "a\nb", "a\r\nb\r\n", "a\rb\r", "\n\r\n\r\r\n", "\xef\xbb\xbfa\nb",
	} {
		checkLineSpans(t, text)
	}
}

func FuzzLineSpans(f *testing.F) {
	f.Add("a\r\nb\rc\n\n")
	f.Add("\xef\xbb\xbfa")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 1000 {
			checkLineSpans(t, text)
		}
	})
}

// checkLineSpans puts a field into each line and looks whether the parser finds it there.
func checkLineSpans(t *testing.T, text string) {
	t.Helper()
	lines := 0
	for number, span := range lineSpans([]byte(text)) {
		if lines++; number != lines || strings.ContainsAny(text[span[0]:span[1]], "\r\n") {
			t.Fatalf("%q: line %d is number %d, %q", text, lines, number, text[span[0]:span[1]])
		}
		marked := text[:span[0]] + "\nmark: here\n" + text[span[0]:]
		found := false
		for f := range robotstxt.Parse([]byte(marked)).Fields("mark") {
			found = found || f.Value == "here" && (f.Line == number+1 || f.Line == number)
		}
		if !found {
			t.Fatalf("%q: the parser has no line that begins at octet %d", text, span[0])
		}
	}
}

// The runner-up is what decides if the rule were not there, and nothing else changes with it.
func TestWithoutRule(t *testing.T) {
	text := "\xef\xbb\xbfUser-agent: a\r\nallow:/\r\nUser-agent: b\rDisallow /b\nAllow: /c # why\n"
	for line, want := range map[int]string{
		2: "\xef\xbb\xbfUser-agent: a\r\nAllow: \r\nUser-agent: b\rDisallow /b\nAllow: /c # why\n",
		4: "\xef\xbb\xbfUser-agent: a\r\nallow:/\r\nUser-agent: b\rAllow:     \nAllow: /c # why\n",
		5: "\xef\xbb\xbfUser-agent: a\r\nallow:/\r\nUser-agent: b\rDisallow /b\nAllow:         \n",
	} {
		got := withoutRule([]byte(text), line)
		if string(got) != want {
			t.Errorf("without line %d: %q, want %q", line, got, want)
		}
		if rules := robotstxt.Parse(got).Rules("b"); line == 2 && rules.Allowed("/b") {
			t.Error("without the rule of a's group, b's is no group of its own")
		}
	}
}

// In a large file, explain shows the lines around the rule and the group's first, not more.
func TestExplain_LargeFile(t *testing.T) {
	var text bytes.Buffer
	text.WriteString("User-agent: *\n")
	for i := range 20000 {
		fmt.Fprintf(&text, "Disallow: /%d/\n", i)
	}
	s := &source{name: "large.txt", text: text.Bytes()}
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
