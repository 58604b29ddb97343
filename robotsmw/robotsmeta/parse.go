package robotsmeta

import (
	"net/http"
	"strings"
)

// ParseHeader returns what the X-Robots-Tag and Robots-Tag lines of h say to a
// robot with these product tokens: what is for everybody, and what is for this
// robot by name. Without tokens, it returns only what is for everybody.
//
// The keys of h must be canonical, as in every http.Header that net/http makes.
// Lines under another spelling of the key are not found.
func ParseHeader(h http.Header, tokens ...string) Directives {
	r := reader{source: XRobotsTag, scopes: true}
	left := maxLines
	for i, line := range h["X-Robots-Tag"] {
		r.line, r.scope, r.mine = i+1, "", true
		line = r.limit(line, left)
		left -= len(line)
		r.read(line, tokens)
	}
	r.readRobotsTag(h["Robots-Tag"], tokens)
	return r.result()
}

// ParseContent returns what the content attribute of one <meta name="robots">
// says.
func ParseContent(content string) Directives {
	r := reader{source: Content, mine: true}
	r.read(content, nil)
	return r.result()
}

// ParseMeta returns what the element <meta name="…" content="…"> says to the
// robot with these product tokens. line is the line of the page in which the
// element begins. If the name is "robots" or a product token, the content has
// the directives. The names noai, noimageai and noml are directives themselves
// and need no content. If the name is tdm-reservation or tdm-policy, the
// content is kept as the Value of a Rule. For any other name, the result is
// zero. Letter case does not matter.
func ParseMeta(name, content string, line int, tokens ...string) Directives {
	name = trim(name)
	r := reader{source: Meta, line: line, mine: true}
	switch kind := metaKind(name, tokens); kind {
	case metaRobots:
		if !everybody(name) {
			r.scope = name
		}
		r.read(content, nil)
	case metaBare:
		known, d, _ := lookup(name)
		r.say(known, d, name)
	case metaKept:
		value := trim(content)
		if len(value) > maxLine {
			r.flags |= truncated
			value = ""
		}
		if value == "1" && is(name, "tdm-reservation") {
			r.flags |= tdmReserved
		}
		r.keep(Rule{Name: strings.Clone(strings.ToLower(name)), Value: value, Known: true, Raw: content[:min(len(content), maxLine)]})
	}
	return r.result()
}

// MetaSpeaks reports whether ParseMeta reads a <meta> with this name for these
// tokens. It must not allocate, because package htmlmeta calls it for nearly
// every <meta> of every page.
func MetaSpeaks(name string, tokens ...string) bool {
	return metaKind(trim(name), tokens) != metaOther
}

type metaSort uint8

const (
	metaOther  metaSort = iota
	metaRobots          // its content has directives for everybody or for our robot
	metaBare            // its name is the directive
	metaKept            // it has no directive, but package preference uses its content
)

func metaKind(name string, tokens []string) metaSort {
	switch {
	case name == "" || strings.IndexByte("nrt", name[0]|' ') < 0: // as most names
	case is(name, "noai"), is(name, "noimageai"), is(name, "noml"):
		return metaBare
	case is(name, "tdm-reservation"), is(name, "tdm-policy"):
		return metaKept
	case is(name, "robots"):
		return metaRobots
	}
	if names(name, tokens) {
		return metaRobots
	}
	return metaOther
}

// is reports whether two ASCII words differ at most in the case of letters.
// HTML knows no others that fold to these, such as U+017F to s.
func is(name, word string) bool {
	return len(name) == len(word) && strings.EqualFold(name, word)
}
