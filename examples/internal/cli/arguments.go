// Package cli contains helpers for command lines and terminals. It parses a
// command line with flags before, between and after the arguments, writes JSON
// lines, and makes text from servers safe to print.
package cli

import (
	"errors"
	"flag"
	"fmt"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// Parse parses the flags in args, and returns the arguments that are not flags.
// Flags may be before, between and after the arguments. Everything after "--"
// is an argument, so no flag can have the value "--". Parse returns the error
// of the flag set, such as flag.ErrHelp. If a flag is unknown, the error names
// the flag that the user probably meant. If a number or duration is invalid,
// the error describes a valid value.
func Parse(flags *flag.FlagSet, args []string) (rest []string, err error) {
	for {
		if err := flags.Parse(args); err != nil {
			return nil, advise(flags, err)
		}
		parsed := args[:len(args)-flags.NArg()]
		args = flags.Args()
		stoppedAtDashes := len(parsed) > 0 && parsed[len(parsed)-1] == "--"
		if len(args) == 0 || stoppedAtDashes {
			return append(rest, args...), nil
		}
		rest = append(rest, args[0])
		args = args[1:]
	}
}

// advise returns an error that proposes a flag or describes a valid value,
// instead of err, the error of flags.Parse. If it has no advice, it returns
// err.
func advise(flags *flag.FlagSet, err error) error {
	if unknown, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); ok {
		return adviseName(flags, unknown, err)
	}
	return adviseValue(flags, err)
}

// adviseName returns an error that proposes the flag whose name is nearly the
// name unknown, which no flag has. If there is no such flag, it returns err.
func adviseName(flags *flag.FlagSet, unknown string, err error) error {
	flags.VisitAll(func(f *flag.Flag) {
		if IsNear(unknown, f.Name) {
			err = fmt.Errorf("unknown flag -%s; did you mean -%s?", unknown, f.Name)
		}
	})
	return err
}

// invalidValue matches an error of package flag. Its groups are the part before
// "parse error", the quoted value, and the name of the flag.
var invalidValue = regexp.MustCompile(`(?s)^(invalid value (".*") for flag -(.*): )parse error$`)

// adviseValue returns an error that describes a valid value of the flag that
// err is about. If err is not about a number or a duration, adviseValue returns
// err.
func adviseValue(flags *flag.FlagSet, err error) error {
	groups := invalidValue.FindStringSubmatch(err.Error())
	if groups == nil {
		return err
	}
	prefix, quoted, name := groups[1], groups[2], groups[3]
	value, ok := flags.Lookup(name).Value.(flag.Getter)
	if !ok {
		return err
	}
	switch value.Get().(type) {
	case time.Duration:
		return errors.New(prefix + durationAdvice(quoted))
	case int, int64:
		return errors.New(prefix + "must be a whole number")
	case float64:
		return errors.New(prefix + "must be a number")
	}
	return err
}

// durationAdvice describes a valid duration. If the quoted value is a number
// without a unit, durationAdvice proposes that number of seconds.
func durationAdvice(quoted string) string {
	text, _ := strconv.Unquote(quoted)
	seconds, err := strconv.ParseFloat(text, 64)
	if err == nil && 0 < seconds && seconds < 1e6 {
		return fmt.Sprintf("did you mean %v?", time.Duration(seconds*float64(time.Second)))
	}
	return "must be a duration such as 30s or 2h"
}

// IsNear reports whether a and b differ by at most one typing error: a byte
// omitted, added or replaced, or two neighboring bytes swapped.
func IsNear(a, b string) bool {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) != len(b) {
		return len(a)+len(b) == 1
	}
	isSwapped := len(a) == 2 && a[0] == b[1] && a[1] == b[0]
	return len(a) <= 1 || isSwapped
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
