// Package survey implements robotscheck survey, which counts what many
// robots.txt files have in common.
//
// Workers examine the files. What they find is counted in one tally, which is
// then sorted and printed.
package survey

import (
	"context"
	"flag"
	"fmt"
	"path"

	"github.com/goodbots/courtesy/examples/internal/terminal"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
)

// Command is the subcommand robotscheck survey.
var Command = command.Command{
	Name:  "survey",
	Usage: "[flags] DIR|LIST|ARCHIVE",
	Short: "what many robots.txt files have in common",
	Help: `
Survey reads all files of a directory and of those below it, of a tar archive (.tar, .tar.gz or .tgz), of a WARC file (.warc
or .warc.gz), or of a list, which has the path of one file a line ("-": standard input). It counts how many files have which
features, how large they are, which problems lint finds, and which robots they name.

  robotscheck survey -match 'robots/*.txt' corpus.tar.gz
  robotscheck survey CC-MAIN-20261120100000-00000.warc.gz

From a WARC file, survey reads the answers for /robots.txt, such as those in Common Crawl's robotstxt subset. If the
argument is a WARC file, -match is for their hosts.

Of each file the first 16 MiB are read. At most 1,000 problems and 1,000 robots of a file are counted. A file shuts a robot out if its rules for the robot disallow
"/".

Exit status: 0 all files were read, 2 one could not be read. If none of the first ten files of a list can be read, it is
probably no list, and there is no result.

With -json, one object:
  files, bytes
  without   for WARC files, the answers that are not files, by their class: {"4xx": 12}
  have      [{"what", "files"}]: features of files for which lint has no code
  rules     [{"what", "rules", "files"}]: features of the rules' patterns
  sizes     [{"what", "median", "p90", "p99", "max"}]: bytes, lines, groups, rules, rules of the largest group
  worst     in how many files the worst problem is an "error", "warning" or "info", or there is "none"
  problems  [{"code", "severity", "files", "times"}]
  robots    [{"name", "files", "shut_out"}], the names in lower case`,
	Setup: func(flags *flag.FlagSet) command.Action {
		match := flags.String("match", "", "read only the files of a DIR or ARCHIVE whose path in it matches this `pattern`, such as 'robots/*.txt'")
		top := flags.Int("top", 20, "how many robots to name")
		asJSON := flags.Bool("json", false, "print JSON, one object")
		return func(ctx context.Context, e command.Env, args []string) (command.Status, error) {
			switch _, err := path.Match(*match, ""); {
			case len(args) != 1:
				return 0, command.Usagef("name one directory, list or archive")
			case *top < 0:
				return 0, command.Usagef("-top %d: write 0 or more", *top)
			case err != nil:
				return 0, command.Usagef("-match %q: %v", *match, err)
			}
			s := survey{stderr: e.Stderr, live: terminal.Is(e.Stderr)}
			total, err := s.run(ctx, func(each visit) error { return eachFile(e, args[0], *match, each) })
			if err != nil {
				return 0, err
			}
			total.finish(*top)
			switch {
			case total.Files == 0 && s.failed == 0:
				return 0, fmt.Errorf("%s: there are no such files", args[0])
			case total.Files == 0:
			case *asJSON:
				command.JSON(e.Stdout).Encode(total)
			default:
				total.print(e.Stdout)
			}
			if s.failed > 0 {
				return 0, fmt.Errorf("%s could not be read", command.Count(s.failed, "file"))
			}
			return command.OK, nil
		}
	},
}
