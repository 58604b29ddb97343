// Package arguments parses a command line with flags before, between and after
// the arguments.
package arguments

import (
	"errors"
	"flag"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// Parse parses the flags in args, and returns the arguments that are not flags.
// A flag may stand before, between or after them. Everything after "--" is an
// argument. Parse returns the error of the flag set, such as flag.ErrHelp. For
// an unknown flag, the error names the flag that the user probably meant.
func Parse(flags *flag.FlagSet, args []string) (rest []string, err error) {
	defer advise(flags)()
	for len(args) > 0 {
		switch n := lengthOf(flags, args); {
		case args[0] == "--":
			return append(rest, args[1:]...), nil
		case n == 0:
			rest, args = append(rest, args[0]), args[1:]
		default:
			if err := flags.Parse(args[:n]); err != nil {
				if unknown, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); ok {
					flags.VisitAll(func(f *flag.Flag) {
						if IsNear(unknown, f.Name) {
							err = fmt.Errorf("there is no flag -%s: did you mean -%s?", unknown, f.Name)
						}
					})
				}
				return nil, err
			}
			args = args[n:]
		}
	}
	return rest, nil
}

// lengthOf returns how many elements of args belong to the flag in args[0]: 0
// if args[0] is not a flag, 2 if args[1] is the flag's value, and 1 in every
// other case. A value may be any text, even "--".
func lengthOf(flags *flag.FlagSet, args []string) int {
	name, isFlag := strings.CutPrefix(args[0], "-")
	if !isFlag || name == "" {
		return 0
	}
	f := flags.Lookup(strings.TrimPrefix(name, "-"))
	if f == nil { // the flag is unknown, or is followed by "=" and its value
		return 1
	}
	if b, ok := f.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() {
		return 1
	}
	return min(2, len(args))
}

// advise changes the flags whose values are numbers or times, so that their
// errors are helpful. If the text for such a flag cannot be parsed, the error
// says what to write. The standard library would only say "parse error". advise
// returns a function that changes the flags back.
func advise(flags *flag.FlagSet) (undo func()) {
	was := make(map[*flag.Flag]flag.Value)
	flags.VisitAll(func(f *flag.Flag) {
		getter, ok := f.Value.(flag.Getter)
		if !ok {
			return
		}
		advice := ""
		switch getter.Get().(type) {
		case time.Duration:
			advice = "write a time such as 30s or 2h"
		case int, int64:
			advice = "write a whole number"
		case float64:
			advice = "write a number"
		default:
			return
		}
		was[f], f.Value = f.Value, advised{f.Value, advice}
	})
	return func() {
		for f, value := range was {
			f.Value = value
		}
	}
}

// The type "advised" is the value of a flag, with advice for the user. If Set
// cannot parse a text, it returns the advice as the error.
type advised struct {
	flag.Value
	advice string
}

func (a advised) Set(text string) error {
	err := a.Value.Set(text)
	if err != nil && err.Error() == "parse error" {
		if n, err := strconv.ParseFloat(text, 64); err == nil && strings.Contains(a.advice, "time") && 0 < n && n < 1e6 {
			return fmt.Errorf("write %v, if that is in seconds", time.Duration(n*float64(time.Second)))
		}
		return errors.New(a.advice)
	}
	return err
}

// IsNear reports whether a and b differ by at most one typing error: a byte
// omitted, added or replaced, or two neighbouring bytes swapped.
func IsNear(a, b string) bool {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a)+len(b) <= 1 || len(a) == 1 && len(b) == 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}

// Version returns the version of the program and of the Go that built it, as
// the build recorded them.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown version"
	}
	return info.Main.Version + " (" + info.GoVersion + ")"
}
