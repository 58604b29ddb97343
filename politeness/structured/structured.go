// Package structured parses Structured Fields (RFC 9651), such as RateLimit,
// Content-Usage and Signature-Input.
//
// Parsing is strict: as §4.2 requires, a field that contains an error is
// rejected as a whole, and so is a field that exceeds the limit of the caller.
// The time to parse a field is linear in its length.
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

// Dictionary parses the lines of a field that is a Dictionary (RFC 9651 §3.2).
// If a key is repeated, the member keeps its first position, but has the last
// value. Without lines, the Dictionary is empty.
//
// If the field is invalid, or all lines together, with two bytes between them,
// have more than limit bytes, ok is false and there are no members.
func Dictionary(lines []string, limit int) (members []Member, ok bool) {
	members, ok = parse(lines, limit, func(p *parser) Member {
		m := Member{Key: p.key(), Value: boolTrue}
		if p.skip('=') {
			m.Value, m.List = p.value()
		}
		m.Params = p.params()
		return m
	})
	return removeDuplicates(members), ok
}

// List is like [Dictionary], for a field that is a List (RFC 9651 §3.1). Its
// members have no keys.
func List(lines []string, limit int) (members []Member, ok bool) {
	return parse(lines, limit, func(p *parser) Member {
		var m Member
		m.Value, m.List = p.value()
		m.Params = p.params()
		return m
	})
}

// parse parses members separated by commas (RFC 9651 §4.2.1, §4.2.2).
func parse(lines []string, limit int, member func(*parser) Member) (members []Member, ok bool) {
	for _, line := range lines {
		limit -= len(line)
		if limit < 0 {
			return nil, false
		}
		limit -= len(", ")
	}
	p := parser{rest: strings.Trim(strings.Join(lines, ", "), " ")}
	for p.rest != "" {
		members = append(members, member(&p))
		p.skipSpace()
		if p.rest == "" {
			break
		}
		if !p.skip(',') {
			return nil, false
		}
		p.skipSpace()
		if p.rest == "" {
			return nil, false // trailing comma
		}
	}
	if p.failed {
		return nil, false
	}
	return members, true
}

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
