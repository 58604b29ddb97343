// Package audit implements robotscheck audit, which finds the robots that broke
// a site's rules. It looks in server logs, WARC files, and the records of
// crawls.
//
// Package robotsmw/evidence/audit judges the requests. This package reads the
// files and directories that the arguments name. It prints the violations as
// JSON lines or tables, and can also write a page for a browser.
package audit

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/output"
	"github.com/goodbots/courtesy/robotsmw/evidence/audit"
)

// Command is the subcommand robotscheck audit.
var Command = command.Command{
	Name:  "audit",
	Usage: "[flags] LOG…",
	Short: "which robots broke the rules, by a server's log, an archive or a crawl's own record",
	Help: `
Audit reads access logs, WARC files, and the records of crawls: directories that politespider -evidence or package
robotsmw/evidence wrote. "-" is standard input. It says which robots asked for what robots.txt forbids them, how long they
went on by an old robots.txt, whether they asked for robots.txt before their first page, and whether they kept its
Crawl-delay.

  robotscheck audit -robots robots.txt access.log*
  robotscheck audit -robots history/ -html audit.html access.log.gz
  robotscheck audit crawl.warc.gz
  robotscheck audit record/

A log has the combined format of nginx and Apache, or is Caddy's JSON. It may be compressed with gzip. The logs of one
site may come in any order. The combined format has only whole seconds, and the time at which a request was over. So a gap
counts as too short only if neither the missing part of a second nor the time that requests took can be the reason. Audit
finds more if it knows when a request began, which follows from two more fields at the end of the line:

  log_format audit '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" '
                   '"$http_user_agent" $msec $request_time';

A robot is named by the word that its User-Agent begins with or, if that is Mozilla, by the word after "compatible;". A
User-Agent without either is a browser's, and is not judged. Without -robots, a robots.txt in a WARC file counts from its
date on, and an access log is audited only for what needs no robots.txt. While no robots.txt is known, requests are
unaudited: nothing is said of them. Standard error names the lines that cannot be read, but for each problem of a file at most
ten of them.

For a record, audit first checks the hashes in it. It names each line, robots.txt and WARC file that was changed, and what
was lost or cut off, on standard error. Then each request must have its decision, each decision must follow again from a
robots.txt that was fresh, and each gap must be as long as it had to be. -robots has no effect on records.

Kinds of violation:
  disallowed         robots.txt forbids it, and did so when the robot last fetched it, or the robot never fetched it
  stale              robots.txt forbids it; it did not when the robot last fetched it, more than 24 hours before
  before-robots-txt  the robot's first page on a host, if the robot did not ask for robots.txt before
  gap                it began sooner after the start of the page before it than the Crawl-delay wants
  retry-after        within the time for which a 429, 503 or redirect asked the robot to stay away (Caddy, WARC)

Exit status: 0 no violation, 1 there are some, 2 none was found, but something is unaudited, or could not be read to its
end, or there was no request. The exit status is also 2 if a file that you name cannot be read, and then there is no result,
or if the page cannot be written. 3 the answer is doubtful: a robots.txt of -robots is cut at 500 KiB, binary, in UTF-16, or
an HTML page. The result ends with a note that says so. A robots.txt in a WARC file is not checked for this.

With -json, one object for each violation, in the order of time:
  time, robot, host, url, kind
  line, rule  of robots.txt
  previous    the time that counts: of the page before (gap), of the robot's last fetch of robots.txt (stale), or of the
              answer that asked for the pause (retry-after)
  gap         the seconds since then
  want        the least that gap may be; for stale, the most
and a last one:
  requests, violations, robots (how many), unaudited (requests), broken (lines or records that could not be read)
  cut (inputs that could not be read to their end), jumps (lines whose time jumps back), if there are any
  spans  [{"host", "from", "to", "requests"}]: what is unaudited
  doubtful  [{"source", "doubt"}]: the files of -robots that are doubtful, and why`,
	Setup: func(flags *flag.FlagSet) command.Action {
		asJSON := flags.Bool("json", false, "print JSON, one object for each violation and one at the end")
		robots := flags.String("robots", "", "the site's robots.txt: a `FILE`, a WARC file that has it, or a directory of files such as 2026-11-20T10:00:00Z.txt, each in force from that time on")
		page := flags.String("html", "", "also write a page for a browser to this `file`")
		return func(ctx context.Context, e command.Env, args []string) (command.Status, error) {
			if len(args) == 0 {
				return 0, command.Usagef("name a log or a WARC file; - is standard input")
			}
			return run(ctx, e, options{*asJSON, *robots, *page}, args)
		}
	},
}

type options struct {
	asJSON       bool
	robots, page string
}

// Without -json, at most this many violations are listed.
const shown = 20

func run(ctx context.Context, e command.Env, o options, args []string) (command.Status, error) {
	say := func(format string, args ...any) { fmt.Fprintf(e.Stderr, "robotscheck audit: "+format+"\n", args...) }
	tell := func(b audit.Broken) { say("%s:%d: %v", b.Input, b.Line, b.Err) }
	broken := repeats{tell: tell}
	history, doubtful, err := readHistory(e, o.robots, broken.add)
	if err != nil {
		return 0, err
	}
	var inputs []audit.Input
	var records []string
	for _, arg := range args {
		if info, err := os.Stat(arg); arg != "-" && err == nil && info.IsDir() {
			records = append(records, arg)
			continue
		}
		in, err := open(e, arg)
		if err != nil {
			return 0, err
		}
		defer in.Close()
		inputs = append(inputs, audit.Input{Name: command.ShownName(arg), Reader: in})
	}
	var first []audit.Violation
	json := output.JSON(e.Stdout)
	judge := audit.Auditor{
		History:  history,
		OnBroken: broken.add,
		OnViolation: func(v audit.Violation) {
			if o.asJSON {
				json.Encode(v)
			} else if len(first) < shown {
				first = append(first, v)
			}
		},
	}
	if err := judge.Read(ctx, inputs...); err != nil {
		return 0, err
	}
	broken.end(say)
	judge.OnBroken = tell // prints repeated faults too: each may show that a record was changed
	for _, dir := range records {
		if err := judge.ReadRecord(ctx, dir, os.DirFS(dir)); err != nil {
			return 0, err
		}
	}
	r := judge.Result()
	if o.asJSON {
		json.Encode(last(r, doubtful))
	} else {
		printText(e.Stdout, r, first, notes(r, doubtful))
	}
	if r.Requests == 0 {
		say("there is no request in what was read: name an access log, a WARC file, or the directory of a record")
	}
	if o.page != "" {
		if err := writePage(o.page, r, notes(r, doubtful)); err != nil {
			return 0, err
		}
	}
	if history.Hosts() > 1 && r.Unaudited > 0 {
		say("%s has a robots.txt of %s: a log that names no host cannot be audited by it", o.robots, output.Count(history.Hosts(), "host"))
	}
	switch {
	case r.Violations == 0 && (r.Unaudited > 0 || r.Cut > 0 || r.Requests == 0):
		return command.CannotTell, nil
	case len(doubtful) > 0:
		return command.Doubtful, nil
	case r.Violations > 0:
		return command.No, nil
	}
	return command.OK, nil
}
