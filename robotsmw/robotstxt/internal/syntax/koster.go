package syntax

import "strings"

// cutBlock does the same as cutGroup, by the draft of 1996, in which blank
// lines separate the groups.
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

// isKosterName reports whether the value of a user-agent line names a token. In
// the draft of 1996, the whole value is the name.
func (t Token) isKosterName(value string) bool {
	return t.name != "" && strings.EqualFold(value, t.name)
}
