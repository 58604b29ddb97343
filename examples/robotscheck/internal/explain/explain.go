package explain

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/preference"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// Command is the subcommand robotscheck explain.
var Command = command.Command{
	Name:  "explain",
	Usage: "-agent TOKEN [flags] FILE|URL [PATH...]",
	Short: "may a robot fetch a path, and which line decides",
	Setup: func(flags *flag.FlagSet) command.Action {
		o := declare(flags)
		return func(ctx context.Context, e command.Env, args []string) (command.Status, error) {
			if err := o.check(args); err != nil {
				return 0, err
			}
			targets := args[1:]
			if *o.urls == "" {
				var err error
				if targets, err = parseTargets(args); err != nil {
					return 0, err
				}
			}
			return o.run(ctx, e, args[0], targets)
		}
	},
}

// options are the values of the flags.
type options struct {
	agents    *[]string
	asJSON    *bool
	context   *int // lines around the rule
	urls      *string
	userAgent *string
}

func declare(flags *flag.FlagSet) options {
	return options{
		agents: robots.TokensFlag(flags,
			"product `token` of the robot, such as ExampleBot, or \"*\"; required, may be repeated"),
		asJSON:  flags.Bool("json", false, "print JSON, one object per line"),
		context: flags.Int("context", 2, "`lines` of the file to show before and after the rule"),
		urls: flags.String("urls", "",
			"a `file` with further PATHs, one per line; \"-\" for standard input"),
		userAgent: robots.UserAgentFlag(flags),
	}
}

// check returns an error if the command line is wrong.
func (o options) check(args []string) error {
	switch {
	case len(*o.agents) == 0:
		return command.Usagef("-agent is required: the product token of the robot, " +
			"such as -agent ExampleBot")
	case len(args) == 0:
		return command.Usagef("specify a robots.txt: a file, \"-\", or a URL")
	case *o.context < 0:
		return command.Usagef("-context %d: must be 0 or more", *o.context)
	case command.StdinTwice(args[0], *o.urls):
		return command.Usagef("only one of the robots.txt and -urls can be standard input")
	}
	return nil
}

// run explains the targets, and then those of -urls.
func (o options) run(
	ctx context.Context, e command.Env, name string, targets []string,
) (command.Status, error) {
	source, err := robots.Read(ctx, e, name, *o.userAgent)
	if err != nil {
		return 0, err
	}
	for _, target := range targets {
		if err := source.CheckTarget(target); err != nil {
			return 0, err
		}
	}
	if !*o.asJSON {
		printSource(e.Stdout, source)
	}
	p := printer{options: o, env: e, source: source}
	for _, target := range targets {
		p.explain(target)
	}
	if *o.urls != "" {
		if err := p.explainList(ctx, *o.urls); err != nil {
			return 0, err
		}
	}
	return p.status, nil
}

// A printer prints the explanations of targets.
type printer struct {
	options
	env    command.Env
	source *robots.Source

	n      int            // number of explanations so far
	status command.Status // the greatest of theirs
}

// explainList explains the targets in a file.
func (p *printer) explainList(ctx context.Context, file string) error {
	in, err := p.env.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	name := command.DisplayName(file)
	return command.EachURL(name, in, func(number int, target string) error {
		if err := p.source.CheckTarget(target); err != nil {
			// Do not wrap a UsageError, because the command line is right.
			return fmt.Errorf("%s:%d: %v", name, number, err)
		}
		p.explain(target)
		return ctx.Err()
	})
}

// explain explains a target for each agent.
func (p *printer) explain(target string) {
	for _, agent := range *p.agents {
		x := explain(p.source, agent, target)
		p.status = max(p.status, x.Status(x.Doubt))
		if *p.asJSON {
			cli.NewEncoder(p.env.Stdout).Encode(x)
			continue
		}
		if p.n > 0 {
			fmt.Fprintln(p.env.Stdout)
		}
		p.n++
		x.print(p.env.Stdout, p.source, *p.context)
	}
}

// parseTargets returns the paths and URLs to explain, which are the arguments
// after the first. If there is only one argument, it must be the URL of a page,
// such as http://example.com/, and is the target too.
func parseTargets(args []string) ([]string, error) {
	if len(args) > 1 {
		return args[1:], nil
	}
	if err := command.CheckScheme(args[0]); err != nil {
		return nil, err
	}
	if command.IsURL(args[0]) {
		u, err := command.ParseURL(args[0])
		if err != nil {
			return nil, err
		}
		if u.Path != "" && u.Path != "/robots.txt" {
			return args, nil
		}
	}
	return nil, command.Usagef("specify a PATH, such as /private/a.html")
}

// An explanation is the answer for a target and an agent, as -json prints it.
type explanation struct {
	Source string `json:"source"`
	Agent  string `json:"agent"`
	URL    string `json:"url"`
	robots.Verdict
	Group []userAgentLine `json:"group,omitempty"`

	// RunnerUp is the verdict without the deciding rule, or nil if no rule
	// decides.
	RunnerUp *robots.Verdict `json:"runner_up,omitempty"`

	// Dialects contains the verdicts of robots.Dialects, by their names.
	Dialects map[string]robots.Verdict `json:"dialects,omitempty"`

	// Uses are those for which the file contains preferences. Reuse is the
	// strictest "use" of Content-Signal, or nil if there is none.
	Uses  []preference.Verdict  `json:"uses,omitempty"`
	Reuse *preference.Statement `json:"reuse,omitempty"`

	Doubt   string     `json:"doubt,omitempty"` // why the file is doubtful
	Fetched *fetchInfo `json:"fetched,omitempty"`
}

type userAgentLine struct {
	Value string `json:"value"`
	Line  int    `json:"line"`
}

// fetchInfo describes how a robots.txt was fetched, as -json prints it.
type fetchInfo struct {
	Status  int       `json:"status,omitempty"` // of the last response; 0 means there was none
	From    string    `json:"from,omitempty"`   // the URL of the last response, after redirects
	Time    time.Time `json:"time,omitzero"`
	Expires time.Time `json:"expires,omitzero"`
	Cause   string    `json:"cause,omitempty"` // why robots.txt is unreachable
	NextTry time.Time `json:"next_try,omitzero"`
	SHA256  string    `json:"sha256,omitempty"`
}

func explain(source *robots.Source, agent, url string) explanation {
	target := robots.Escape(url)
	rules := source.File.Rules(agent)
	x := explanation{
		Source:  source.Name,
		Agent:   agent,
		URL:     url,
		Verdict: source.Judge(rules, target),
		Doubt:   source.Doubt(),
		Fetched: newFetchInfo(source),
	}
	if source.Absent != "" {
		return x
	}
	for _, line := range rules.Match(target).Group {
		x.Group = append(x.Group, userAgentLine(line))
	}
	if x.Reason == robotsmw.ByRule {
		without := robotstxt.Parse(withoutRule(source.File, x.Line))
		v := robots.Judge(without.Rules(agent), target)
		x.RunnerUp = &v
	}
	x.addPreferences(source.File, target)
	x.Dialects = make(map[string]robots.Verdict)
	for _, dialect := range robots.Dialects {
		x.Dialects[dialect.Name] = dialect.Judge(source.Text, agent, target)
	}
	return x
}

// newFetchInfo returns nil for a local file.
func newFetchInfo(source *robots.Source) *fetchInfo {
	d := source.Decision
	if d == nil {
		return nil
	}
	return &fetchInfo{
		Status:  d.Status,
		From:    source.From,
		Time:    d.Fetched.UTC(),
		Expires: d.Expires.UTC(),
		Cause:   d.Cause,
		NextTry: d.NextTry.UTC(),
		SHA256:  d.SHA256(),
	}
}

// addPreferences adds the preferences of the file for uses of the target.
func (x *explanation) addPreferences(file *robotstxt.File, target string) {
	in := preference.Input{Robots: file, Target: target}
	if x.Agent != "*" {
		in.Tokens = []string{x.Agent}
	}
	for _, use := range []preference.Use{preference.Search, preference.TrainAI, preference.AIInput} {
		if v := in.For(use); len(v.Evidence) > 0 {
			x.Uses = append(x.Uses, v)
		}
	}
	if use, statement := in.ContentUse(); use != "" {
		x.Reuse = &statement
	}
}

// withoutRule returns a copy of the file in which the given line is an Allow
// without a pattern. Such a line allows or disallows no URL but, like the rule,
// ends the user-agent lines of its group.
func withoutRule(file *robotstxt.File, line int) []byte {
	var copied []byte
	for number, text := range file.Lines() {
		if number == line {
			text = "Allow:"
		}
		copied = append(append(copied, text...), '\n')
	}
	return copied
}

// printSource prints the URL and status of a fetched robots.txt, and then its
// size and hash or, if it is unreachable, the cause. For a local file, it
// prints nothing.
func printSource(w io.Writer, source *robots.Source) {
	d := source.Decision
	if d == nil {
		return
	}
	fmt.Fprint(w, source.Name)
	if d.Status != 0 {
		fmt.Fprintf(w, ": status %d", d.Status)
	}
	if source.From != source.Name && source.From != "" {
		fmt.Fprintf(w, ", from %s", command.Printable(source.From))
	}
	switch source.Absent {
	case "":
		fmt.Fprintf(w, ", %s, sha256 %.12s", cli.Count(len(source.Text), "byte"), d.SHA256())
	case robotsmw.Unreachable:
		nextTry := d.NextTry.UTC().Format("15:04:05 MST")
		fmt.Fprintf(w, ": unreachable: %s; next try at %s", command.Printable(d.Cause), nextTry)
	}
	fmt.Fprint(w, "\n\n")
}

// print prints the explanation, with contextLines lines of the file on each
// side of the deciding rule.
func (x explanation) print(w io.Writer, source *robots.Source, contextLines int) {
	isByRule := x.Reason == robotsmw.ByRule
	by := ":"
	if isByRule {
		by = " by"
	}
	fmt.Fprintf(w, "%s: %s for %s%s %s\n", command.Printable(x.URL), x.Word(), x.Agent, by, x.Why())
	if source.Absent != "" {
		return
	}
	if x.Doubt != "" {
		printField(w, "doubtful", command.Printable(x.Doubt))
	}
	if isByRule {
		fmt.Fprintln(w)
		printContext(w, source.File, x.Line, x.groupLine(), contextLines)
		fmt.Fprintln(w)
	}
	printField(w, "group", x.groupText())
	if x.RunnerUp != nil {
		printField(w, "runner-up", runnerUpText(*x.RunnerUp))
	}
	for _, v := range x.Uses {
		for _, statement := range v.Evidence {
			printField(w, string(v.Use), command.Printable(statement.String()))
		}
	}
	if r := x.Reuse; r != nil {
		printField(w, "reuse", fmt.Sprintf("%s in %s%s: %s",
			r.Signal, r.Where, command.Line(r.Line), command.Printable(r.Raw)))
	}
	x.printDialects(w)
}

func printField(w io.Writer, name, value string) { fmt.Fprintf(w, "  %-10s  %s\n", name, value) }

func runnerUpText(v robots.Verdict) string {
	if v.Reason == robotsmw.ByRule {
		return fmt.Sprintf("%s (%s)", v.Why(), v.Word())
	}
	return fmt.Sprintf("none: without that line, the URL would be %s, because %s", v.Word(), v.Why())
}

// printDialects prints the verdicts of other dialects: one line if all are the
// same as that of RFC 9309, or else a line for each.
func (x explanation) printDialects(w io.Writer) {
	isSame := func(v robots.Verdict) bool { return v.Allowed == x.Allowed && v.Line == x.Line }
	allSame := true
	for _, v := range x.Dialects {
		allSame = allSame && isSame(v)
	}
	if allSame {
		printField(w, "others", "Google's parser and the draft of 1996 agree")
		return
	}
	for _, dialect := range robots.Dialects {
		v := x.Dialects[dialect.Name]
		switch {
		case isSame(v):
			printField(w, dialect.Title, "the same")
		case v.Allowed == x.Allowed:
			printField(w, dialect.Title, fmt.Sprintf("%s too, but %s", v.Word(), v.Why()))
		default:
			printField(w, dialect.Title, fmt.Sprintf("%s, %s", strings.ToUpper(v.Word()), v.Why()))
		}
	}
}

// groupLine returns the number of the group's last user-agent line above the
// deciding rule, or 0 if there is none.
func (x explanation) groupLine() (number int) {
	for _, line := range x.Group {
		if line.Line < x.Line {
			number = max(number, line.Line)
		}
	}
	return number
}

// groupText lists the user-agent lines that select the group.
func (x explanation) groupText() string {
	if len(x.Group) == 0 {
		return fmt.Sprintf("none: no user-agent line names %s or \"*\"", x.Agent)
	}
	var lines []string
	for _, line := range x.Group {
		value := command.Printable(line.Value)
		lines = append(lines, fmt.Sprintf("line %d: User-agent: %s", line.Line, value))
	}
	const maxLines = 5
	if more := len(lines) - maxLines; more > 1 {
		lines = append(lines[:maxLines], fmt.Sprintf("and %d more", more))
	}
	text := strings.Join(lines, "; ")
	if robots.Name(x.Group[0].Value) == "*" && x.Agent != "*" {
		text += fmt.Sprintf(" (no line names %s)", x.Agent)
	}
	return text
}

// printContext prints the given line, contextLines lines on each side of it,
// and the user-agent line of its group.
func printContext(w io.Writer, file *robotstxt.File, line, group, contextLines int) {
	last := 0
	for number, text := range file.Lines() {
		isNear := line-contextLines <= number && number <= line+contextLines
		if !isNear && number != group {
			continue
		}
		if last != 0 && number > last+1 {
			fmt.Fprintln(w, "         ...")
		}
		last = number
		mark := " "
		if number == line {
			mark = ">"
		}
		row := fmt.Sprintf("  %s %5d  %s", mark, number, command.Printable(text))
		fmt.Fprintln(w, strings.TrimRight(row, " "))
	}
}
