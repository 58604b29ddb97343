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
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
	"github.com/goodbots/courtesy/robotsmw/evidence/audit"
)

// Command is the subcommand robotscheck audit.
var Command = command.Command{
	Name:  "audit",
	Usage: "[flags] LOG…",
	Short: "which robots broke the rules, by a server's log, an archive or a crawl's own record",
	Help: `
Audit answers the question "who broke my robots.txt?" from access logs, WARC files, and the records of crawls: directories
that politespider -evidence or package robotsmw/evidence wrote. "-" is standard input. It says only what its input proves; in
doubt it is for the robot, and it counts what it could not judge.

  robotscheck audit -robots robots.txt access.log*
  robotscheck audit -robots robots.txt -since 2026-11-19 -until 2026-11-20 access.log access.log.1
  robotscheck audit -robots history/ -html audit.html access.log.gz
  robotscheck audit crawl.warc.gz
  robotscheck audit record/

The second line is about one day. Give it the log of the day before too: it shows which robots.txt a robot had.

For each robot and each rule that it broke there is a line (how often, from when to when, from which addresses) and an
example; -v lists every violation. Then come all robots, with what they did and how many addresses they have, and what could
not be read.

A log has the combined format of nginx and Apache, or is Caddy's JSON. It may be compressed with gzip. The logs of one site
and of its front ends may come in any order, also one behind the other in one file. The combined format has only whole
seconds, and the time at which a request was over, so a request may have begun up to a minute before. Audit proves more gaps
if it knows when a request began, which follows from two more fields at the end of the line:

  log_format audit '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" '
                   '"$http_user_agent" $msec $request_time';

A robot is named by the word that its User-Agent begins with or, if that is Mozilla, by the one after "compatible;", by one
such as bingbot/2.0, or by the one before a URL such as +https://example.com/bot. Others are browsers, which are not judged.
A robot obeys the group of its name, else that of another name that its operator published (Applebot: Googlebot), else "*".
-obeys says it of robots that audit does not know. Anybody can use a robot's name: look at the addresses.

Without -robots, a robots.txt in a WARC file counts from its date on, and an access log is audited only for what needs no
robots.txt. While no robots.txt is known, requests are unaudited: nothing is said of them. Where the log shows that
robots.txt was a 404, nothing is forbidden until it is a 200 again. Pages are "not shown" if their robot may have got
robots.txt before the log began, or where it does not show: they are judged by robots.txt, but nobody is accused of not
having asked for it. Standard error names the lines that cannot be read, but for each problem of a file at most three of them.

For a record, audit first checks the hashes in it, and compares each line with those that it rests on. It names each line,
robots.txt and WARC file that was changed, or that another line contradicts, and what was lost or cut off: all on standard
error, and the first of them in the result. Then each request must have its decision, each decision must follow again from
a robots.txt that was fresh, and each gap must be as long as it had to be. Requests that obeyed a file of the operator's
own, in place of the site's, are counted. -robots has no effect on records.

Whoever can write all of a record could make its hashes again. So compare it with what he cannot write. -head is a HEAD of
the record, which politespider -evidence prints every hour and at its end, and which somebody else has kept: the exit status
is 2 if the record does not have that line. -against is the site's own log: a request of this robot that only the log has,
or that only the record has although it was answered, counts as broken. Somebody else may have used the robot's name.

  robotscheck audit -head 1234:9f86…  -against access.log record/

Kinds of violation:
  disallowed         robots.txt forbids it, and did so when the robot last fetched it, or the robot never fetched it
  stale              robots.txt forbids it; it did not when the robot last fetched it, more than 24 hours before
  before-robots-txt  the robot's first page on a host, more than 24 hours after the log began, if the robot did not ask for
                     robots.txt until then, and other robots' requests for it are in the log
  gap                more pages were asked for, from one address, than one in each Crawl-delay; a request may have been sent a
                     second before it arrived
  retry-after        within the time for which a 429, 503 or redirect asked the robot to stay away (Caddy, WARC)

Exit status: 0 no violation, 1 there are some, 2 none was found, but something is unaudited, or could not be read to its
end, or 1 % of the lines or more could not be read, or there was no request. The exit status is also 2 if a file that you
name cannot be read, and then there is no result, or if the page cannot be written. 3 the answer is doubtful: a robots.txt of
-robots is cut at 500 KiB, binary, in UTF-16, or an HTML page. The result ends with a note that says so. A robots.txt in a
WARC file is not checked for this.

With -json, one object for each violation, in the order of time:
  time, robot, address (of the client), host, url, kind
  line, rule  of robots.txt
  previous    the time that counts: of the page before (gap), of the robot's last fetch of robots.txt (stale), or of the
              answer that asked for the pause (retry-after)
  gap         the seconds since then
  want        the least that gap may be; for stale, the most
and a last one:
  requests, violations, robots (how many), unaudited (requests), not_shown (pages), lines (lines and records that were
  read), broken (those that could not be read)
  overridden (requests of a record that obeyed the operator's file)
  records  [{"name", "lines", "head", "both", "only_record", "only_log"}]: the hash of the last line; what -against has
  cut (inputs that could not be read to their end), jumps (lines out of order by more than 90 s), if there are any
  spans  [{"host", "from", "to", "requests"}]: what is unaudited
  doubtful  [{"source", "doubt"}]: the files of -robots that are doubtful, and why`,
	Setup: func(flags *flag.FlagSet) command.Action {
		o := options{groups: make(map[string][]string)}
		flags.BoolVar(&o.asJSON, "json", false, "print JSON, one object for each violation and one at the end")
		flags.BoolVar(&o.verbose, "v", false, "list every violation")
		flags.StringVar(&o.robots, "robots", "", "the site's robots.txt: a `FILE`, a WARC file that has it, or a directory of files such as 2026-11-20T10:00:00Z.txt, each in force from that time on")
		flags.StringVar(&o.head, "head", "", "a `HEAD` that the record must have, as politespider -evidence printed it: a hash, or LINE:HASH")
		command.ListVar(flags, &o.against, "against", "compare the record with this `LOG` of the site, and name the requests that only one of them has; may be repeated")
		flags.StringVar(&o.page, "html", "", "also write a page for a browser to this `file`")
		flags.Func("since", "judge only requests from this `time` on, such as 2026-11-20 or 2026-11-20T10:00:00Z; without a zone it is UTC", timeFlag(&o.since))
		flags.Func("until", "judge only requests before this `time`", timeFlag(&o.until))
		flags.Func("obeys", "the groups that a robot obeys, as `ROBOT=GROUP,GROUP`: the first one that robots.txt has; may be repeated", func(value string) error {
			name, groups, ok := strings.Cut(value, "=")
			if !ok || name == "" || groups == "" {
				return errors.New("write it as ExampleBot-Image=ExampleBot-Image,ExampleBot")
			}
			o.groups[name] = strings.Split(groups, ",")
			return nil
		})
		return func(ctx context.Context, e command.Env, args []string) (command.Status, error) {
			if len(args) == 0 {
				return 0, command.Usagef("name a log or a WARC file; - is standard input")
			}
			if o.head != "" && !headForm.MatchString(o.head) {
				return 0, command.Usagef("-head %s is no head: it is a hash of 64 hexadecimal digits, or LINE:HASH", o.head)
			}
			return o.run(ctx, e, args)
		}
	},
}

type options struct {
	asJSON, verbose bool
	robots, page    string
	head            string
	against         []string
	since, until    time.Time
	groups          map[string][]string
}

var headForm = regexp.MustCompile(`^([0-9]+:)?[0-9A-Fa-f]{64}$`)

const exampleLine = `192.0.2.1 - - [20/Nov/2026:10:00:00 +0000] "GET /a.html HTTP/1.1" 200 512 "-" "ExampleBot/1.0"`

func timeFlag(t *time.Time) func(string) error {
	return func(value string) (err error) {
		for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
			if *t, err = time.Parse(form, value); err == nil {
				return nil
			}
		}
		return errors.New("write it as 2026-11-20 or 2026-11-20T10:00:00Z")
	}
}

func (o *options) run(ctx context.Context, e command.Env, args []string) (command.Status, error) {
	broken := &brokenLines{w: e.Stderr}
	history, doubtful, err := readHistory(e, o.robots, broken.add)
	if err != nil {
		return 0, err
	}
	var names, records []string
	for _, arg := range args {
		if isDirectory(arg) {
			records = append(records, arg)
		} else {
			names = append(names, arg)
		}
	}
	if (o.head != "" || len(o.against) > 0) && (len(records) != 1 || len(names) > 0) {
		return 0, command.Usagef("-head and -against are about one record: name its directory, and nothing else")
	}
	logs, closeLogs, err := openLogs(e, append(names, o.against...))
	defer closeLogs()
	if err != nil {
		return 0, err
	}
	found := new(breaches)
	judge := audit.Auditor{
		History:     history,
		Groups:      o.groups,
		Head:        o.head,
		Against:     logs[len(names):],
		Since:       o.since,
		Until:       o.until,
		OnBroken:    broken.add,
		OnViolation: o.printer(e.Stdout, found),
	}
	if err := judge.Read(ctx, logs[:len(names)]...); err != nil {
		return 0, err
	}
	broken.end()
	judge.OnBroken = broken.addFault
	for _, dir := range records {
		if err := judge.ReadRecord(ctx, dir, os.DirFS(dir)); err != nil {
			return 0, err
		}
	}
	r := judge.Result()
	found.sort()
	notes := append(recordNotes(r, broken.faults), notes(r, doubtful)...)
	if o.asJSON {
		command.JSON(e.Stdout).Encode(summaryOf(r, doubtful))
	} else {
		printText(e.Stdout, r, found, o.verbose, notes)
	}
	if r.Requests == 0 {
		broken.say("there is no request in what was read: name an access log, a WARC file, or the directory of a record")
		if r.Broken > 0 {
			broken.say("a line of a log looks like this: %s", exampleLine)
		}
	}
	if o.page != "" {
		if err := writePage(o.page, r, found, notes); err != nil {
			return 0, err
		}
	}
	if history.Hosts() > 1 && r.Unaudited > 0 {
		broken.say("%s has a robots.txt of %s: a log that names no host cannot be audited by it", o.robots, command.Count(history.Hosts(), "host"))
	}
	return o.status(r, doubtful), nil
}

// printer returns what is done with each violation.
func (o *options) printer(w io.Writer, found *breaches) func(audit.Violation) {
	json := command.JSON(w)
	return func(v audit.Violation) {
		found.add(v)
		switch {
		case o.asJSON:
			json.Encode(v)
		case o.verbose:
			fmt.Fprintln(w, sentence(v))
		}
	}
}

func (o *options) status(r *audit.Result, doubtful []robots.Doubtful) command.Status {
	switch {
	case o.head != "" && !r.Records[0].HeadFound, r.Violations == 0 && isPartial(r):
		return command.CannotTell
	case len(doubtful) > 0:
		return command.Doubtful
	case r.Violations > 0:
		return command.No
	}
	return command.OK
}
