// Package structured parses Structured Fields (RFC 9651), such as RateLimit,
// Content-Usage and Signature-Input.
//
// Parsing is strict: as §4.2 requires, a field that contains an error is
// rejected as a whole, and so is a field that exceeds the limit of the caller.
// The time to parse a field is linear in its length.
package structured

import "strings"

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
