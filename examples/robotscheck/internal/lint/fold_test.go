package lint

import (
	"bufio"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
)

// try lints a robots.txt that is read from standard input.
func try(t *testing.T, text string, args ...string) (status command.Status, stdout, stderr string) {
	t.Helper()
	var out, errOut strings.Builder
	e := command.Env{Stdin: strings.NewReader(text), Stdout: bufio.NewWriter(&out), Stderr: &errOut}
	status = Command.Run(t.Context(), e, append(args, "-"))
	e.Stdout.Flush()
	return status, out.String(), errOut.String()
}

// Problems are shown under one message only if it is true of all of them.
func TestLint_Folds(t *testing.T) {
	const rules = "User-agent: *\nDisallow: /a\n"
	for _, tt := range []struct{ name, text, want string }{
		{"three times the same", rules + strings.Repeat("Noindex: /a\n", 3), `
<stdin>:3:1: withdrawn-field: Google has not supported Noindex in robots.txt since September 2019; allow the page, and use noindex in the page or in X-Robots-Tag [warning]
<stdin>:4:1: withdrawn-field: Google has not supported Noindex in robots.txt since September 2019; allow the page, and use noindex in the page or in X-Robots-Tag [warning]
<stdin>:5:1: withdrawn-field: Google has not supported Noindex in robots.txt since September 2019; allow the page, and use noindex in the page or in X-Robots-Tag [warning]
`},
		{"another field among many of the same", rules + "Noindex: /1\nNofollow: /2\nNoindex: /3\nNoindex: /4\nNoindex: /5\n", `
<stdin>:3:1: withdrawn-field: Google has not supported Noindex in robots.txt since September 2019; allow the page, and use noindex in the page or in X-Robots-Tag [warning]
  and 3 more in lines 5, 6, 7 (-all shows each)
<stdin>:4:1: withdrawn-field: Google has not supported Nofollow in robots.txt since September 2019; use nofollow in the page or in X-Robots-Tag [warning]
`},
		{"unknown fields", rules + "Foo: 1\nBar: 2\n" + strings.Repeat("Foo: 3\n", 3), `
<stdin>:3:1: unknown-field: no known robot supports the field "Foo" [warning]
  and 3 more in lines 5, 6, 7 (-all shows each)
<stdin>:4:1: unknown-field: no known robot supports the field "Bar" [warning]
`},
		{"misspelled fields, each with a fix of its own", "Useragent: *\nDisalow: /a\nDissallow: /b\nAlow: /c\n", `
<stdin>:1:1: misspelled-field: "Useragent" is probably a misspelling of User-agent; some robots ignore the line [warning]
  instead: User-agent: *
<stdin>:2:1: misspelled-field: "Disalow" is probably a misspelling of Disallow; some robots ignore the line [warning]
  instead: Disallow: /a
<stdin>:3:1: misspelled-field: "Dissallow" is probably a misspelling of Disallow; some robots ignore the line [warning]
  instead: Disallow: /b
<stdin>:4:1: misspelled-field: "Alow" is probably a misspelling of Allow; robots ignore the line [warning]
  instead: Allow: /c
`},
		{"the same mistake with other fixes", "User-agent: *\nDisallow /a\nAllow /b\nDisallow /c\nDisallow /d\nDisallow /e\n", `
<stdin>:2:9: missing-colon: there is no colon after "Disallow"; some robots ignore the line [warning]
  instead: Disallow: /a
  and 3 more in lines 4, 5, 6 (-all shows each)
<stdin>:3:6: missing-colon: there is no colon after "Allow"; some robots ignore the line [warning]
  instead: Allow: /b
`},
		{"robots that are shut out by name", rules + "User-agent: A\nUser-agent: B C\nUser-agent: 008\nUser-agent: D\nDisallow: /\n", `
<stdin>:3:1: named-shut: robots are allowed, but A is disallowed [info]
  and 3 more in lines 4, 5, 6 (-all shows each)
<stdin>:4:14: agent-form: the name of a robot consists of letters, digits, "_", "-" and "."; robots compare only "B" [warning]
`},
		{"rules that repeat other lines", rules + "Disallow: /b\n" + strings.Repeat("Disallow: /a\n", 4) + "Disallow: /b\n", `
<stdin>:4:1: duplicate: the rule is the same as in line 2 [warning]
  and 3 more in lines 5, 6, 7 (-all shows each)
<stdin>:8:1: duplicate: the rule is the same as in line 3 [warning]
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, stdout, _ := try(t, tt.text); stdout != tt.want[1:] {
				t.Errorf("it prints\n%swant%s", stdout, tt.want)
			}
			if _, stdout, _ := try(t, tt.text, "-all"); strings.Contains(stdout, "-all") {
				t.Errorf("with -all, it prints\n%s", stdout)
			}
		})
	}
}

// A line with several problems is listed once. A long list is cut.
func TestList(t *testing.T) {
	for _, tt := range []struct {
		lines []int
		want  string
	}{
		{[]int{7}, "in line 7"},
		{[]int{7, 7}, "in line 7"},
		{[]int{7, 7, 9}, "in lines 7, 9"},
		{[]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}, "in lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13"},
		{[]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, "in lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, …"},
	} {
		if got := list(tt.lines); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// If there is nothing to report, the summary names the severities that were
// looked for.
func TestLint_NothingOfThatSeverity(t *testing.T) {
	const info, warning = "User-agent: *\nDisallow: /a*\n", "User-agent: *\nDisalow: /a\n"
	for _, tt := range []struct{ severity, text, want string }{
		{"info", "User-agent: *\nDisallow: /a\n", "1 file: no problems\n"},
		{"warning", info, "1 file: no warnings or errors\n"},
		{"error", warning, "1 file: no errors\n"},
		{"warning", warning, "1 file: 1 warning\n"},
	} {
		if _, _, stderr := try(t, tt.text, "-severity", tt.severity); stderr != tt.want {
			t.Errorf("-severity %s: %q, want %q", tt.severity, stderr, tt.want)
		}
	}
}

// A name that the shell has found for *.txt may have any characters. None of
// them may control the terminal.
func TestLint_NameOfAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	name := "a\x1b[2J.txt"
	if err := os.WriteFile(name, []byte("Disalow: /a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	e := command.Env{Stdout: bufio.NewWriter(&out), Stderr: io.Discard}
	Command.Run(t.Context(), e, []string{name})
	e.Stdout.Flush()
	if got := out.String(); strings.Contains(got, "\x1b") || !strings.HasPrefix(got, `a\x1b[2J.txt:1:1: `) {
		t.Errorf("it prints %q", got)
	}
}
