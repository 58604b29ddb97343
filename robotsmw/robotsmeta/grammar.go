package robotsmeta

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxLine  = 8 << 10  // limit for one header line or meta, in bytes
	maxLines = 64 << 10 // limit for all lines of one field, in bytes
)

// A reader reads texts (header lines, a meta's content) into its Directives.
//
//	text   = item *( ( "," / ";" ) item )
//	item   = [ words ] [ scope ":" ] [ rule ]       white space allowed
//	rule   = valued ":" value / words
//	words  = word *( white-space word )
//	valued = "unavailable_after" / "max-snippet" / "max-image-preview" / "max-video-preview"
//	scope  = a name that is not a directive; only in a header
type reader struct {
	Directives
	text   string
	source string
	line   int
	scope  string // the robot's name that applies here, as written; "" for everybody
	mine   bool   // whether the scope includes our robot
	scopes bool   // whether the text may contain names of robots
}

// inASCII replaces spaces, commas, colons and semicolons beyond ASCII by their
// ASCII forms. Authors write these by mistake, because "noindex,&nbsp;nofollow"
// and "noindex，nofollow" look right.
func inASCII(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return wide.Replace(s)
		}
	}
	return s
}

var wide = func() *strings.Replacer {
	pairs := []string{"\uff0c", ",", "\u3001", ",", "\uff1b", ";", "\uff1a", ":"}
	for _, c := range "\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u200b\u2028\u2029\u202f\u205f\u3000\ufeff" {
		pairs = append(pairs, string(c), " ")
	}
	return strings.NewReplacer(pairs...)
}()

// limit cuts s if s has more than n bytes. What remains are whole items: those
// before the last comma in the first n+1 bytes.
func (r *reader) limit(s string, n int) string {
	if len(s) <= n {
		return s
	}
	r.flags |= truncated
	return s[:max(strings.LastIndexByte(s[:n+1], ','), 0)]
}

// read reads one text. tokens is an argument and not a field of r, because as a
// field it would escape to the heap.
func (r *reader) read(s string, tokens []string) {
	s = inASCII(r.limit(s, maxLine))
	r.text = s
	for {
		s = strings.TrimLeft(s, space+",;")
		if s == "" {
			return
		}
		i := strings.IndexAny(s, ",;:")
		switch {
		case i < 0:
			r.words(s)
			return
		case s[i] == ':':
			i = r.named(s, i, tokens)
		default:
			r.words(s[:i])
		}
		s = s[i:]
	}
}

// words reads directives with only white space between them. s must not begin
// with white space.
func (r *reader) words(s string) {
	for s != "" {
		var word string
		word, s = cutWord(s)
		if name, d, ok := lookup(word); ok && d.kind == bare {
			r.say(name, d, word)
		} else {
			r.unknown(word, word)
		}
	}
}

// named reads the item at the beginning of s, and returns how many bytes it has
// read. The item's first colon is s[colon]. The method stops after a scope or a
// value. The caller reads the text that follows as a new item. The method must
// not look far beyond the bytes that it reads, or a line of many colons would
// take quadratic time.
func (r *reader) named(s string, colon int, tokens []string) int {
	name := trim(s[:colon])
	last := name[strings.LastIndexAny(name, space)+1:]
	everybody := r.scopes && strings.EqualFold(last, "all") // "all" is both a directive and a name for all robots
	if known, d, ok := lookup(last); ok && !everybody {
		if d.kind == bare { // as in "noindex: true"
			r.words(name)
			return colon + 1
		}
		start := len(name) - len(last)
		r.words(name[:start])
		return r.valued(known, d, s, start, colon)
	}
	// The item may begin with directives, as in "nofollow otherbot: noindex".
	start := 0
	for {
		word, rest := cutWord(name)
		if rest == "" {
			break
		}
		known, d, ok := lookup(word)
		if !ok || d.kind != bare {
			break
		}
		r.say(known, d, word)
		start += len(name) - len(rest)
		name = rest
	}
	// If a digit follows the colon, the colon belongs to a time of day, in a
	// date that could not be read. Then the text before the colon is not a
	// name. If it were, the rest of the line would be for a robot named "3 Dec
	// 2025 13".
	if r.scopes && isName(name) && (colon+1 == len(s) || !strings.Contains(digits, s[colon+1:colon+2])) {
		if isNearly(name) {
			r.unknown(name, s[start:colon+1])
		} else {
			r.enter(name, tokens)
		}
		return colon + 1
	}
	end := colon + indexOrLen(s[colon:], ",;")
	item := trim(s[start:end])
	r.unknown(item, item)
	return end
}

// valued reads the directive d at s[start:], whose colon is s[colon], and
// returns the place where the directive ends. If the value cannot be read, the
// result is the place after the colon, so the next item begins there.
func (r *reader) valued(name string, d directive, s string, start, colon int) int {
	from := len(s) - len(strings.TrimLeft(s[colon+1:], space))
	to := from + indexOrLen(s[from:], space+",;:")
	isKnown := from < to && (to == len(s) || s[to] != ':')
	if d.kind == unavailableAfter {
		// A date may contain commas and spaces, so these do not end it.
		// readDate reads the longest text that is a date.
		t, n := readDate(s[from:])
		to, isKnown = from+n, n > 0
		if isKnown && r.mine {
			r.expire(t)
		}
	} else if isKnown && r.mine {
		isKnown = r.set(d, s[from:to])
	}
	if isKnown {
		r.keep(Rule{Name: name, Value: s[from:to], Known: true, Raw: s[start:to]})
		return to
	}
	r.unknown(name, s[start:colon+1])
	return colon + 1
}

// isNearly reports whether a name resembles that of a directive with a value:
// the two differ at most in hyphens, underscores, spaces and letter case. Such
// a name counts neither as the directive nor as a robot's name. If it counted
// as a robot's name, the directives after it would be for that robot alone.
func isNearly(name string) bool {
	switch withoutJoints.Replace(strings.ToLower(name)) {
	case "unavailableafter", "maxsnippet", "maximagepreview", "maxvideopreview":
		return true
	}
	return false
}

var withoutJoints = strings.NewReplacer("-", "", "_", "", " ", "", "\t", "", "\r", "", "\n", "", "\f", "")

// enter begins the scope of the robot with this name.
func (r *reader) enter(name string, tokens []string) {
	if everybody(name) {
		r.scope, r.mine = "", true
		return
	}
	r.scope, r.mine = name, names(name, tokens)
}

func (r *reader) say(name string, d directive, raw string) {
	if r.mine {
		r.flags |= d.flags
	}
	r.keep(Rule{Name: name, Known: true, Raw: raw})
}

func (r *reader) unknown(name, raw string) { r.keep(Rule{Name: name, Raw: raw}) }

func (r *reader) keep(rule Rule) {
	if !r.mine || len(r.rules) >= maxRules {
		return
	}
	if r.rules == nil {
		r.rules = make([]Rule, 0, min(1+strings.Count(r.text, ","), maxRules))
	}
	rule.Source, rule.Scope, rule.Line = r.source, r.ownScope(), r.line
	r.rules = append(r.rules, rule.detached())
}

// ownScope returns a copy of the scope, and the same copy for all rules that
// follow each other in it.
func (r *reader) ownScope() string {
	if n := len(r.rules); n > 0 && r.rules[n-1].Scope == r.scope {
		return r.rules[n-1].Scope
	}
	return strings.Clone(r.scope)
}

// result returns what was read. The room for rules was estimated, and a text
// that is mostly for other robots has fewer.
func (r *reader) result() Directives {
	if cap(r.rules) > 2*len(r.rules)+4 {
		r.rules = slices.Clone(r.rules)
	}
	return r.Directives
}

// detached returns a copy of the rule whose strings are no parts of the text
// that was read. Programs keep Directives for as long as they know a page, and
// a header line may have a megabyte.
func (rule Rule) detached() Rule {
	if rule.Known && rule.Raw == rule.Name { // the usual case; the names of directives are constants
		rule.Raw = rule.Name
	} else {
		rule.Raw = strings.Clone(rule.Raw)
	}
	rule.Value = within(rule.Raw, rule.Value)
	if !rule.Known {
		rule.Name = within(rule.Raw, rule.Name)
	}
	return rule
}

// within returns part as a part of whole or, if whole does not contain it, as a
// copy.
func within(whole, part string) string {
	if i := strings.Index(whole, part); i >= 0 {
		return whole[i : i+len(part)]
	}
	return strings.Clone(part)
}

func everybody(name string) bool {
	return name == "*" || strings.EqualFold(name, "all") || strings.EqualFold(name, "robots")
}

// names reports whether a robot's name is one of the product tokens. It ignores
// letter case and versions on both sides.
func names(name string, tokens []string) bool {
	for _, token := range tokens {
		if name == "" || token == "" || isLetter(name[0]) && isLetter(token[0]) && name[0]|' ' != token[0]|' ' {
			continue // this is fast, and nearly always enough
		}
		if token = product(token); token != "" && strings.EqualFold(product(name), token) {
			return true
		}
	}
	return false
}

// product returns the product token in name: "ExampleBot" for "ExampleBot/1.0".
func product(name string) string {
	name, _, _ = strings.Cut(name, "/")
	return trim(name)
}

// cutWord splits s into its first word and the rest, without the white space
// between them. s must not begin with white space.
func cutWord(s string) (word, rest string) {
	i := indexOrLen(s, space)
	return s[:i], strings.TrimLeft(s[i:], space)
}

const (
	digits  = "0123456789"
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// isName reports whether s can be a robot's name. A name begins with a letter,
// a digit or "*". Letters, digits, "_", ".", "-", "/" and white space may
// follow.
func isName(s string) bool {
	return s != "" && strings.Contains("*"+digits+letters, s[:1]) && strings.Trim(s[1:], digits+letters+"_.-/"+space) == ""
}
