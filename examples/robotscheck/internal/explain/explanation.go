package explain

import (
	"time"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/preference"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

type explanation struct {
	Source string `json:"source"`
	Agent  string `json:"agent"`
	URL    string `json:"url"`
	robots.Verdict
	Group    []userAgentLine           `json:"group,omitempty"`
	RunnerUp *robots.Verdict           `json:"runner_up,omitempty"` // the verdict without the deciding rule; nil if no rule decides
	Dialects map[string]robots.Verdict `json:"dialects,omitempty"`
	Uses     []preference.Verdict      `json:"uses,omitempty"`  // the uses about which the file says something
	Reuse    *preference.Statement     `json:"reuse,omitempty"` // the least "use" of Content-Signal; nil if none is said
	Doubt    string                    `json:"doubt,omitempty"` // why the file is doubtful; see package doubt
	Fetched  *fetchInfo                `json:"fetched,omitempty"`
}

type userAgentLine struct {
	Value string `json:"value"`
	Line  int    `json:"line"`
}

// fetchInfo says how a robots.txt was fetched, as -json prints it.
type fetchInfo struct {
	Status  int       `json:"status,omitempty"` // the status of the last answer; 0 means there was no answer
	From    string    `json:"from,omitempty"`   // the URL of the last answer, after redirects
	Time    time.Time `json:"time,omitzero"`
	Expires time.Time `json:"expires,omitzero"`
	Cause   string    `json:"cause,omitempty"` // why robots.txt is unreachable
	NextTry time.Time `json:"next_try,omitzero"`
	SHA256  string    `json:"sha256,omitempty"`
}

func fetchedOf(s *robots.Source) *fetchInfo {
	if s.Decision == nil {
		return nil
	}
	d := s.Decision
	return &fetchInfo{d.Status, s.From, d.Fetched.UTC(), d.Expires.UTC(), d.Cause, d.NextTry.UTC(), d.SHA256()}
}

// The verdicts of these dialects are compared with the verdict of RFC 9309.
var otherDialects = []struct {
	dialect       robotstxt.Dialect
	member, title string // the names for JSON and for people
}{
	{robotstxt.Google, "google", "Google"},
}

func explain(s *robots.Source, agent, target string) explanation {
	x := explanation{Source: s.Name, Agent: agent, URL: target, Verdict: s.Judge(robotstxt.RFC9309, agent, target), Doubt: s.Doubt(), Fetched: fetchedOf(s)}
	if _, none := s.Absent(); none {
		return x
	}
	for _, a := range s.File(robotstxt.RFC9309).Rules(agent).Match(robots.Sent(target)).Group {
		x.Group = append(x.Group, userAgentLine(a))
	}
	if x.Reason == robotsmw.ByRule {
		without := robotstxt.Parse(withoutRule(s.File(robotstxt.RFC9309), x.Line))
		v := robots.Judge(without.Rules(agent), robots.Sent(target))
		x.RunnerUp = &v
	}
	in := preference.Input{Robots: s.File(robotstxt.RFC9309), Target: robots.Sent(target)}
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
