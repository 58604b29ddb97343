package cli

import (
	"flag"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// Flags may be before, between and after arguments, but not after "--".
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
		if err != nil {
			t.Errorf("Parse(%q): %v", tt.args, err)
		}
		if !slices.Equal(rest, tt.rest) {
			t.Errorf("Parse(%q) returned the arguments %q, want %q", tt.args, rest, tt.rest)
		}
		if *a != tt.a || *b != tt.b {
			t.Errorf("Parse(%q) set -a=%q -b=%q, want -a=%q -b=%q", tt.args, *a, *b, tt.a, tt.b)
		}
	}
}

// If a flag is unknown or invalid, Parse returns the error of package flag. If
// the flag resembles a known one, the error names that flag.
func TestParse_Errors(t *testing.T) {
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
		_, err := Parse(flags, strings.Fields(tt.args))
		if err == nil || err.Error() != tt.want {
			t.Errorf("Parse(%s) returned the error %v, want %q", tt.args, err, tt.want)
		}
	}
}

// If the value of a flag is not a number or duration, the error describes a
// valid value. The help lists the defaults as usual.
func TestParse_Advice(t *testing.T) {
	for arg, want := range map[string]string{
		"-wait=soon":                  "must be a duration such as 30s or 2h",
		"-wait=5":                     "did you mean 5s?",
		"-wait=0.2":                   "did you mean 200ms?",
		"-wait=-1":                    "must be a duration such as 30s or 2h",
		"-pages=x":                    "must be a whole number",
		"-times=x":                    "must be a number",
		"-pages=99999999999999999999": "value out of range",
	} {
		flags := flag.NewFlagSet("test", flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		flags.Duration("wait", time.Second, "`time`")
		flags.Int("pages", 0, "`number`")
		flags.Float64("times", 0, "`factor`")
		_, err := Parse(flags, []string{arg})
		if err == nil || !strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("Parse(%s) returned the error %v, want the advice %q", arg, err, want)
		}
		var help strings.Builder
		flags.SetOutput(&help)
		flags.PrintDefaults()
		if !strings.Contains(help.String(), "(default 1s)") {
			t.Errorf("help lacks the default of -wait:\n%s", help.String())
		}
		if strings.Contains(help.String(), "(default 0)") {
			t.Errorf("help has a default of 0, want none:\n%s", help.String())
		}
	}
}
