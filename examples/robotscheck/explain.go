package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

var explainCommand = command{
	name:  "explain",
	usage: "-agent TOKEN [flags] FILE|URL [PATH...]",
	short: "may a robot fetch a path, and which line says so",
	help: `
Explain tells whether a robot may fetch each PATH, by which rule of the robots.txt, and what would decide without that
rule (the runner-up). Google's parser and the draft of 1996 read some files otherwise: what they say is told where it
differs. PATH is "/path?query" or a whole URL. With a URL that has a path, and no PATH, that URL is explained.

  robotscheck explain -agent ExampleBot robots.txt /private/ /private/press.html
  robotscheck explain -agent Googlebot https://example.com/private/

Exit status: 0 all are allowed, 1 one is disallowed, 2 it cannot be told.

With -json, one object for each PATH and agent:
  source    the file, or the URL of the robots.txt
  agent     the robot's product token
  url       the PATH
` + verdictHelp + `
  group     the user-agent lines that select the group: [{"value", "line"}]
  runner_up what would decide without that rule: allowed, reason, rule, line
  dialects  what "google" (its parser) and "koster1996" (the draft of 1996) say: allowed, reason, rule, line
` + fetchedHelp,
	setup: func(flags *flag.FlagSet) func(context.Context, env, []string) (int, error) {
		agents := agentsFlag(flags, "product `token` of the robot, such as ExampleBot, or \"*\"; required, may be repeated")
		asJSON := flags.Bool("json", false, "print JSON, an object a line")
		around := flags.Int("context", 2, "`lines` of the file to show before and after the rule")
		userAgent := userAgentFlag(flags)
		return func(ctx context.Context, e env, args []string) (int, error) {
			switch {
			case len(*agents) == 0:
				return 0, usagef("whom is it about? Add -agent with the robot's product token, such as -agent ExampleBot")
			case len(args) == 0:
				return 0, usagef("name a robots.txt: a file, \"-\", or a URL")
			case *around < 0:
				return 0, usagef("-context %d: write 0 or more lines", *around)
			}
			targets, err := targetsOf(args)
			if err != nil {
				return 0, err
			}
			s, err := readSource(ctx, e, args[0], *userAgent)
			if err != nil {
				return 0, err
			}
			for _, target := range targets {
				if err := s.governs(target); err != nil {
					return 0, err
				}
			}
			status := exitOK
			var all []explanation
			for _, target := range targets {
				for _, agent := range *agents {
					x := explain(s, agent, target)
					status = max(status, x.status())
					all = append(all, x)
				}
			}
			if *asJSON {
				for enc := newJSON(e.stdout); len(all) > 0; all = all[1:] {
					enc.Encode(all[0])
				}
				return status, nil
			}
			printSource(e.stdout, s)
			for i, x := range all {
				if i > 0 {
					fmt.Fprintln(e.stdout)
				}
				x.print(e.stdout, s, *around)
			}
			return status, nil
		}
	},
}

// targetsOf returns the paths that are asked about. The first argument is the robots.txt.
func targetsOf(args []string) ([]string, error) {
	targets := args[1:]
	if len(targets) == 0 {
		if u, err := parseURL(args[0]); err == nil && strings.Trim(u.Path, "/") != "" && u.Path != "/robots.txt" {
			return args, nil
		}
		return nil, usagef("name a PATH, such as /private/a.html")
	}
	for _, target := range targets {
		if !strings.HasPrefix(target, "/") && !isURL(target) {
			return nil, usagef("%q: write a path that begins with \"/\", or a whole URL", target)
		}
	}
	return targets, nil
}

// An explanation is all that is to be said about one target.
type explanation struct {
	Source string `json:"source"`
	Agent  string `json:"agent"`
	URL    string `json:"url"`
	verdict
	Group    []userAgentLine    `json:"group,omitempty"`
	RunnerUp *verdict           `json:"runner_up,omitempty"` // nil where no rule decides
	Dialects map[string]verdict `json:"dialects,omitempty"`
	Fetched  *fetched           `json:"fetched,omitempty"`
}

type userAgentLine struct {
	Value string `json:"value"`
	Line  int    `json:"line"`
}

// otherDialects are those that are compared with ours.
var otherDialects = []struct {
	dialect       robotstxt.Dialect
	member, title string // in JSON and for people
}{
	{robotstxt.Google, "google", "Google"},
	{robotstxt.Koster1996, "koster1996", "Koster1996"},
}

func explain(s *source, agent, target string) explanation {
	x := explanation{Source: s.name, Agent: agent, URL: target, verdict: s.judge(robotstxt.RFC9309, agent, target), Fetched: s.fetched()}
	if _, none := s.absent(); none {
		return x
	}
	for _, a := range s.file(robotstxt.RFC9309).Rules(agent).Match(target).Group {
		x.Group = append(x.Group, userAgentLine(a))
	}
	if x.Reason == robotsmw.ByRule {
		without := robotstxt.Parse(withoutRule(s.text, x.Line))
		v := verdictOf(without.Rules(agent).Match(target))
		x.RunnerUp = &v
	}
	x.Dialects = make(map[string]verdict)
	for _, d := range otherDialects {
		x.Dialects[d.member] = s.judge(d.dialect, agent, target)
	}
	return x
}

func (x explanation) status() int {
	switch {
	case x.Reason == robotsmw.Unreachable:
		return exitError
	case x.Allowed:
		return exitOK
	}
	return exitNo
}

// printSource says where a robots.txt that was fetched comes from.
func printSource(w io.Writer, s *source) {
	d := s.decision
	if d == nil {
		return
	}
	fmt.Fprintf(w, "%s", s.name)
	if d.Status != 0 {
		fmt.Fprintf(w, ": status %d", d.Status)
	}
	if s.from != s.name && s.from != "" {
		fmt.Fprintf(w, ", from %s", printable(s.from))
	}
	switch reason, none := s.absent(); {
	case !none:
		fmt.Fprintf(w, ", %s, sha256 %.12s", count(len(s.text), "octet"), d.SHA256())
	case reason == robotsmw.Unreachable:
		fmt.Fprintf(w, ": unreachable: %s; to be tried again at %s", printable(d.Cause), d.NextTry.UTC().Format("15:04:05 MST"))
	}
	fmt.Fprint(w, "\n\n")
}

func (x explanation) print(w io.Writer, s *source, around int) {
	by := ":"
	if x.Reason == robotsmw.ByRule {
		by = " by"
	}
	fmt.Fprintf(w, "%s: %s for %s%s %s\n", printable(x.URL), x.word(), x.Agent, by, x.why())
	if _, none := s.absent(); none {
		return
	}
	if x.Reason == robotsmw.ByRule {
		fmt.Fprintln(w)
		for _, l := range linesAround(s.text, x.Line, x.groupLine(), around) {
			mark := " "
			if l.number == x.Line {
				mark = ">"
			}
			if l.number == 0 {
				fmt.Fprintln(w, "         ...")
				continue
			}
			fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("  %s %5d  %s", mark, l.number, printable(l.text)), " "))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "  group       %s\n", x.groupText())
	if r := x.RunnerUp; r != nil {
		if r.Reason == robotsmw.ByRule {
			fmt.Fprintf(w, "  runner-up   %s (%s)\n", r.why(), r.word())
		} else {
			fmt.Fprintf(w, "  runner-up   none: %s without that line, as %s\n", r.word(), r.why())
		}
	}
	same := true
	for _, d := range otherDialects {
		v := x.Dialects[d.member]
		switch {
		case v.Allowed == x.Allowed && v.Line == x.Line:
			continue
		case v.Allowed == x.Allowed:
			fmt.Fprintf(w, "  %-10s  %s too, but %s\n", d.title, v.word(), v.why())
		default:
			fmt.Fprintf(w, "  %-10s  %s, %s\n", d.title, strings.ToUpper(v.word()), v.why())
		}
		same = false
	}
	if same {
		fmt.Fprintln(w, "  others      Google's parser and the draft of 1996 say the same")
	}
}

// groupLine is the last user-agent line before the deciding rule, 0 for none.
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
		lines = append(lines, fmt.Sprintf("line %d: User-agent: %s", a.Line, printable(a.Value)))
	}
	const most = 5
	if more := len(lines) - most; more > 1 {
		lines = append(lines[:most], fmt.Sprintf("and %d more", more))
	}
	text := strings.Join(lines, "; ")
	if agentOf(x.Group[0].Value) == "*" && x.Agent != "*" {
		text += fmt.Sprintf(" (no line names %s)", x.Agent)
	}
	return text
}

// A numberedLine is a line of a file, without its end. Number 0 is where lines were left out.
type numberedLine struct {
	number int
	text   string
}

// linesAround returns the lines before and after one, and the line that its group begins with.
func linesAround(text []byte, line, group, around int) (shown []numberedLine) {
	last := 0
	for number, span := range lineSpans(text) {
		if number != group && (number < line-around || number > line+around) {
			continue
		}
		if last != 0 && number > last+1 {
			shown = append(shown, numberedLine{})
		}
		shown = append(shown, numberedLine{number, string(text[span[0]:span[1]])})
		last = number
	}
	if n := len(shown); n > 0 && shown[n-1].text == "" { // what follows the last line end is no line to show
		shown = shown[:n-1]
	}
	return shown
}

// withoutRule returns the file with a rule made ineffective: it has no pattern any more, but still ends the group's
// user-agent lines. The file's length stays the same, so that no other line begins or ceases to count.
func withoutRule(text []byte, line int) []byte {
	text = slices.Clone(text)
	for number, span := range lineSpans(text) {
		if number == line {
			rule := text[span[0]:span[1]]
			for i := copy(rule, "Allow:"); i < len(rule); i++ {
				rule[i] = ' '
			}
			break
		}
	}
	return text
}

// lineSpans yields each line's number and where it begins and ends, as robots.txt has lines: they end with CR, LF or
// both (RFC 9309 §2.2), and a byte order mark before the first is no part of it.
func lineSpans(text []byte) func(yield func(int, [2]int) bool) {
	return func(yield func(int, [2]int) bool) {
		start := 0
		if strings.HasPrefix(string(text[:min(len(text), 3)]), "\xef\xbb\xbf") {
			start = 3
		}
		for number := 1; ; number++ {
			end := start
			for end < len(text) && text[end] != '\n' && text[end] != '\r' {
				end++
			}
			if !yield(number, [2]int{start, end}) || end == len(text) {
				return
			}
			if text[end] == '\r' && end+1 < len(text) && text[end+1] == '\n' {
				end++
			}
			start = end + 1
		}
	}
}
