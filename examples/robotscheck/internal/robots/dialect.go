package robots

import "github.com/goodbots/courtesy/robotsmw/robotstxt"

// A Dialect is a set of parsing rules other than those of RFC 9309.
type Dialect struct {
	Name  string // in JSON
	Title string // in text; at most ten bytes
	robotstxt.Dialect
}

// Dialects are the dialects whose verdicts are compared with those of RFC 9309.
var Dialects = [...]Dialect{
	{"google", "Google", robotstxt.Google},
	{"koster1996", "1996 draft", robotstxt.Koster1996},
}

// Judge returns the verdict of a dialect on a target, without regard to the
// other paths that servers may treat it as. text is the robots.txt.
func (d Dialect) Judge(text []byte, agent, target string) Verdict {
	return NewVerdict(d.Parse(text).Rules(agent).Match(target))
}
