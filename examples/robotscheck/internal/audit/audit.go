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
	"github.com/goodbots/courtesy/robotsmw/evidence/audit"
)

// Command is the subcommand robotscheck audit.
var Command = command.Command{
	Name:  "audit",
	Usage: "[flags] LOG…",
	Short: "which robots broke the rules, by a server's log, an archive or a crawl's own record",
	Setup: func(flags *flag.FlagSet) command.Action {
		o := &options{groups: make(map[string][]string)}
		o.declare(flags)
		return func(ctx context.Context, e command.Env, args []string) (command.Status, error) {
			if err := o.check(args); err != nil {
				return 0, err
			}
			return newRun(o, e).run(ctx, args)
		}
	},
}

// options are the values of the flags.
type options struct {
	asJSON, verbose    bool
	robots, head, page string
	format             string
	against, ignore    []string
	since, until       time.Time
	groups             map[string][]string
}

func (o *options) declare(flags *flag.FlagSet) {
	flags.BoolVar(&o.asJSON, "json", false, "print JSON, one object per violation and one at the end")
	flags.BoolVar(&o.verbose, "v", false, "list every violation")
	flags.StringVar(&o.robots, "robots", "",
		"the site's robots.txt: a `FILE`, a WARC file that contains it, or a directory of files\n"+
			"such as 2026-11-20T10:00:00Z.txt, each in force from that time on")
	flags.StringVar(&o.head, "head", "",
		"the `HEAD` that the record must have, as printed by politespider -evidence: a hash, "+
			"or LINE:HASH")
	command.ListVar(flags, &o.against, "against",
		"compare the record with this `LOG` of the site, and list the requests that are in only "+
			"one of them; may be repeated")
	flags.StringVar(&o.page, "html", "", "also write an HTML page to this `file`")
	command.ListVar(flags, &o.ignore, "ignore",
		"do not judge the robot of this `NAME`, only count its requests; may be repeated")
	flags.StringVar(&o.format, "format", "", fmt.Sprintf(
		"the format of all logs, a `NAME` of %s; if omitted, the format is detected", formatNames()))
	flags.Func("since",
		"judge only requests from this `time` on, such as 2026-11-20 or 2026-11-20T10:00:00Z; "+
			"without a zone it is UTC", timeFlag(&o.since))
	flags.Func("until", "judge only requests before this `time`", timeFlag(&o.until))
	flags.Func("obeys",
		"the groups that a robot obeys, as `ROBOT=GROUP,GROUP`: the first one that robots.txt has; "+
			"may be repeated", o.addGroups)
}

func formatNames() string { return strings.Join(audit.Formats(), ", ") }

func timeFlag(t *time.Time) func(string) error {
	return func(value string) (err error) {
		*t, err = parseTime(value)
		return err
	}
}

// addGroups parses a value of -obeys.
func (o *options) addGroups(value string) error {
	name, groups, _ := strings.Cut(value, "=")
	if name == "" || groups == "" {
		return errors.New("must have the form ExampleBot-Image=ExampleBot-Image,ExampleBot")
	}
	o.groups[name] = strings.Split(groups, ",")
	return nil
}

var headForm = regexp.MustCompile(`^([0-9]+:)?[0-9A-Fa-f]{64}$`)

// check returns an error if the command line is wrong.
func (o *options) check(args []string) error {
	if len(args) == 0 {
		return command.Usagef("specify a log or a WARC file; - is standard input")
	}
	if command.StdinTwice(slices.Concat(args, o.against, []string{o.robots})...) {
		return command.Usagef("only one of -robots, -against and the logs can be standard input")
	}
	if o.head != "" && !headForm.MatchString(o.head) {
		return command.Usagef("-head %s: must be a hash of 64 hexadecimal digits, or LINE:HASH", o.head)
	}
	if o.format != "" && !slices.Contains(audit.Formats(), o.format) {
		return command.Usagef("-format %s: must be one of %s", o.format, formatNames())
	}
	return nil
}

const exampleLine = `192.0.2.1 - - [20/Nov/2026:10:00:00 +0000] ` +
	`"GET /a.html HTTP/1.1" 200 512 "-" "ExampleBot/1.0"`

// A run is one audit, from its inputs to its output.
type run struct {
	*options
	env      command.Env
	auditor  *audit.Auditor
	history  *history
	reporter *reporter
	breaches *breaches
	timeline *timeline
}

func newRun(o *options, e command.Env) *run {
	r := &run{
		options:  o,
		env:      e,
		reporter: newReporter(e),
		breaches: newBreaches(),
		timeline: newTimeline(),
	}
	r.auditor = &audit.Auditor{
		Groups:      o.groups,
		Head:        o.head,
		Format:      o.format,
		Ignore:      o.ignore,
		Since:       o.since,
		Until:       o.until,
		OnBroken:    r.reporter.addBroken,
		OnViolation: r.addViolation,
	}
	if o.page != "" {
		r.auditor.OnRequest = func(robot string, at time.Time) {
			r.timeline.add(robot, at, activity{requests: 1})
		}
	}
	r.history = &history{auditor: r.auditor}
	return r
}

// addViolation counts a violation, and prints it if -v or -json is set.
func (r *run) addViolation(v audit.Violation) {
	r.breaches.add(v)
	r.timeline.add(v.Robot, v.Time, activity{violations: 1})
	switch {
	case r.asJSON:
		r.reporter.progress.Clear()
		cli.NewEncoder(r.env.Stdout).Encode(v)
	case r.verbose:
		r.reporter.progress.Clear()
		fmt.Fprintln(r.env.Stdout, violationLine(v))
	}
}

// run audits the logs and records in args, and prints the result.
func (r *run) run(ctx context.Context, args []string) (command.Status, error) {
	err := r.history.read(r.env, r.robots, r.reporter)
	if err == nil {
		err = r.read(ctx, args)
	}
	r.reporter.progress.Clear()
	if err != nil {
		return 0, err
	}
	result := r.auditor.Result()
	r.breaches.sort()
	r.print(result)
	if result.Requests == 0 {
		r.reportNoRequests(result)
	}
	if r.page != "" {
		err := writePage(r.page, pageSource{
			result:   result,
			history:  r.history,
			reporter: r.reporter,
			breaches: r.breaches,
			timeline: r.timeline,
		})
		if err != nil {
			return 0, err
		}
	}
	if r.history.hosts > 1 && result.Counts["unaudited"] > 0 {
		r.reporter.printf("%s contains the robots.txt of %s; "+
			"a log without host names cannot be audited with it",
			r.robots, cli.Count(r.history.hosts, "host"))
	}
	return r.status(result), nil
}

// read passes the logs and records to the Auditor.
func (r *run) read(ctx context.Context, args []string) error {
	var names, records []string
	for _, arg := range args {
		if command.IsDirectory(arg) {
			records = append(records, arg)
		} else {
			names = append(names, arg)
		}
	}
	needsRecord := r.head != "" || len(r.against) > 0
	isOneRecord := len(records) == 1 && len(names) == 0
	if needsRecord && !isOneRecord {
		return command.Usagef("-head and -against require one record; specify its directory only")
	}
	logs, closeLogs, err := openAll(r.env, names, r.reporter.addBytes)
	defer closeLogs()
	if err != nil {
		return err
	}
	against, closeAgainst, err := openAll(r.env, r.against, r.reporter.addBytes)
	defer closeAgainst()
	if err != nil {
		return err
	}
	if err := r.auditor.Read(ctx, logs...); err != nil {
		return err
	}
	r.reporter.reportMore()
	r.auditor.OnBroken = r.reporter.addFault
	for _, dir := range records {
		files := watchedDirectory{os.DirFS(dir), r.reporter.addBytes}
		if err := r.auditor.ReadRecord(ctx, dir, files, against...); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) print(result *audit.Result) {
	if r.asJSON {
		cli.NewEncoder(r.env.Stdout).Encode(newSummary(result, r.history.doubtful))
		return
	}
	notes := newNotes(result, r.reporter.faultTexts, r.history.doubtful)
	printText(r.env.Stdout, result, r.breaches, r.verbose, notes)
}

func (r *run) reportNoRequests(result *audit.Result) {
	period := ""
	hasPeriod := !r.since.IsZero() || !r.until.IsZero()
	if hasPeriod && result.Counts["lines"] > 0 {
		period = " between -since and -until"
	}
	r.reporter.printf("no request found%s; "+
		"specify an access log, a WARC file, or the directory of a record", period)
	if result.Counts["broken"] > 0 {
		r.reporter.printf("an example of a log line: %s", exampleLine)
	}
}

func (r *run) status(result *audit.Result) command.Status {
	lacksHead := r.head != "" && result.Records[0].Counts["head"] == 0
	isInconclusive := result.Violations == 0 && isPartial(result)
	switch {
	case lacksHead || isInconclusive:
		return command.CannotTell
	case len(r.history.doubtful) > 0:
		return command.Doubtful
	case result.Violations > 0:
		return command.No
	}
	return command.OK
}
