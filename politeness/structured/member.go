package structured

import "strings"

// A Member is a member of a Dictionary or List, an item of an inner list, or a
// parameter.
type Member struct {
	Key string // the key of a member of a Dictionary or of a parameter; otherwise ""

	// Value is a bare item, serialized as in RFC 9651 §4.1: 10, 1.5, "a\"b",
	// token, :YQ==:, ?1, @0 or %"f%c3%bc". A String is distinguished from a
	// Token by its quotes. The value of a key without a value is ?1. Value is
	// empty if the member is an inner list.
	Value string

	List   []Member // the items of an inner list
	Params []Member // the parameters in order, without duplicates
}

// Param returns the value of the parameter with the given name. ok is false if
// there is none.
func (m Member) Param(name string) (value string, ok bool) {
	for _, p := range m.Params {
		if p.Key == name {
			return p.Value, true
		}
	}
	return "", false
}

// String serializes the member without its key, but with its parameters (RFC
// 9651 §4.1.1.1, §4.1.3).
func (m Member) String() string {
	var b strings.Builder
	m.write(&b)
	return b.String()
}

func (m Member) write(b *strings.Builder) {
	b.WriteString(m.Value)
	if m.Value == "" {
		b.WriteByte('(')
		for i, item := range m.List {
			if i > 0 {
				b.WriteByte(' ')
			}
			item.write(b)
		}
		b.WriteByte(')')
	}
	for _, p := range m.Params {
		b.WriteString(";" + p.Key)
		if p.Value != boolTrue {
			b.WriteString("=" + p.Value)
		}
	}
}

// boolTrue is the serialized Boolean true.
const boolTrue = "?1"

// removeDuplicates removes members with repeated keys. The remaining member has
// the first position and the last value.
func removeDuplicates(members []Member) []Member {
	if len(members) < 2 {
		return members
	}
	positions := make(map[string]int, len(members))
	unique := members[:0]
	for _, m := range members {
		if i, ok := positions[m.Key]; ok {
			unique[i] = m
			continue
		}
		positions[m.Key] = len(unique)
		unique = append(unique, m)
	}
	return unique
}
