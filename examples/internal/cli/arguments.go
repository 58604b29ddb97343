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
// A flag may stand before, between or after them. Everything after "--" is an
// argument, and so no flag can have the value "--". Parse returns the error of
// the flag set, such as flag.ErrHelp. For an unknown flag, the error names the
// flag that the user probably meant. For a wrong number or time, it describes a
// valid value.
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

var parseError = regexp.MustCompile(`(?s)^(invalid value (".*") for flag -(.*): )parse error$`)

// advise returns an error that names the probable flag or describes a valid
// value. If it knows neither, it returns err, which is from flags.Parse.
func advise(flags *flag.FlagSet, err error) error {
	if unknown, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); ok {
		flags.VisitAll(func(f *flag.Flag) {
			if IsNear(unknown, f.Name) {
				err = fmt.Errorf("unknown flag -%s; did you mean -%s?", unknown, f.Name)
			}
		})
		return err
	}
	wrong := parseError.FindStringSubmatch(err.Error())
	if wrong == nil {
		return err
	}
	value, ok := flags.Lookup(wrong[3]).Value.(flag.Getter)
	if !ok {
		return err
	}
	advice := ""
	switch value.Get().(type) {
	case time.Duration:
		advice = "must be a duration such as 30s or 2h"
		text, _ := strconv.Unquote(wrong[2])
		if n, err := strconv.ParseFloat(text, 64); err == nil && 0 < n && n < 1e6 {
			advice = fmt.Sprintf("did you mean %v?", time.Duration(n*float64(time.Second)))
		}
	case int, int64:
		advice = "must be a whole number"
	case float64:
		advice = "must be a number"
	default:
		return err
	}
	return errors.New(wrong[1] + advice)
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
