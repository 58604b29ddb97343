package arguments

import (
	"flag"
	"slices"
	"testing"
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
		{nil, nil, "", ""},
	}
	for _, tt := range tests {
		flags := flag.NewFlagSet("test", flag.ContinueOnError)
		a, b := flags.String("a", "", ""), flags.String("b", "", "")
		rest, err := Parse(flags, tt.args)
		if err != nil || !slices.Equal(rest, tt.rest) || *a != tt.a || *b != tt.b {
			t.Errorf("%q: %q, -a %q, -b %q, %v; want %q, -a %q, -b %q", tt.args, rest, *a, *b, err, tt.rest, tt.a, tt.b)
		}
	}
}
