package syntax

// A GroupReader goes through a file's groups, which are stretches of its
// records.
type GroupReader struct {
	file  *File
	rest  []Record
	Group []Record // the current group
}

// Groups returns a GroupReader before the first group.
func (f *File) Groups() GroupReader { return GroupReader{file: f, rest: f.Records} }

// Next goes to the next group and reports whether there is one.
func (g *GroupReader) Next() bool {
	cut := cutGroup
	if g.file.Dialect == Koster1996 {
		cut = cutBlock
	}
	g.Group, g.rest = cut(g.rest)
	return len(g.Group) > 0
}

// NextFor goes to the next group that names a token.
func (g *GroupReader) NextFor(t Token) bool {
	for g.Next() {
		for i := range g.Group {
			if g.Group[i].Field == UserAgent && g.file.IsFor(&g.Group[i], t) {
				if g.file.Dialect == Koster1996 {
					g.rest = nil // the first one counts
				}
				return true
			}
		}
	}
	return false
}

// GroupsFor appends the groups that are for a robot: those that name the first
// of its tokens that some group names; else those for [Everyone], which is the
// last of the tokens; else none. It returns that token, too.
func (f *File) GroupsFor(groups [][]Record, tokens []Token) (_ [][]Record, named Token) {
	best := len(tokens) // the first token by now that some group names
	for all := f.Groups(); all.Next(); {
		first := f.firstNamed(all.Group, tokens[:min(best+1, len(tokens))])
		switch {
		case first < 0 || first == best && f.Dialect == Koster1996: // in which the first group counts
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

// firstNamed returns the first of some tokens that a group names, or -1.
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

// IsFor reports whether a user-agent line names a token.
func (f *File) IsFor(r *Record, t Token) bool { return t.isInAs(f.Value(r), f.Dialect) }

// A DelayReader tells whose the Crawl-delays of a group are. It is shown the
// group's records in order.
//
// A Crawl-delay belongs to the user-agent lines since the previous Crawl-delay
// of its group; if there are none, to that one's. So of user-agent lines with
// delays between them, which share their rules, each keeps its own delay.
type DelayReader struct {
	file  *File
	token Token
	named bool // by the lines since the previous Crawl-delay, or by that one's
	read  bool // a Crawl-delay, since these lines
}

// DelaysFor returns a DelayReader for the robot that goes by a token, before
// the first record of a group.
func (f *File) DelaysFor(t Token) DelayReader { return DelayReader{file: f, token: t} }

// IsFor goes to the next record, and reports whether it is a Crawl-delay, of
// whatever value, that belongs to the robot.
func (d *DelayReader) IsFor(r *Record) bool {
	switch r.Field {
	case UserAgent:
		if d.read {
			d.named, d.read = false, false
		}
		d.named = d.named || d.file.IsFor(r, d.token)
	case CrawlDelay:
		d.read = true
		return d.named
	}
	return false
}

// cutGroup returns the first group of some records, and what follows it.
//
// A group begins with a user-agent line and ends before the next one that comes
// after a rule, so that user-agent lines which follow each other share it (RFC
// 9309 §2.1). Other fields, wherever they stand, neither begin nor end a group
// (§2.2.4). What stands before the first user-agent line is in no group.
func cutGroup(records []Record) (group, rest []Record) {
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
	return records[:end], records[end:]
}

// cutBlock is cutGroup for records in the sense of the draft of 1996: stretches
// without a blank line.
func cutBlock(records []Record) (block, rest []Record) {
	for len(records) > 0 && records[0].Field == Blank {
		records = records[1:]
	}
	end := 0
	for end < len(records) && records[end].Field != Blank {
		end++
	}
	return records[:end], records[end:]
}
