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
	Short: "may a robot fetch a path, and which line says so",
	Setup: func(flags *flag.FlagSet) command.Action {
		agents := robots.TokensFlag(flags, "product `token` of the robot, such as ExampleBot, or \"*\"; required, may be repeated")
		asJSON := flags.Bool("json", false, "print JSON, one object per line")
		around := flags.Int("context", 2, "`lines` of the file to show before and after the rule")
		urls := flags.String("urls", "", "a `file` with further PATHs, one per line; \"-\" for standard input")
		userAgent := robots.UserAgentFlag(flags)
		return func(ctx context.Context, e command.Env, args []string) (command.Status, error) {
			switch {
			case len(*agents) == 0:
				return 0, command.Usagef("-agent is required: the product token of the robot, such as -agent ExampleBot")
			case len(args) == 0:
				return 0, command.Usagef("specify a robots.txt: a file, \"-\", or a URL")
			case *around < 0:
				return 0, command.Usagef("-context %d: must be 0 or more", *around)
			case command.StdinTwice(args[0], *urls):
				return 0, command.Usagef("only one of the robots.txt and -urls can be standard input")
			}
			targets := args[1:]
			if *urls == "" {
				var err error
				if targets, err = parseTargets(args); err != nil {
					return 0, err
				}
			}
			s, err := robots.Read(ctx, e, args[0], *userAgent)
			if err != nil {
				return 0, err
			}
			for _, target := range targets {
				if err := s.CheckTarget(target); err != nil {
					return 0, err
				}
			}
			if !*asJSON {
				printSource(e.Stdout, s)
			}
			status, isFirst := command.OK, true
			explainAll := func(target string) {
				for _, agent := range *agents {
					x := explain(s, agent, target)
					status = max(status, x.Status(x.Doubt))
					if *asJSON {
						cli.NewEncoder(e.Stdout).Encode(x)
						continue
					}
					if !isFirst {
						fmt.Fprintln(e.Stdout)
					}
					isFirst = false
					x.print(e.Stdout, s, *around)
				}
			}
			for _, target := range targets {
				explainAll(target)
			}
			if *urls == "" {
				return status, nil
			}
			in, err := e.Open(*urls)
			if err != nil {
				return 0, err
			}
			defer in.Close()
			name := command.DisplayName(*urls)
			err = command.EachURL(name, in, func(number int, target string) error {
				if err := s.CheckTarget(target); err != nil {
					return fmt.Errorf("%s:%d: %v", name, number, err) // not %w, because Run would print the usage for a wrapped UsageError
				}
				explainAll(target)
				return ctx.Err()
			})
			return status, err
		}
	},
}

// parseTargets returns the paths and URLs to explain. The first argument names
// the robots.txt, and the others are the targets. If there is only one
// argument, it must be the URL of a page, such as http://example.com/. The URL
// is then the target too.
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

type explanation struct {
	Source string `json:"source"`
	Agent  string `json:"agent"`
	URL    string `json:"url"`
	robots.Verdict
	Group    []userAgentLine           `json:"group,omitempty"`
	RunnerUp *robots.Verdict           `json:"runner_up,omitempty"` // the verdict without the deciding rule; nil if no rule decides
	Dialects map[string]robots.Verdict `json:"dialects,omitempty"`  // the verdicts of other dialects, by their names
	Uses     []preference.Verdict      `json:"uses,omitempty"`      // the uses for which the file has preferences
	Reuse    *preference.Statement     `json:"reuse,omitempty"`     // the least "use" of Content-Signal; nil if there is none
	Doubt    string                    `json:"doubt,omitempty"`     // why the file is doubtful
	Fetched  *fetchInfo                `json:"fetched,omitempty"`
}

type userAgentLine struct {
	Value string `json:"value"`
	Line  int    `json:"line"`
}

// fetchInfo describes how a robots.txt was fetched, as -json prints it.
type fetchInfo struct {
	Status  int       `json:"status,omitempty"` // the status of the last answer; 0 means there was no answer
	From    string    `json:"from,omitempty"`   // the URL of the last answer, after redirects
	Time    time.Time `json:"time,omitzero"`
	Expires time.Time `json:"expires,omitzero"`
	Cause   string    `json:"cause,omitempty"` // why robots.txt is unreachable
	NextTry time.Time `json:"next_try,omitzero"`
	SHA256  string    `json:"sha256,omitempty"`
}

func explain(s *robots.Source, agent, target string) explanation {
	sent := robots.Escape(target)
	x := explanation{Source: s.Name, Agent: agent, URL: target, Verdict: s.Judge(s.File.Rules(agent), sent), Doubt: s.Doubt()}
	if d := s.Decision; d != nil {
		x.Fetched = &fetchInfo{d.Status, s.From, d.Fetched.UTC(), d.Expires.UTC(), d.Cause, d.NextTry.UTC(), d.SHA256()}
	}
	if s.Absent != "" {
		return x
	}
	for _, a := range s.File.Rules(agent).Match(sent).Group {
		x.Group = append(x.Group, userAgentLine(a))
	}
	if x.Reason == robotsmw.ByRule {
		without := robotstxt.Parse(withoutRule(s.File, x.Line))
		v := robots.Judge(without.Rules(agent), sent)
		x.RunnerUp = &v
	}
	in := preference.Input{Robots: s.File, Target: sent}
	if agent != "*" {
		in.Tokens = []string{agent}
	}
	for _, use := range []preference.Use{preference.Search, preference.TrainAI, preference.AIInput} {
		if v := in.For(use); len(v.Evidence) > 0 {
			x.Uses = append(x.Uses, v)
		}
	}
	if use, by := in.ContentUse(); use != "" {
		x.Reuse = &by
	}
	x.Dialects = make(map[string]robots.Verdict)
	for _, d := range robots.Dialects {
		x.Dialects[d.Name] = d.Judge(s.Text, agent, sent)
	}
	return x
}

// withoutRule returns a copy of the file in which the rule on the given line
// has no effect. The line becomes an Allow without a pattern. Like the rule,
// this line ends the user-agent lines of its group.
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

// printSource prints the URL and status of a fetched robots.txt. If there is a
// file, printSource also prints the file's size and hash. If robots.txt is
// unreachable, it prints why. For a local file, it prints nothing.
func printSource(w io.Writer, s *robots.Source) {
	d := s.Decision
	if d == nil {
		return
	}
	fmt.Fprintf(w, "%s", s.Name)
	if d.Status != 0 {
		fmt.Fprintf(w, ": status %d", d.Status)
	}
	if s.From != s.Name && s.From != "" {
		fmt.Fprintf(w, ", from %s", command.Printable(s.From))
	}
	switch s.Absent {
	case "":
		fmt.Fprintf(w, ", %s, sha256 %.12s", cli.Count(len(s.Text), "byte"), d.SHA256())
	case robotsmw.Unreachable:
		fmt.Fprintf(w, ": unreachable: %s; next try at %s", command.Printable(d.Cause), d.NextTry.UTC().Format("15:04:05 MST"))
	}
	fmt.Fprint(w, "\n\n")
}

func (x explanation) print(w io.Writer, s *robots.Source, around int) {
	by := ":"
	if x.Reason == robotsmw.ByRule {
		by = " by"
	}
	fmt.Fprintf(w, "%s: %s for %s%s %s\n", command.Printable(x.URL), x.Word(), x.Agent, by, x.Why())
	if s.Absent != "" {
		return
	}
	if x.Doubt != "" {
		fmt.Fprintf(w, "  doubtful    %s\n", command.Printable(x.Doubt))
	}
	if x.Reason == robotsmw.ByRule {
		fmt.Fprintln(w)
		printAround(w, s.File, x.Line, x.groupLine(), around)
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "  group       %s\n", x.groupText())
	if r := x.RunnerUp; r != nil {
		if r.Reason == robotsmw.ByRule {
			fmt.Fprintf(w, "  runner-up   %s (%s)\n", r.Why(), r.Word())
		} else {
			fmt.Fprintf(w, "  runner-up   none: without that line, the URL would be %s, because %s\n", r.Word(), r.Why())
		}
	}
	for _, v := range x.Uses {
		for _, statement := range v.Evidence {
			fmt.Fprintf(w, "  %-10s  %s\n", v.Use, command.Printable(statement.String()))
		}
	}
	if x.Reuse != nil {
		fmt.Fprintf(w, "  %-10s  %s in %s%s: %s\n", "reuse", x.Reuse.Signal, x.Reuse.Where, command.Line(x.Reuse.Line), command.Printable(x.Reuse.Raw))
	}
	x.printDialects(w)
}

// printDialects prints the verdicts of other dialects: one line if all are the
// same as RFC 9309, otherwise a line for each.
func (x explanation) printDialects(w io.Writer) {
	isSame := func(v robots.Verdict) bool { return v.Allowed == x.Allowed && v.Line == x.Line }
	differs := false
	for _, v := range x.Dialects {
		differs = differs || !isSame(v)
	}
	if !differs {
		fmt.Fprintln(w, "  others      Google's parser and the draft of 1996 agree")
		return
	}
	for _, d := range robots.Dialects {
		switch v := x.Dialects[d.Name]; {
		case isSame(v):
			fmt.Fprintf(w, "  %-10s  the same\n", d.Title)
		case v.Allowed == x.Allowed:
			fmt.Fprintf(w, "  %-10s  %s too, but %s\n", d.Title, v.Word(), v.Why())
		default:
			fmt.Fprintf(w, "  %-10s  %s, %s\n", d.Title, strings.ToUpper(v.Word()), v.Why())
		}
	}
}

// groupLine returns the number of the group's last user-agent line above the
// deciding rule, or 0 if there is none.
func (x explanation) groupLine() (line int) {
	for _, a := range x.Group {
		if a.Line < x.Line {
			line = max(line, a.Line)
		}
	}
	return line
}

func (x explanation) groupText() string {
	if len(x.Group) == 0 {
		return fmt.Sprintf("none: no user-agent line names %s or \"*\"", x.Agent)
	}
	var lines []string
	for _, a := range x.Group {
		lines = append(lines, fmt.Sprintf("line %d: User-agent: %s", a.Line, command.Printable(a.Value)))
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

// printAround prints the given line, some lines on each side of it, and the
// user-agent line of its group. around is the number of lines on each side.
func printAround(w io.Writer, file *robotstxt.File, line, group, around int) {
	last := 0
	for number, text := range file.Lines() {
		if number != group && (number < line-around || number > line+around) {
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
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("  %s %5d  %s", mark, number, command.Printable(text)), " "))
	}
}
