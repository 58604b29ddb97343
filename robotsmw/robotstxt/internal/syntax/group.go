package syntax

// A GroupReader iterates over a file's groups. Each group is a slice of
// consecutive records.
type GroupReader struct {
	Group   []Record // the current group
	rest    []Record
	dialect Dialect
}

// Groups returns a GroupReader. The first call of its method Next moves to the
// first group.
func (f *File) Groups() GroupReader { return GroupReader{rest: f.Records, dialect: f.Dialect} }

// Next advances to the next group and reports whether there is one.
//
// A group begins with a user-agent line. It ends before the next user-agent
// line that comes after a rule. So user-agent lines that follow each other
// share a group (RFC 9309 §2.1). Other fields never begin or end a group
// (§2.2.4). Records before the first user-agent line are in no group.
//
// In the dialect [Koster1996], blank lines separate the groups.
func (g *GroupReader) Next() bool {
	if g.dialect == Koster1996 {
		g.Group, g.rest = cutBlock(g.rest)
		return len(g.Group) > 0
	}
	records := g.rest
	for len(records) > 0 && records[0].Field != UserAgent {
		records = records[1:]
	}
	ruled, end := false, 0
	for end < len(records) {
		field := records[end].Field
		if ruled && field == UserAgent {
			break
		}
		ruled = ruled || field == Allow || field == Disallow
		end++
	}
	g.Group, g.rest = records[:end], records[end:]
	return end > 0
}

// GroupsFor returns the groups for a robot. It chooses the first of the robot's
// tokens that some group names, and returns this token and the groups that name
// it. The final token must be [Everyone]. If no group names any of the tokens,
// GroupsFor returns nil. groups must be empty: GroupsFor appends the
// result to it.
func (f *File) GroupsFor(groups [][]Record, tokens []Token) (_ [][]Record, named Token) {
	best := len(tokens) // index of the first token that some group has named so far
	for all := f.Groups(); all.Next(); {
		first := f.firstNamed(all.Group, tokens[:min(best+1, len(tokens))])
		switch {
		case first < 0, first == best && f.Dialect == Koster1996: // Koster1996: only the first group counts
			continue
		case first < best:
			best, groups = first, groups[:0]
		}
		groups = append(groups, all.Group)
	}
	if best == len(tokens) {
		return nil, named
	}
	return groups, tokens[best]
}

func (f *File) firstNamed(group []Record, tokens []Token) int {
	first := len(tokens)
	for i := range group {
		if group[i].Field != UserAgent {
			continue
		}
		for j := range tokens[:first] {
			if f.IsFor(&group[i], tokens[j]) {
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

// IsFor reports whether a user-agent line names a token. Google allows no
// digits and dots in tokens.
func (f *File) IsFor(r *Record, t Token) bool {
	if f.Dialect == Koster1996 {
		return t.isKosterName(f.Value(r))
	}
	t.wide = t.wide && f.Dialect != Google
	return t.IsIn(f.Value(r))
}
