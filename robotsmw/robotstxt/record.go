package robotstxt

import (
	"iter"
	"strings"
)

// A Group is a run of user-agent lines and what belongs to it, as the file has it: not merged with others that name
// the same robot. [File.Rules] is what a robot obeys.
type Group struct {
	UserAgents []UserAgent
	Rules      []Rule
	Fields     []Field // all other lines, Crawl-delay and Sitemap among them
}

// A Rule is an Allow or a Disallow line.
type Rule struct {
	Kind    Kind
	Pattern string // as written; "" is no rule to a robot
	Line    int    // counted from 1
}

// A Field is a line that is neither a user-agent line nor a rule.
type Field struct {
	Name  string // as written: "Crawl-delay", "content-signal"
	Value string // as written, without a comment and the white space around it
	Line  int    // counted from 1
}

// Is reports whether a field goes by a name, without regard to case.
func (f Field) Is(name string) bool { return strings.EqualFold(f.Name, name) }

// Groups yields the file's groups in order.
func (f *File) Groups() iter.Seq[Group] {
	return func(yield func(Group) bool) {
		for groups := f.groups(); groups.next(); {
			if !yield(f.published(groups.group)) {
				return
			}
		}
	}
}

// GroupsFor yields the groups whose rules [File.Rules] returns for the same tokens: those of the first token that
// some group names, else those for "*". It is where a robot finds the fields that are meant for it and that no
// standard defines, such as Request-rate, Visit-time, Clean-param, Noindex, Content-Signal or Content-Usage.
func (f *File) GroupsFor(tokens ...string) iter.Seq[Group] {
	return func(yield func(Group) bool) {
		found := false
		for i := 0; i <= len(tokens) && !found; i++ {
			t := everyone
			if i < len(tokens) {
				t = newToken(tokens[i])
			}
			for groups := f.groups(); groups.nextFor(t); {
				found = true
				if !yield(f.published(groups.group)) {
					return
				}
			}
		}
	}
}

// Fields yields the lines that are neither a user-agent line nor a rule and that go by one of some names, in order
// and wherever they stand; without a name, all of them. What they mean no standard says: Host and License are meant
// for the whole file, for example, wherever they stand.
func (f *File) Fields(names ...string) iter.Seq[Field] {
	return func(yield func(Field) bool) {
		for i := range f.records {
			field, ok := f.asField(&f.records[i])
			if ok && (len(names) == 0 || isAny(field, names)) && !yield(field) {
				return
			}
		}
	}
}

func isAny(f Field, names []string) bool {
	for _, name := range names {
		if f.Is(name) {
			return true
		}
	}
	return false
}

// asField returns a record as a Field, if it is one.
func (f *File) asField(r *record) (Field, bool) {
	switch r.field {
	case fieldUserAgent, fieldAllow, fieldDisallow, fieldBlank:
		return Field{}, false
	}
	return Field{f.name(r), f.value(r), int(r.line)}, true
}

// published returns a stretch of records as a Group.
func (f *File) published(records []record) (g Group) {
	for i := range records {
		switch r := &records[i]; r.field {
		case fieldUserAgent:
			g.UserAgents = append(g.UserAgents, UserAgent{f.value(r), int(r.line)})
		case fieldAllow:
			g.Rules = append(g.Rules, Rule{Allow, f.value(r), int(r.line)})
		case fieldDisallow:
			g.Rules = append(g.Rules, Rule{Disallow, f.value(r), int(r.line)})
		default:
			if field, ok := f.asField(r); ok {
				g.Fields = append(g.Fields, field)
			}
		}
	}
	return g
}
