package syntax

// A GroupReader iterates over a file's groups. Each group is a slice of
// consecutive records.
type GroupReader struct {
	Group   []Record // the current group
	rest    []Record
	dialect Dialect
}

// Groups returns a GroupReader that is positioned before the first group.
func (f *File) Groups() GroupReader { return GroupReader{rest: f.Records, dialect: f.Dialect} }

// Next advances to the next group and reports whether there is one.
//
// A group begins with a user-agent line, and extends to the next user-agent
// line that follows a rule (RFC 9309 §2.1). Other fields never begin or end a
// group (§2.2.4). Records before the first user-agent line are not part of any
// group.
//
// In the dialect [Koster1996], blank lines separate groups.
func (g *GroupReader) Next() bool {
	if g.dialect == Koster1996 {
		g.Group, g.rest = cutKosterRecord(g.rest)
	} else {
		g.Group, g.rest = cutGroup(g.rest)
	}
	return len(g.Group) > 0
}

// cutGroup splits records after the first group. It drops the records before
// the group.
func cutGroup(records []Record) (group, rest []Record) {
	for len(records) > 0 && records[0].Field != UserAgent {
		records = records[1:]
	}
	hasRule := false
	for i := range records {
		switch records[i].Field {
		case UserAgent:
			if hasRule {
				return records[:i], records[i:]
			}
		case Allow, Disallow:
			hasRule = true
		}
	}
	return records, nil
}

// GroupsFor appends to dst, which must be empty, the groups that apply to a
// robot. The robot's product tokens must be in order of preference and end with
// [Wildcard]. GroupsFor returns the groups that name the first of the tokens
// that any group names, and this token. It returns nil if no group names any of
// the tokens.
func (f *File) GroupsFor(dst [][]Record, tokens []Token) (groups [][]Record, named Token) {
	groups = dst
	best := len(tokens) // index of the most preferred token that a group has named so far
	reader := f.Groups()
	for reader.Next() {
		first := f.firstNamed(reader.Group, tokens[:min(best+1, len(tokens))])
		if first < 0 {
			continue
		}
		if first == best && f.Dialect == Koster1996 {
			continue // groups are not combined
		}
		if first < best {
			best = first
			groups = groups[:0]
		}
		groups = append(groups, reader.Group)
	}
	if best == len(tokens) {
		return nil, Token{}
	}
	return groups, tokens[best]
}

// firstNamed returns the index of the first of the tokens that a group names,
// or -1.
func (f *File) firstNamed(group []Record, tokens []Token) int {
	first := len(tokens)
	for i := range group {
		if group[i].Field != UserAgent {
			continue
		}
		for j := range tokens[:first] {
			if f.NamesToken(&group[i], tokens[j]) {
				first = j
				break
			}
		}
	}
	if first == len(tokens) {
		return -1
	}
	return first
}

// NamesToken reports whether a user-agent line names a token.
func (f *File) NamesToken(r *Record, t Token) bool {
	switch f.Dialect {
	case Koster1996:
		return t.isKosterName(f.Value(r))
	case Google:
		t.isWide = false // Google's parser ends a token at a digit or dot
	}
	return t.IsIn(f.Value(r))
}
