package robotstxt

import (
	"iter"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// A Group is one group of a file: user-agent lines and the lines that follow
// them. Several groups may apply to the same robot; [File.Rules] returns their
// rules combined.
//
// Crawl-delay, Request-rate, Visit-time, Content-Signal and Content-Usage lines
// in Fields may apply to only some of the UserAgents, as described at
// [File.GroupsFor].
type Group struct {
	UserAgents []UserAgent
	Rules      []Rule
	Fields     []Field // all other lines, including Crawl-delay and Sitemap
}

// A UserAgent is a user-agent line, which names a robot that a group applies
// to.
type UserAgent struct {
	Value string // unchanged, such as "ExampleBot", "ExampleBot/1.0" or "*"
	Line  int    // line number, counted from 1
}

// A Rule is an Allow or Disallow line.
type Rule struct {
	Kind    Kind
	Pattern string // unchanged; the rule is ignored if Pattern is empty
	Line    int    // line number, counted from 1
}

// A Kind is the kind of a rule: Allow or Disallow.
type Kind uint8

const (
	NoRule Kind = iota // there is no rule
	Allow
	Disallow
)

// String returns "Allow", "Disallow" or "no rule".
func (k Kind) String() string {
	switch k {
	case Allow:
		return "Allow"
	case Disallow:
		return "Disallow"
	}
	return "no rule"
}

// Groups yields the groups of the file in order. In the dialect [Koster1996],
// blank lines separate groups, and a group may lack user-agent lines.
func (f *File) Groups() iter.Seq[Group] {
	return func(yield func(Group) bool) {
		groups := f.syntax.Groups()
		for groups.Next() {
			if !yield(f.group(groups.Group, nil)) {
				return
			}
		}
	}
}

// GroupsFor yields the groups that apply to a robot with the given product
// tokens, which are the groups whose rules [File.Rules] returns. Programs can
// use it to interpret nonstandard fields, such as Request-rate, Clean-param or
// Noindex.
//
// Robots can share the rules of a group and still have different preferences.
// For example, in
//
//	User-agent: ExampleBot
//	Content-Usage: train-ai=n
//
//	User-agent: OtherBot
//	Content-Usage: /blog/ train-ai=y
//	Disallow: /cart
//
// the rule applies to both robots, but each robot has a preference of its own.
// A Crawl-delay, Request-rate, Visit-time, Content-Signal or Content-Usage line
// applies to the user-agent lines after the previous line of its kind in the
// group. If there is no user-agent line between the two, it applies to the same
// robots as the previous line. Lines that apply only to other robots are not in
// Fields.
//
// In addition, Content-Usage is a rule according to draft-ietf-aipref-attach. A
// user-agent line after a Content-Usage line therefore separates Request-rate,
// Visit-time and Content-Signal lines as well. In
//
//	User-agent: ExampleBot
//	Content-Usage: train-ai=n
//	User-agent: OtherBot
//	Request-rate: 1/10
//	Disallow: /cart
//
// the Request-rate line applies only to OtherBot.
func (f *File) GroupsFor(tokens ...string) iter.Seq[Group] {
	return func(yield func(Group) bool) {
		groups, token := f.groupsFor(nil, tokens)
		for _, g := range groups {
			if !yield(f.group(g, &token)) {
				return
			}
		}
	}
}

// groupsFor appends to dst the groups that apply to a robot with the given
// product tokens. It also returns the token that these groups name.
func (f *File) groupsFor(dst [][]syntax.Record, names []string) ([][]syntax.Record, syntax.Token) {
	var stack [4]syntax.Token // avoids an allocation for most robots
	tokens := stack[:0]
	for _, name := range names {
		tokens = append(tokens, syntax.NewToken(name))
	}
	tokens = append(tokens, syntax.Wildcard)
	return f.syntax.GroupsFor(dst, tokens)
}

// group converts the records of a group to a Group. If token is not nil, fields
// that apply only to other robots are omitted.
func (f *File) group(records []syntax.Record, token *syntax.Token) Group {
	var scopes syntax.ScopeReader
	if token != nil {
		scopes = f.syntax.ScopesFor(*token)
	}
	var g Group
	for i := range records {
		r := &records[i]
		applies := token == nil || scopes.AppliesTo(r)
		switch r.Field {
		case syntax.UserAgent:
			g.UserAgents = append(g.UserAgents, UserAgent{f.syntax.Value(r), int(r.Line)})
		case syntax.Allow:
			g.Rules = append(g.Rules, Rule{Allow, f.syntax.Value(r), int(r.Line)})
		case syntax.Disallow:
			g.Rules = append(g.Rules, Rule{Disallow, f.syntax.Value(r), int(r.Line)})
		default:
			if field, ok := f.field(r); ok && applies {
				g.Fields = append(g.Fields, field)
			}
		}
	}
	return g
}
