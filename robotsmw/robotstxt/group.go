package robotstxt

import "strings"

// A UserAgent is one user-agent line: who a group is for.
type UserAgent struct {
	Value string // as written: "ExampleBot", "ExampleBot/1.0", "*"
	Line  int    // counted from 1
}

// A token is what a robot is called in user-agent lines.
type token struct {
	name string
	wide bool // whether it has digits or dots
}

// everyone is what stands for every robot that has no group of its own.
var everyone = token{name: "*"}

func newToken(name string) token { return token{name, strings.ContainsAny(name, "0123456789.")} }

// isIn reports whether the value of a user-agent line names the token.
//
// RFC 9309 §2.2.1 compares product tokens without regard to case, and a token has letters, "_" and "-" only.
// So the token of a line is what its value begins with that is made of these, and "ExampleBot/1.2" is
// "ExampleBot". But robots called MJ12bot and archive.org_bot exist: where the token that we were given has a
// digit or a dot, the line's may have them too. For "*", a line says just that, or goes on after white space.
func (t token) isIn(value string) bool {
	n := len(t.name)
	if len(value) < n || n == 0 {
		return false
	}
	if t == everyone {
		return value[0] == '*' && (len(value) == 1 || isSpace(value[1]))
	}
	if len(value) > n && t.has(value[n]) {
		return false
	}
	for i := range n {
		if !t.has(value[i]) {
			return false
		}
	}
	return strings.EqualFold(value[:n], t.name)
}

// has reports whether an octet may be part of the token.
func (t token) has(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '-' || c == '_' || t.wide && ('0' <= c && c <= '9' || c == '.')
}

// A groupReader goes through a file's groups, which are stretches of its records.
type groupReader struct {
	file  *File
	rest  []record
	group []record // the current group
}

func (f *File) groups() groupReader { return groupReader{file: f, rest: f.records} }

// next goes to the next group and reports whether there is one.
//
// A group begins with a user-agent line and ends before the next one that comes after a rule, so that user-agent
// lines which follow each other share it (RFC 9309 §2.1). Other fields, wherever they stand, neither begin nor
// end a group (§2.2.4). What stands before the first user-agent line is in no group.
func (g *groupReader) next() bool {
	if g.file.dialect == Koster1996 {
		return g.nextBlock()
	}
	for len(g.rest) > 0 && g.rest[0].field != fieldUserAgent {
		g.rest = g.rest[1:]
	}
	ruled, end := false, 0
	for end < len(g.rest) {
		field := g.rest[end].field
		if ruled && field == fieldUserAgent {
			break
		}
		ruled = ruled || field == fieldAllow || field == fieldDisallow
		end++
	}
	g.group, g.rest = g.rest[:end], g.rest[end:]
	return end > 0
}

// nextFor goes to the next group that names a token.
func (g *groupReader) nextFor(t token) bool {
	for g.next() {
		for i := range g.group {
			if g.group[i].field == fieldUserAgent && g.file.isIn(g.file.value(&g.group[i]), t) {
				if g.file.dialect == Koster1996 {
					g.rest = nil // the first one counts
				}
				return true
			}
		}
	}
	return false
}

// isIn reports whether the value of a user-agent line names a token.
func (f *File) isIn(value string, t token) bool {
	switch f.dialect {
	case Google:
		t.wide = false
	case Koster1996:
		return t.kosterIsIn(value)
	}
	return t.isIn(value)
}
