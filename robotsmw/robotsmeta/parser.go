package robotsmeta

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxLine  = 8 << 10  // maximum size of a header line or content attribute, in bytes
	maxLines = 64 << 10 // maximum size of all lines of a field, in bytes
)

// A parser parses texts, which are header lines or the content of a meta
// element, and adds the directives to its Directives. White space is allowed
// between tokens. The syntax is:
//
//	text   = item *( ( "," / ";" ) item )
//	item   = *word [ scope ":" ] [ rule ]
//	rule   = valued ":" value / *word
//	valued = "unavailable_after" / "max-snippet" / "max-image-preview" / "max-video-preview"
//	scope  = the name of a robot; only in headers
//
// Each word is a directive without a value.
type parser struct {
	Directives
	text        string
	source      string
	line        int
	allowScopes bool   // whether the text may contain names of robots
	scope       string // the robot that the following directives are for; "" for all robots
	applies     bool   // whether the scope includes the caller's robot
}

// truncate returns s if it has at most n bytes. Otherwise it returns a prefix
// of at most n bytes that ends before a comma, and sets the flag truncated.
func (p *parser) truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	p.flags |= truncated
	lastComma := strings.LastIndexByte(s[:n+1], ',')
	return s[:max(lastComma, 0)]
}

// toASCII replaces white space, commas, colons and semicolons outside of ASCII,
// because "noindex,&nbsp;nofollow" and "noindex，nofollow" look correct to
// authors.
func toASCII(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return punctuation.Replace(s)
		}
	}
	return s
}

var punctuation = func() *strings.Replacer {
	pairs := []string{"\uff0c", ",", "\u3001", ",", "\uff1b", ";", "\uff1a", ":"}
	const unicodeSpace = "\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007" +
		"\u2008\u2009\u200a\u200b\u2028\u2029\u202f\u205f\u3000\ufeff"
	for _, c := range unicodeSpace {
		pairs = append(pairs, string(c), " ")
	}
	return strings.NewReplacer(pairs...)
}()

// parse parses a text. The product tokens are not a field of the parser because
// they would escape to the heap.
func (p *parser) parse(text string, productTokens []string) {
	p.text = toASCII(p.truncate(text, maxLine))
	var stack [8]token // avoids an allocation
	words := stack[:0] // the words since the latest separator or colon
	pos := 0
	for {
		t := nextToken(p.text, pos)
		pos = t.end
		switch t.kind {
		case wordToken:
			words = append(words, t)
		case separatorToken:
			p.addWords(words)
			words = words[:0]
		case colonToken:
			pos = p.parseColon(words, t, productTokens)
			words = words[:0]
		case endToken:
			p.addWords(words)
			return
		}
	}
}

// addWords adds each of the words as a directive without a value, or as an
// unknown directive.
func (p *parser) addWords(words []token) {
	for _, word := range words {
		raw := p.text[word.start:word.end]
		if name, d, ok := lookup(raw); ok && d.kind == flagKind {
			p.addFlag(name, d, raw)
		} else {
			p.addUnknown(raw, raw)
		}
	}
}

// parseColon parses an item that begins with the given words and a colon. It
// returns the position at which the parser should continue.
//
// To keep the time linear in the length of the text, parseColon must not search
// much more text than it consumes.
func (p *parser) parseColon(words []token, colon token, productTokens []string) int {
	if n := len(words); n > 0 {
		last := words[n-1]
		raw := p.text[last.start:last.end]
		isAll := p.allowScopes && equalASCII(raw, "all") // "all" is a directive and a name
		if name, d, ok := lookup(raw); ok && !isAll {
			if d.kind == flagKind { // as in "noindex: true"
				p.addWords(words)
				return colon.end
			}
			p.addWords(words[:n-1])
			return p.parseValue(name, d, last.start, colon)
		}
	}
	words = p.addLeadingFlags(words)
	start := colon.start
	name := ""
	if n := len(words); n > 0 {
		start = words[0].start
		name = p.text[start:words[n-1].end]
	}
	if p.allowScopes && isRobotName(name) && !p.isTimeOfDay(colon) {
		if resemblesValued(name) {
			p.addUnknown(name, p.text[start:colon.end])
		} else {
			p.setScope(name, productTokens)
		}
		return colon.end
	}
	end := indexFrom(p.text, colon.start, ",;")
	item := trim(p.text[start:end])
	p.addUnknown(item, item)
	return end
}

// addLeadingFlags adds the directives at the beginning of words, except for the
// last word, and returns the remaining words. For example, it returns
// "otherbot" for "nofollow otherbot".
func (p *parser) addLeadingFlags(words []token) []token {
	for len(words) > 1 {
		raw := p.text[words[0].start:words[0].end]
		name, d, ok := lookup(raw)
		if !ok || d.kind != flagKind {
			break
		}
		p.addFlag(name, d, raw)
		words = words[1:]
	}
	return words
}

// isTimeOfDay reports whether a digit follows the colon, as in a time of day.
// The words before the colon are then part of an invalid date, and are not the
// name of a robot. If they were taken for a name, such as "3 Dec 2025 13", the
// directives in the rest of the line would not apply to other robots.
func (p *parser) isTimeOfDay(colon token) bool {
	return colon.end < len(p.text) && isDigit(p.text[colon.end])
}

// parseValue parses the value of the directive d, whose name begins at start.
// It returns the position after the value, or after the colon if the value is
// invalid.
func (p *parser) parseValue(name string, d directive, start int, colon token) int {
	value := colon.end
	for value < len(p.text) && isSpace(p.text[value]) {
		value++
	}
	var end int
	var ok bool
	if d.kind == unavailableAfterKind {
		end, ok = p.parseDateValue(value)
	} else {
		end, ok = p.parseWordValue(d, value)
	}
	if !ok {
		p.addUnknown(name, p.text[start:colon.end])
		return colon.end
	}
	p.addRule(Rule{Name: name, Value: p.text[value:end], Known: true, Raw: p.text[start:end]})
	return end
}

// parseWordValue parses a value that is a single word, and returns its end. ok
// is false if the value is invalid.
func (p *parser) parseWordValue(d directive, start int) (end int, ok bool) {
	end = indexFrom(p.text, start, space+",;:")
	if end == start {
		return end, false
	}
	if end < len(p.text) && p.text[end] == ':' {
		return end, false // the word is the name of a robot
	}
	return end, !p.applies || p.set(d, p.text[start:end])
}

// parseDateValue parses a date, which may contain commas and spaces, and
// returns its end. ok is false if there is no valid date at start.
func (p *parser) parseDateValue(start int) (end int, ok bool) {
	t, length := parseDatePrefix(p.text[start:])
	if length == 0 {
		return start, false
	}
	if p.applies {
		p.addUnavailableAfter(t)
	}
	return start + length, true
}

// resemblesValued reports whether a name differs from that of a directive with
// a value only in case, hyphens, underscores and white space. Such a name must
// not be used as a scope, because the following directives would not apply to
// other robots.
func resemblesValued(name string) bool {
	switch hyphens.Replace(strings.ToLower(name)) {
	case "unavailableafter", "maxsnippet", "maximagepreview", "maxvideopreview":
		return true
	}
	return false
}

var hyphens = strings.NewReplacer("-", "", "_", "", " ", "", "\t", "", "\r", "", "\n", "", "\f", "")

// setScope sets the robot that the following directives are for.
func (p *parser) setScope(name string, productTokens []string) {
	if isAllRobots(name) {
		p.scope = ""
		p.applies = true
		return
	}
	p.scope = name
	p.applies = namesRobot(name, productTokens)
}

// addFlag adds a directive without a value.
func (p *parser) addFlag(name string, d directive, raw string) {
	if p.applies {
		p.flags |= d.flags
	}
	p.addRule(Rule{Name: name, Known: true, Raw: raw})
}

func (p *parser) addUnknown(name, raw string) { p.addRule(Rule{Name: name, Raw: raw}) }

// addRule adds a rule if it applies and there are fewer than maxRules.
func (p *parser) addRule(rule Rule) {
	if !p.applies || len(p.rules) >= maxRules {
		return
	}
	if p.rules == nil {
		estimate := 1 + strings.Count(p.text, ",")
		p.rules = make([]Rule, 0, min(estimate, maxRules))
	}
	rule.Source = p.source
	rule.Scope = p.cloneScope()
	rule.Line = p.line
	p.rules = append(p.rules, rule.clone())
}

// cloneScope returns a copy of the scope, which consecutive rules share.
func (p *parser) cloneScope() string {
	if n := len(p.rules); n > 0 && p.rules[n-1].Scope == p.scope {
		return p.rules[n-1].Scope
	}
	return strings.Clone(p.scope)
}

// result returns the parsed Directives. It reallocates the rules if the
// estimate of their number was much too large, because most of the text was for
// other robots.
func (p *parser) result() Directives {
	if cap(p.rules) > 2*len(p.rules)+4 {
		p.rules = slices.Clone(p.rules)
	}
	return p.Directives
}

// isAllRobots reports whether a name stands for all robots.
func isAllRobots(name string) bool {
	return name == "*" || strings.EqualFold(name, "all") || strings.EqualFold(name, "robots")
}

// namesRobot reports whether a name is one of the product tokens, ignoring case
// and versions.
func namesRobot(name string, productTokens []string) bool {
	for _, token := range productTokens {
		if name == "" || token == "" || differInFirstLetter(name, token) {
			continue // fast path
		}
		token = trimVersion(token)
		if token != "" && strings.EqualFold(trimVersion(name), token) {
			return true
		}
	}
	return false
}

func differInFirstLetter(a, b string) bool {
	return isLetter(a[0]) && isLetter(b[0]) && a[0]|' ' != b[0]|' '
}

// trimVersion returns "ExampleBot" for "ExampleBot/1.0".
func trimVersion(name string) string {
	name, _, _ = strings.Cut(name, "/")
	return trim(name)
}

// isRobotName reports whether s may be the name of a robot: a letter, digit or
// "*", followed by letters, digits, white space and "_.-/".
func isRobotName(s string) bool {
	if s == "" {
		return false
	}
	if !isLetter(s[0]) && !isDigit(s[0]) && s[0] != '*' {
		return false
	}
	for _, c := range []byte(s[1:]) {
		isAlnum := isLetter(c) || isDigit(c)
		if !isAlnum && !isSpace(c) && strings.IndexByte("_.-/", c) < 0 {
			return false
		}
	}
	return true
}
