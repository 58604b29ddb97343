package tool

import (
	"flag"
	"fmt"
	"slices"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
)

// runFlags are the flags that belong to one run and not to the whole crawl.
var runFlags = []string{"resume", "redis", "crawl", "lease", "json", "report", "compare"}

// givenFlags returns the values of the flags that were given, without those of
// runFlags. To restore a flag, set each of its values in turn.
func givenFlags(flags *flag.FlagSet) map[string][]string {
	given := make(map[string][]string)
	flags.Visit(func(f *flag.Flag) {
		if r, ok := f.Value.(*repeated); ok {
			given[f.Name] = r.values
		} else if !slices.Contains(runFlags, f.Name) {
			given[f.Name] = []string{f.Value.String()}
		}
	})
	return given
}

// restore returns the URLs to start with, and whether -resume continues a
// crawl. The URLs are the arguments or, if there are none, the start URLs of
// that crawl. If -resume continues a crawl, restore also sets each flag that is
// missing on the command line to its value in the last run.
func (o *options) restore(flags *flag.FlagSet, args []string) (urls []string, isResumed bool, err error) {
	if o.resume == "" {
		return args, false, nil
	}
	last, err := frontier.ReadAbout(o.resume)
	if err != nil {
		return nil, false, fmt.Errorf("-resume %s: %w", o.resume, err)
	}
	if last == nil {
		return args, false, nil
	}
	if err := restoreFlags(flags, last.Flags); err != nil {
		return nil, false, fmt.Errorf("-resume %s: %w", o.resume, err)
	}
	if len(args) == 0 {
		return last.Start, true, nil
	}
	return args, true, nil
}

// restoreFlags sets each flag that is missing on the command line to its values
// in the last run.
func restoreFlags(flags *flag.FlagSet, last map[string][]string) error {
	given := givenFlags(flags)
	for name, values := range last {
		if given[name] != nil {
			continue
		}
		for _, value := range values {
			if err := flags.Set(name, value); err != nil {
				return fmt.Errorf("the last run of the crawl there had -%s %s: %w", name, value, err)
			}
		}
	}
	return nil
}
