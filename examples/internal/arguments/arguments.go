// Package arguments parses a command line with flags before, between and after
// the arguments.
package arguments

import (
	"errors"
	"flag"
	"time"
)

// Parse parses the flags in args wherever they stand, and returns the other
// arguments. Everything after "--" is an argument. Parse returns the error of
// the flag set, such as flag.ErrHelp.
func Parse(flags *flag.FlagSet, args []string) (rest []string, err error) {
	defer advise(flags)()
	for len(args) > 0 {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		parsed := len(args) - flags.NArg()
		if parsed > 0 && args[parsed-1] == "--" {
			return append(rest, flags.Args()...), nil
		}
		if args = flags.Args(); len(args) > 0 {
			rest, args = append(rest, args[0]), args[1:]
		}
	}
	return rest, nil
}

// advise changes the flags whose values are numbers or times. If such a flag
// gets another text, the error says what to write. The standard library says
// only "parse error". undo changes the flags back.
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

// An advised is the value of a flag. If Set cannot parse a text, it returns the
// advice as the error.
type advised struct {
	flag.Value
	advice string
}

func (a advised) Set(text string) error {
	err := a.Value.Set(text)
	if err != nil && err.Error() == "parse error" {
		return errors.New(a.advice)
	}
	return err
}
