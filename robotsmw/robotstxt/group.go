package robotstxt

import (
	"iter"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// A Group is one group of a file: user-agent lines and the lines that follow
// them. It is not merged with other groups that name the same robot.
// [File.Rules] returns the rules that a robot obeys.
//
// Some of the Fields may be for only some of the UserAgents: Crawl-delay,
// Request-rate, Visit-time, Content-Signal and Content-Usage.
// [File.GroupsFor] says for which ones.
type Group struct {
	UserAgents []UserAgent
	Rules      []Rule
	Fields     []Field // all other lines, including Crawl-delay and Sitemap
}

// A UserAgent is one user-agent line. It names a robot that the group is for.
type UserAgent struct {
	Value string // as written, such as "ExampleBot", "ExampleBot/1.0" or "*"
	Line  int    // counted from 1
}

// A Rule is an Allow or a Disallow line.
type Rule struct {
	Kind    Kind
	Pattern string // as written; if it is "", the rule is ignored
	Line    int    // counted from 1
}

// A Kind says whether a rule is an Allow or a Disallow.
type Kind uint8

const (
	NoRule Kind = iota
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

// Groups yields the file's groups in order. In the dialect [Koster1996], blank
// lines separate the groups, and a group may have no user-agent line.
func (f *File) Groups() iter.Seq[Group] {
	return func(yield func(Group) bool) {
		for groups := f.syntax.Groups(); groups.Next(); {
			if !yield(f.group(groups.Group, nil)) {
				return
			}
		}
	}
}

// GroupsFor yields the groups that are for a robot with the given product
// tokens. For the same tokens, [File.Rules] returns the rules of these groups.
// The Fields of the groups include those that no standard defines, such as
// Request-rate, Visit-time, Clean-param, Noindex, Content-Signal or
// Content-Usage.
//
// The Fields do not include those that are only for other robots of the group.
// A Crawl-delay, Request-rate, Visit-time, Content-Signal or Content-Usage
// belongs to the user-agent lines since the previous such line of the group, as
// [Rules.CrawlDelay] describes. If there are none, it belongs to the same
// user-agent lines as the previous such line. So in
//
//	User-agent: ExampleBot
//	Content-Usage: train-ai=n
//
//	User-agent: OtherBot
//	Content-Usage: /blog/ train-ai=y
//	Disallow: /cart
//
// the rule is for both robots, but each has its own preference. A Content-Usage
// counts as a rule here (draft-ietf-aipref-attach): no Request-rate, Visit-time
// or Content-Signal after it is for a user-agent line before it, unless no
// other user-agent line comes between them.
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

// groupsFor appends the groups for a robot with the given product tokens. It
// also returns the token that these groups name.
func (f *File) groupsFor(groups [][]syntax.Record, names []string) ([][]syntax.Record, syntax.Token) {
	var few [4]syntax.Token
	tokens := few[:0]
	for _, name := range names {
		tokens = append(tokens, syntax.NewToken(name))
	}
	return f.syntax.GroupsFor(groups, append(tokens, syntax.Everyone))
}

// group converts the records of a group to a Group. If t is not nil, the result
// lacks the fields that are only for other robots than t.
func (f *File) group(records []syntax.Record, t *syntax.Token) (g Group) {
	var owners syntax.OwnerReader
	if t != nil {
		owners = f.syntax.OwnersFor(*t)
	}
	for i := range records {
		isOurs := t == nil || owners.IsFor(&records[i])
		switch r := &records[i]; r.Field {
		case syntax.UserAgent:
			g.UserAgents = append(g.UserAgents, UserAgent{f.syntax.Value(r), int(r.Line)})
		case syntax.Allow:
			g.Rules = append(g.Rules, Rule{Allow, f.syntax.Value(r), int(r.Line)})
		case syntax.Disallow:
			g.Rules = append(g.Rules, Rule{Disallow, f.syntax.Value(r), int(r.Line)})
		default:
			if field, ok := f.field(r); ok && isOurs {
				g.Fields = append(g.Fields, field)
			}
		}
	}
	return g
}
