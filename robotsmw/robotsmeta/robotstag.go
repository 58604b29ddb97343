package robotsmeta

import "strings"

// readRobotsTag reads the lines of Robots-Tag, a List of Structured Fields (RFC
// 9651 §3.1): product tokens with directives as parameters.
//
// By RFC 9651, one error makes a receiver ignore the whole field. Here only the
// faulty member is ignored, because the author of the other members wanted
// their restrictions.
func (r *reader) readRobotsTag(lines, tokens []string) {
	left := maxLines
	r.source = RobotsTag
	for i, line := range lines {
		r.line = i + 1
		line = r.limit(r.limit(line, maxLine), left)
		left -= len(line)
		r.text = line
		for line != "" {
			var member string
			member, line = cutOutsideQuotes(line, ',')
			r.member(member, tokens)
		}
	}
}

// member reads "token;directive;directive=value".
func (r *reader) member(s string, tokens []string) {
	name, params := cutOutsideQuotes(s, ';')
	name = trim(unquote(trim(name)))
	if !isName(name) {
		return
	}
	if known, d, ok := lookup(name); ok && d.kind == bare && !everybody(name) {
		// "Robots-Tag: noindex" is read as in X-Robots-Tag. A robot might be
		// called "noindex", but more likely the name of a robot is missing.
		r.scope, r.mine = "", true
		r.say(known, d, name)
	} else {
		r.enter(name, tokens)
	}
	for params != "" {
		var param string
		param, params = cutOutsideQuotes(params, ';')
		raw := trim(param)
		key, value, _ := strings.Cut(raw, "=")
		value = unquote(value)
		known, d, ok := lookup(key)
		switch {
		case raw == "":
		case !ok, value == "?0": // "?0" means false: the directive does not apply
			r.unknown(key, raw)
		case d.kind == bare:
			r.say(known, d, raw)
		case r.mine && r.set(d, value):
			r.keep(Rule{Name: known, Value: value, Known: true, Raw: raw})
		default:
			r.unknown(known, raw)
		}
	}
}

// cutOutsideQuotes cuts s like strings.Cut, at the first sep outside of quoted
// strings.
func cutOutsideQuotes(s string, sep byte) (before, after string) {
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

// unquote returns the text of a quoted string, and any other s unchanged. It
// leaves escapes as they are, because no name and no valid value contains any.
func unquote(s string) string {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}
