package cli

import (
	"flag"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// Flags may stand before, between and after arguments, but not after "--".
func TestParse(t *testing.T) {
	tests := []struct {
		args []string
		rest []string
		a, b string
	}{
		{[]string{"-a=1", "x", "-b", "2", "y"}, []string{"x", "y"}, "1", "2"},
		{[]string{"x", "-", "-a=1"}, []string{"x", "-"}, "1", ""},
		{[]string{"x", "--", "-a=1", "y"}, []string{"x", "-a=1", "y"}, "", ""},
		{[]string{"-c", "--", "-a=1"}, []string{"-a=1"}, "", ""},
		{[]string{"-c=false", "x", "--c", "-a", "1"}, []string{"x"}, "1", ""},
		{nil, nil, "", ""},
	}
	for _, tt := range tests {
		flags := flag.NewFlagSet("test", flag.ContinueOnError)
		a, b := flags.String("a", "", ""), flags.String("b", "", "")
		flags.Bool("c", false, "")
		rest, err := Parse(flags, tt.args)
		if err != nil || !slices.Equal(rest, tt.rest) || *a != tt.a || *b != tt.b {
			t.Errorf("%q: %q, -a %q, -b %q, %v; want %q, -a %q, -b %q", tt.args, rest, *a, *b, err, tt.rest, tt.a, tt.b)
		}
	}
}

// If a flag is unknown or wrong, Parse returns the error of package flag. Only
// for a flag that looks like a known one, the error asks if that was meant.
func TestParse_Refuses(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"x -b", "flag needs an argument: -b"},
		{"x -fast 1", "flag provided but not defined: -fast"},
		{"x -fast=1 -b", "flag provided but not defined: -fast"},
		{"-wiat=1 x", "unknown flag -wiat; did you mean -wait?"},
		{"---b 1", "bad flag syntax: ---b"},
		{"-=1", "bad flag syntax: -=1"},
		{"-c=maybe", `invalid boolean value "maybe" for -c: parse error`},
		{"x -h", flag.ErrHelp.Error()},
	} {
		flags := flag.NewFlagSet("test", flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		flags.String("b", "", "")
		flags.String("wait", "", "")
		flags.Bool("c", false, "")
		if rest, err := Parse(flags, strings.Fields(tt.args)); err == nil || err.Error() != tt.want {
			t.Errorf("%s: %q, %v; want %q", tt.args, rest, err, tt.want)
		}
	}
}

// If a flag needs a number or a time, and its text cannot be parsed as one, the
// error says what to write. The help shows the defaults as usual.
func TestParse_Advice(t *testing.T) {
	for arg, want := range map[string]string{
		"-wait=soon":                 "must be a duration such as 30s or 2h",
		"-wait=5":                    "did you mean 5s?",
		"-wait=0.2":                  "did you mean 200ms?",
		"-wait=-1":                   "must be a duration such as 30s or 2h",
		"-most=x":                    "must be a whole number",
		"-times=x":                   "must be a number",
		"-most=99999999999999999999": "value out of range",
	} {
		flags := flag.NewFlagSet("test", flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		flags.Duration("wait", time.Second, "`time`")
		flags.Int("most", 0, "`pages`")
		flags.Float64("times", 0, "`factor`")
		if _, err := Parse(flags, []string{arg}); err == nil || !strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("%s: %v, want %q", arg, err, want)
		}
		var help strings.Builder
		flags.SetOutput(&help)
		flags.PrintDefaults()
		if !strings.Contains(help.String(), "(default 1s)") || strings.Contains(help.String(), "(default 0)") {
			t.Errorf("the help is\n%s", help.String())
		}
	}
}
