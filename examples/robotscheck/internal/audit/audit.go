package audit

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
	"github.com/goodbots/courtesy/robotsmw/evidence/audit"
)

// Command is the subcommand robotscheck audit.
var Command = command.Command{
	Name:  "audit",
	Usage: "[flags] LOG…",
	Short: "which robots broke the rules, by a server's log, an archive or a crawl's own record",
	Setup: func(flags *flag.FlagSet) command.Action {
		o := options{groups: make(map[string][]string)}
		flags.BoolVar(&o.asJSON, "json", false, "print JSON, one object for each violation and one at the end")
		flags.BoolVar(&o.verbose, "v", false, "list every violation")
		flags.StringVar(&o.robots, "robots", "",
			"the site's robots.txt: a `FILE`, a WARC file that contains it, or a directory of files\n"+
				"such as 2026-11-20T10:00:00Z.txt, each in force from that time on")
		flags.StringVar(&o.head, "head", "",
			"the `HEAD` that the record must have, as printed by politespider -evidence: a hash, or LINE:HASH")
		command.ListVar(flags, &o.against, "against",
			"compare the record with this `LOG` of the site, and list the requests that are in only one of them; may be repeated")
		flags.StringVar(&o.page, "html", "", "also write an HTML page to this `file`")
		command.ListVar(flags, &o.ignore, "ignore",
			"do not judge the robot of this `NAME`, only count its requests; may be repeated")
		flags.StringVar(&o.format, "format", "", "the format of all logs, a `NAME` of "+strings.Join(audit.Formats(), ", ")+"; if omitted, the format is detected")
		flags.Func("since",
			"judge only requests from this `time` on, such as 2026-11-20 or 2026-11-20T10:00:00Z; without a zone it is UTC", timeFlag(&o.since))
		flags.Func("until", "judge only requests before this `time`", timeFlag(&o.until))
		flags.Func("obeys", "the groups that a robot obeys, as `ROBOT=GROUP,GROUP`: the first one that robots.txt has; may be repeated", func(value string) error {
			name, groups, ok := strings.Cut(value, "=")
			if !ok || name == "" || groups == "" {
				return errors.New("must have the form ExampleBot-Image=ExampleBot-Image,ExampleBot")
			}
			o.groups[name] = strings.Split(groups, ",")
			return nil
		})
		return func(ctx context.Context, e command.Env, args []string) (command.Status, error) {
			if len(args) == 0 {
				return 0, command.Usagef("specify a log or a WARC file; - is standard input")
			}
			if command.StdinTwice(slices.Concat(args, o.against, []string{o.robots})...) {
				return 0, command.Usagef("only one of -robots, -against and the logs can be standard input")
			}
			if o.head != "" && !headForm.MatchString(o.head) {
				return 0, command.Usagef("-head %s: must be a hash of 64 hexadecimal digits, or LINE:HASH", o.head)
			}
			if o.format != "" && !slices.Contains(audit.Formats(), o.format) {
				return 0, command.Usagef("-format %s: must be one of %s", o.format, strings.Join(audit.Formats(), ", "))
			}
			return o.run(ctx, e, args)
		}
	},
}

type options struct {
	asJSON, verbose    bool
	robots, head, page string
	format             string
	against, ignore    []string
	since, until       time.Time
	groups             map[string][]string
}

var headForm = regexp.MustCompile(`^([0-9]+:)?[0-9A-Fa-f]{64}$`)

const exampleLine = `192.0.2.1 - - [20/Nov/2026:10:00:00 +0000] "GET /a.html HTTP/1.1" 200 512 "-" "ExampleBot/1.0"`

func timeFlag(t *time.Time) func(string) error {
	return func(value string) (err error) {
		*t, err = parseTime(value)
		return err
	}
}

func (o *options) run(ctx context.Context, e command.Env, args []string) (command.Status, error) {
	broken := &brokenLines{
		w:        e.Stderr,
		stdout:   e.Stdout,
		seen:     make(map[problem]*repeats),
		progress: cli.Progress{Terminal: cli.Terminal(e.Stderr)},
	}
	found := &breaches{
		by:     make(map[audit.Violation]*breach),
		listed: make(map[string][]audit.Violation),
	}
	timeline := newTimeline()
	judge := audit.Auditor{
		Groups:   o.groups,
		Head:     o.head,
		Format:   o.format,
		Ignore:   o.ignore,
		Since:    o.since,
		Until:    o.until,
		OnBroken: broken.add,
		OnViolation: func(v audit.Violation) {
			found.add(v)
			timeline.add(v.Robot, v.Time, activity{violations: 1})
			switch {
			case o.asJSON:
				broken.progress.Clear()
				cli.NewEncoder(e.Stdout).Encode(v)
			case o.verbose:
				broken.progress.Clear()
				fmt.Fprintln(e.Stdout, sentence(v))
			}
		},
	}
	if o.page != "" {
		judge.OnRequest = func(robot string, at time.Time) { timeline.add(robot, at, activity{requests: 1}) }
	}
	history := history{judge: &judge}
	err := history.read(e, o.robots, broken)
	if err == nil {
		err = o.read(ctx, e, args, &judge, broken)
	}
	broken.progress.Clear()
	if err != nil {
		return 0, err
	}
	r := judge.Result()
	found.sort()
	if o.asJSON {
		cli.NewEncoder(e.Stdout).Encode(newSummary(r, history.doubtful))
	} else {
		printText(e.Stdout, r, found, o.verbose, notes(r, broken.told, history.doubtful))
	}
	if r.Requests == 0 {
		when := ""
		if r.Counts["lines"] > 0 && !(o.since.IsZero() && o.until.IsZero()) {
			when = " between -since and -until"
		}
		broken.say("no request found%s; specify an access log, a WARC file, or the directory of a record", when)
		if r.Counts["broken"] > 0 {
			broken.say("an example of a log line: %s", exampleLine)
		}
	}
	if o.page != "" {
		if err := writePage(o.page, pageSource{r, found, timeline, history.files, broken, notes(r, nil, history.doubtful)}); err != nil {
			return 0, err
		}
	}
	if history.hosts > 1 && r.Counts["unaudited"] > 0 {
		broken.say("%s contains the robots.txt of %s; a log without host names cannot be audited with it", o.robots, cli.Count(history.hosts, "host"))
	}
	return o.status(r, history.doubtful), nil
}

// read gives the logs and records to the Auditor.
func (o *options) read(ctx context.Context, e command.Env, args []string, judge *audit.Auditor, broken *brokenLines) error {
	var names, records []string
	for _, arg := range args {
		if command.IsDirectory(arg) {
			records = append(records, arg)
		} else {
			names = append(names, arg)
		}
	}
	needsRecord := o.head != "" || len(o.against) > 0
	isOneRecord := len(records) == 1 && len(names) == 0
	if needsRecord && !isOneRecord {
		return command.Usagef("-head and -against require one record; specify its directory only")
	}
	logs, closeLogs, err := openAll(e, names, broken.read)
	defer closeLogs()
	if err != nil {
		return err
	}
	against, closeAgainst, err := openAll(e, o.against, broken.read)
	defer closeAgainst()
	if err != nil {
		return err
	}
	if err := judge.Read(ctx, logs...); err != nil {
		return err
	}
	broken.end()
	judge.OnBroken = broken.addFault
	for _, dir := range records {
		if err := judge.ReadRecord(ctx, dir, watchedDirectory{os.DirFS(dir), broken.read}, against...); err != nil {
			return err
		}
	}
	return nil
}

func (o *options) status(r *audit.Result, doubtful []robots.Doubtful) command.Status {
	switch {
	case o.head != "" && r.Records[0].Counts["head"] == 0, r.Violations == 0 && isPartial(r):
		return command.CannotTell
	case len(doubtful) > 0:
		return command.Doubtful
	case r.Violations > 0:
		return command.No
	}
	return command.OK
}
