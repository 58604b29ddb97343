package robots

import "github.com/goodbots/courtesy/robotsmw/robotstxt"

// A Dialect is a reading of robots.txt besides that of RFC 9309.
type Dialect struct {
	Name  string // in JSON
	Title string // in text, of at most ten bytes
	robotstxt.Dialect
}

// Dialects are shown beside the verdict by RFC 9309.
var Dialects = [...]Dialect{
	{"google", "Google", robotstxt.Google},
	{"koster1996", "1996 draft", robotstxt.Koster1996},
}

// Judge returns the verdict of a dialect about a target alone. text is the
// robots.txt.
func (d Dialect) Judge(text []byte, agent, target string) Verdict {
	return VerdictOf(d.Parse(text).Rules(agent).Match(target))
}
