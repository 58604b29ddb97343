package syntax

import "strings"

// cutKosterRecord is like cutGroup for the dialect [Koster1996], in which blank
// lines separate groups. The draft of 1996 calls a group a record.
func cutKosterRecord(records []Record) (group, rest []Record) {
	for len(records) > 0 && records[0].Field == Blank {
		records = records[1:]
	}
	end := 0
	for end < len(records) && records[end].Field != Blank {
		end++
	}
	return records[:end], records[end:]
}

// isKosterName is like IsIn for the dialect [Koster1996], in which the whole
// value of a user-agent line is the name.
func (t Token) isKosterName(value string) bool {
	return t.name != "" && strings.EqualFold(value, t.name)
}
