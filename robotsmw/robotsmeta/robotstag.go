package robotsmeta

import "strings"

// parseRobotsTag parses the lines of Robots-Tag, which is a List of Structured
// Fields (RFC 9651 §3.1): product tokens whose parameters are directives.
//
// According to RFC 9651, an error in one member invalidates the whole field.
// parseRobotsTag ignores only the invalid member, because the other members
// contain restrictions that their author intended.
func (p *parser) parseRobotsTag(lines, productTokens []string) {
	left := maxLines
	p.source = RobotsTag
	for i, line := range lines {
		p.line = i + 1
		line = p.truncate(line, maxLine)
		line = p.truncate(line, left)
		left -= len(line)
		p.text = line
		for line != "" {
			var member string
			member, line = cutUnquoted(line, ',')
			p.parseMember(member, productTokens)
		}
	}
}

// parseMember parses "token;directive;directive=value".
func (p *parser) parseMember(s string, productTokens []string) {
	name, params := cutUnquoted(s, ';')
	name = trim(unquote(trim(name)))
	if !isRobotName(name) {
		return
	}
	if directiveName, d, ok := lookup(name); ok && d.kind == flagKind && !isAllRobots(name) {
		// In "Robots-Tag: noindex", the name of a robot is probably missing.
		// The directive is for all robots, as it would be in X-Robots-Tag.
		p.scope = ""
		p.applies = true
		p.addFlag(directiveName, d, name)
	} else {
		p.setScope(name, productTokens)
	}
	for params != "" {
		var param string
		param, params = cutUnquoted(params, ';')
		p.parseParam(trim(param))
	}
}

// parseParam parses "directive" or "directive=value".
func (p *parser) parseParam(raw string) {
	if raw == "" {
		return
	}
	key, value, _ := strings.Cut(raw, "=")
	value = unquote(value)
	name, d, ok := lookup(key)
	if !ok || value == "?0" { // "?0" is the Boolean false
		p.addUnknown(key, raw)
		return
	}
	if d.kind == flagKind {
		p.addFlag(name, d, raw)
		return
	}
	if p.applies && p.set(d, value) {
		p.addRule(Rule{Name: name, Value: value, Known: true, Raw: raw})
		return
	}
	p.addUnknown(name, raw)
}

// cutUnquoted is like strings.Cut, but ignores separators in quoted strings.
func cutUnquoted(s string, sep byte) (before, after string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case !quoted && s[i] == sep:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// unquote removes the quotes of a quoted string. It returns any other s
// unchanged. Escape sequences are not decoded, because neither names nor valid
// values contain any.
func unquote(s string) string {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}
