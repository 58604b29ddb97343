package command

import "flag"

// parseFlags parses flags wherever they stand, also after arguments; what
// follows "--" are arguments.
func parseFlags(flags *flag.FlagSet, args []string) (rest []string, err error) {
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
