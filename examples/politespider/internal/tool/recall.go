package tool

import (
	"flag"
	"fmt"
	"slices"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
)

// notRecalled are the flags that belong to one run and not to the whole crawl.
var notRecalled = []string{"resume", "redis", "crawl", "lease", "json", "report", "compare"}

// aboutFlags returns the flags that were given. To restore a flag, set each of
// its values in turn.
func aboutFlags(flags *flag.FlagSet) map[string][]string {
	given := make(map[string][]string)
	flags.Visit(func(f *flag.Flag) {
		if r, ok := f.Value.(*repeated); ok {
			given[f.Name] = r.values
		} else if !slices.Contains(notRecalled, f.Name) {
			given[f.Name] = []string{f.Value.String()}
		}
	})
	return given
}

// recall returns the URLs to start with, and whether -resume continues a crawl.
// The URLs are the arguments or, if there are none, the start URLs of that
// crawl. If -resume continues a crawl, recall also sets each flag that is
// missing on the command line to the value that the flag had in the last run.
func (o *options) recall(flags *flag.FlagSet, args []string) (urls []string, recalled bool, err error) {
	if o.resume == "" {
		return args, false, nil
	}
	was, err := frontier.ReadAbout(o.resume)
	if err != nil {
		return nil, false, fmt.Errorf("-resume %s: %w", o.resume, err)
	}
	if was == nil {
		return args, false, nil
	}
	given := aboutFlags(flags)
	for name, values := range was.Flags {
		if given[name] != nil {
			continue
		}
		for _, value := range values {
			if err := flags.Set(name, value); err != nil {
				return nil, false, fmt.Errorf("-resume %s: the last run of the crawl there had -%s %s: %w", o.resume, name, value, err)
			}
		}
	}
	if len(args) == 0 {
		return was.Start, true, nil
	}
	return args, true, nil
}
