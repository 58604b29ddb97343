package explain

import (
	"slices"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/lines"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/source"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/verdict"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/preference"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

type explanation struct {
	Source string `json:"source"`
	Agent  string `json:"agent"`
	URL    string `json:"url"`
	verdict.Verdict
	Group    []userAgentLine            `json:"group,omitempty"`
	RunnerUp *verdict.Verdict           `json:"runner_up,omitempty"` // the verdict without the deciding rule; nil if no rule decides
	Dialects map[string]verdict.Verdict `json:"dialects,omitempty"`
	Uses     []preference.Verdict       `json:"uses,omitempty"`  // the uses about which the file says something
	Reuse    *preference.Statement      `json:"reuse,omitempty"` // the least "use" of Content-Signal; nil if none is said
	Doubt    string                     `json:"doubt,omitempty"` // why the file is doubtful; see package doubt
	Fetched  *fetchInfo                 `json:"fetched,omitempty"`
}

type userAgentLine struct {
	Value string `json:"value"`
	Line  int    `json:"line"`
}

// The verdicts of these dialects are compared with the verdict of RFC 9309.
var otherDialects = []struct {
	dialect       robotstxt.Dialect
	member, title string // the names for JSON and for people
}{
	{robotstxt.Google, "google", "Google"},
	{robotstxt.Koster1996, "koster1996", "Koster1996"},
}

func explain(s *source.Source, agent, target string) explanation {
	x := explanation{Source: s.Name, Agent: agent, URL: target, Verdict: s.Judge(robotstxt.RFC9309, agent, target), Doubt: s.Doubt(), Fetched: fetchedOf(s)}
	if _, none := s.Absent(); none {
		return x
	}
	for _, a := range s.File(robotstxt.RFC9309).Rules(agent).Match(source.Sent(target)).Group {
		x.Group = append(x.Group, userAgentLine(a))
	}
	if x.Reason == robotsmw.ByRule {
		without := robotstxt.Parse(withoutRule(s.Text, x.Line))
		v := verdict.Judge(without.Rules(agent), source.Sent(target))
		x.RunnerUp = &v
	}
	in := preference.Input{Robots: s.File(robotstxt.RFC9309), Target: source.Sent(target)}
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
	x.Dialects = make(map[string]verdict.Verdict)
	for _, d := range otherDialects {
		x.Dialects[d.member] = s.Judge(d.dialect, agent, target)
	}
	return x
}

func (x explanation) status() command.Status {
	switch {
	case x.Reason == robotsmw.Unreachable:
		return command.CannotTell
	case x.Doubt != "":
		return command.Doubtful
	case x.Allowed:
		return command.OK
	}
	return command.No
}

// withoutRule returns a copy of the file in which the rule on the given line
// has no effect. The line becomes an Allow without a pattern. Like the rule,
// this line ends the user-agent lines of its group. The copy is as long as the
// file, so the size limit cuts both at the same place.
func withoutRule(text []byte, line int) []byte {
	text = slices.Clone(text)
	for number, span := range lines.Spans(text) {
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
