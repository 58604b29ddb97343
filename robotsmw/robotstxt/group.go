package robotstxt

import (
	"iter"
	"strings"
)

// A UserAgent is one user-agent line: who a group is for.
type UserAgent struct {
	Value string // as written: "ExampleBot", "ExampleBot/1.0", "*"
	Line  int    // counted from 1
}

// everyone is the value of a user-agent line that speaks to every robot without a group of its own.
const everyone = "*"

// names reports whether a user-agent line names a product token.
//
// RFC 9309 §2.2.1 compares product tokens without regard to case, and a token has letters, "_" and "-" only.
// So the token of a line is what its value begins with that is made of these, and "ExampleBot/1.2" is
// "ExampleBot". But robots called MJ12bot and archive.org_bot exist: where the token that we were given has a
// digit or a dot, the line's may have them too.
func names(value, token string) bool {
	if token == everyone {
		return strings.HasPrefix(value, "*") && (len(value) == 1 || strings.IndexByte(" \t\v\f", value[1]) >= 0)
	}
	isToken := isTokenOctet
	if strings.ContainsAny(token, "0123456789.") {
		isToken = isWideTokenOctet
	}
	n := 0
	for n < len(value) && isToken(value[n]) {
		n++
	}
	return n > 0 && strings.EqualFold(value[:n], token)
}

func isTokenOctet(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '-' || c == '_'
}

func isWideTokenOctet(c byte) bool { return isTokenOctet(c) || '0' <= c && c <= '9' || c == '.' }

// groups yields the file's groups as stretches of its records.
//
// A group begins with a user-agent line and ends before the next one that comes after a rule, so that user-agent
// lines which follow each other share it (RFC 9309 §2.1). Other fields, wherever they stand, neither begin nor
// end a group (§2.2.4). What stands before the first user-agent line is in no group.
func (f *File) groups() iter.Seq[[]record] {
	return func(yield func([]record) bool) {
		start, ruled := -1, false
		for i, r := range f.records {
			switch r.field {
			case fieldUserAgent:
				if ruled && !yield(f.records[start:i]) {
					return
				}
				if ruled || start < 0 {
					start, ruled = i, false
				}
			case fieldAllow, fieldDisallow:
				ruled = start >= 0
			}
		}
		if start >= 0 {
			yield(f.records[start:])
		}
	}
}

// isFor reports whether a group names a token.
func isFor(group []record, token string) bool {
	for _, r := range group {
		if r.field == fieldUserAgent && names(r.value, token) {
			return true
		}
	}
	return false
}
