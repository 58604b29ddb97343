// Package arguments reads a command line as people write it: with flags before,
// between and after the arguments.
package arguments

import "flag"

// Parse parses the flags in args wherever they stand, and returns the
// arguments. What follows "--" are arguments. The error is that of the flag set,
// flag.ErrHelp included.
func Parse(flags *flag.FlagSet, args []string) (rest []string, err error) {
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
