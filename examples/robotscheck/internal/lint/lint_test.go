package lint

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
)

// runLint lints a robots.txt on standard input.
func runLint(t *testing.T, text string, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errOut strings.Builder
	e := command.Env{Stdin: strings.NewReader(text), Stdout: bufio.NewWriter(&out), Stderr: &errOut}
	Command.Run(t.Context(), e, append(args, "-"))
	e.Stdout.Flush()
	return out.String(), errOut.String()
}

// Problems are folded only if they have the same message or, for info, code.
func TestLint_Folds(t *testing.T) {
	const (
		rules   = "User-agent: *\nDisallow: /a\n"
		noindex = "withdrawn-field: Google has not supported Noindex in robots.txt since September 2019; " +
			"allow the page, and use noindex in the page or in X-Robots-Tag [warning]\n"
		nofollow = "withdrawn-field: Google has not supported Nofollow in robots.txt since September 2019; " +
			"use nofollow in the page or in X-Robots-Tag [warning]\n"
	)
	for _, tt := range []struct{ name, text, want string }{
		{
			"three problems of one kind", rules + strings.Repeat("Noindex: /a\n", 3),
			"<stdin>:3:1: " + noindex + "<stdin>:4:1: " + noindex + "<stdin>:5:1: " + noindex,
		},
		{
			"another field among four of the same",
			rules + "Noindex: /1\nNofollow: /2\nNoindex: /3\nNoindex: /4\nNoindex: /5\n",
			"<stdin>:3:1: " + noindex +
				"  and 3 more in lines 5, 6, 7 (-all shows each)\n" +
				"<stdin>:4:1: " + nofollow,
		},
		{"unknown fields", rules + "Foo: 1\nBar: 2\n" + strings.Repeat("Foo: 3\n", 3), `
<stdin>:3:1: unknown-field: no known robot supports the field "Foo" [warning]
  and 3 more in lines 5, 6, 7 (-all shows each)
<stdin>:4:1: unknown-field: no known robot supports the field "Bar" [warning]
`[1:]},
		{"misspelled fields", "Useragent: *\nDisalow: /a\nDissallow: /b\nAlow: /c\n",
			misspelled(1, "Useragent", "some robots", "User-agent: *") +
				misspelled(2, "Disalow", "some robots", "Disallow: /a") +
				misspelled(3, "Dissallow", "some robots", "Disallow: /b") +
				misspelled(4, "Alow", "robots", "Allow: /c"),
		},
		{
			"missing colons",
			"User-agent: *\nDisallow /a\nAllow /b\nDisallow /c\nDisallow /d\nDisallow /e\n", `
<stdin>:2:9: missing-colon: there is no colon after "Disallow"; some robots ignore the line [warning]
  instead: Disallow: /a
  and 3 more in lines 4, 5, 6 (-all shows each)
<stdin>:3:6: missing-colon: there is no colon after "Allow"; some robots ignore the line [warning]
  instead: Allow: /b
`[1:]},
		{
			"robots that are disallowed by name",
			rules + "User-agent: A\nUser-agent: B C\nUser-agent: 008\nUser-agent: D\nDisallow: /\n",
			"<stdin>:3:1: named-shut: robots are allowed, but A is disallowed [info]\n" +
				"  and 3 more in lines 4, 5, 6 (-all shows each)\n" +
				"<stdin>:4:14: agent-form: the name of a robot consists of letters, digits, " +
				`"_", "-" and "."; robots compare only "B" [warning]` + "\n",
		},
		{
			"duplicates of two rules",
			rules + "Disallow: /b\n" + strings.Repeat("Disallow: /a\n", 4) + "Disallow: /b\n", `
<stdin>:4:1: duplicate: the rule is the same as in line 2 [warning]
  and 3 more in lines 5, 6, 7 (-all shows each)
<stdin>:8:1: duplicate: the rule is the same as in line 3 [warning]
`[1:]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if stdout, _ := runLint(t, tt.text); stdout != tt.want {
				t.Errorf("lint printed\n%swant\n%s", stdout, tt.want)
			}
			if stdout, _ := runLint(t, tt.text, "-all"); strings.Contains(stdout, "-all") {
				t.Errorf("lint -all folded problems:\n%s", stdout)
			}
		})
	}
}

// misspelled returns the output for a misspelled field.
func misspelled(line int, field, ignoredBy, fix string) string {
	name, _, _ := strings.Cut(fix, ":")
	return fmt.Sprintf("<stdin>:%d:1: misspelled-field: %q is probably a misspelling of %s; "+
		"%s ignore the line [warning]\n  instead: %s\n", line, field, name, ignoredBy, fix)
}

// A line with several problems is listed once. A long list is truncated.
func TestLineNumbers(t *testing.T) {
	for _, tt := range []struct {
		lines []int
		want  string
	}{
		{[]int{7}, "in line 7"},
		{[]int{7, 7}, "in line 7"},
		{[]int{7, 7, 9}, "in lines 7, 9"},
		{
			[]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13},
			"in lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13",
		},
		{
			[]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14},
			"in lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, …",
		},
	} {
		if got := lineNumbers(tt.lines); got != tt.want {
			t.Errorf("lineNumbers(%v) is %q, want %q", tt.lines, got, tt.want)
		}
	}
}

// If there is nothing to report, the summary contains the severities that were
// requested.
func TestLint_Summary(t *testing.T) {
	const (
		clean   = "User-agent: *\nDisallow: /a\n"
		info    = "User-agent: *\nDisallow: /a*\n"
		warning = "User-agent: *\nDisalow: /a\n"
	)
	for _, tt := range []struct{ severity, text, want string }{
		{"info", clean, "1 file: no problems\n"},
		{"warning", info, "1 file: no warnings or errors\n"},
		{"error", warning, "1 file: no errors\n"},
		{"warning", warning, "1 file: 1 warning\n"},
	} {
		if _, stderr := runLint(t, tt.text, "-severity", tt.severity); stderr != tt.want {
			t.Errorf("lint -severity %s of %q printed %q, want %q", tt.severity, tt.text, stderr, tt.want)
		}
	}
}

// The name of a file that the shell found for *.txt may have any characters.
// None of them controls the terminal.
func TestLint_UnprintableFileName(t *testing.T) {
	t.Chdir(t.TempDir())
	name := "a\x1b[2J.txt"
	if err := os.WriteFile(name, []byte("Disalow: /a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	e := command.Env{Stdout: bufio.NewWriter(&out), Stderr: io.Discard}
	Command.Run(t.Context(), e, []string{name})
	e.Stdout.Flush()
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("output contains an escape character: %q", out.String())
	}
	if want := `a\x1b[2J.txt:1:1: `; !strings.HasPrefix(out.String(), want) {
		t.Errorf("output is %q, want it to begin with %q", out.String(), want)
	}
}
