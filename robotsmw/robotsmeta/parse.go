package robotsmeta

import (
	"net/http"
	"strings"
)

// ParseHeader parses the X-Robots-Tag and Robots-Tag lines of h. It returns the
// directives for all robots, and those for the robot with one of the given
// product tokens, such as "ExampleBot".
//
// The keys of h must be in canonical form, as they are in the headers of
// net/http.
func ParseHeader(h http.Header, tokens ...string) Directives {
	p := parser{source: XRobotsTag, allowScopes: true}
	left := maxLines
	for i, line := range h["X-Robots-Tag"] {
		p.line = i + 1
		p.scope = ""
		p.applies = true
		line = p.truncate(line, left)
		left -= len(line)
		p.parse(line, tokens)
	}
	p.parseRobotsTag(h["Robots-Tag"], tokens)
	return p.result()
}

// ParseContent parses the content attribute of a <meta name="robots"> element.
func ParseContent(content string) Directives {
	p := parser{source: Content, applies: true}
	p.parse(content, nil)
	return p.result()
}

// ParseMeta parses the element <meta name="…" content="…">, for the robot with
// one of the given product tokens. The line is the line number in the page at
// which the element begins. The name, whose case is ignored, may be
//
//   - "robots" or a product token: the content contains directives;
//   - "noai", "noimageai" or "noml": the name is a directive, and the content
//     is ignored;
//   - "tdm-reservation" or "tdm-policy": the content is the Value of a [Rule].
//
// For any other name, ParseMeta returns the zero value.
func ParseMeta(name, content string, line int, tokens ...string) Directives {
	name = trim(name)
	p := parser{source: Meta, line: line, applies: true}
	switch classifyMeta(name, tokens) {
	case robotsMeta:
		if !isAllRobots(name) {
			p.scope = name
		}
		p.parse(content, nil)
	case flagMeta:
		directiveName, d, _ := lookup(name)
		p.addFlag(directiveName, d, name)
	case tdmMeta:
		p.addTDM(name, content)
	}
	return p.result()
}

// addTDM adds a rule for a meta element of the TDM Reservation Protocol.
func (p *parser) addTDM(name, content string) {
	value := trim(content)
	if len(value) > maxLine {
		p.flags |= truncated
		value = ""
	}
	if value == "1" && equalASCII(name, "tdm-reservation") {
		p.flags |= tdmReserved
	}
	p.addRule(Rule{
		Name:  strings.Clone(strings.ToLower(name)),
		Value: value,
		Known: true,
		Raw:   content[:min(len(content), maxLine)],
	})
}

// IsMetaName reports whether [ParseMeta] interprets a meta element with the
// given name, for the robot with one of the given product tokens. It does not
// allocate.
func IsMetaName(name string, tokens ...string) bool {
	return classifyMeta(trim(name), tokens) != otherMeta
}

type metaKind uint8

const (
	otherMeta  metaKind = iota
	robotsMeta          // the content contains directives for the robot
	flagMeta            // the name is a directive
	tdmMeta             // the content is used by package preference
)

func classifyMeta(name string, tokens []string) metaKind {
	if kind := classifyCommonMeta(name); kind != otherMeta {
		return kind
	}
	if namesRobot(name, tokens) {
		return robotsMeta
	}
	return otherMeta
}

// classifyCommonMeta is like classifyMeta, but does not recognize product
// tokens.
func classifyCommonMeta(name string) metaKind {
	if name == "" {
		return otherMeta
	}
	switch name[0] | ' ' { // most names need only this comparison
	case 'r':
		if equalASCII(name, "robots") {
			return robotsMeta
		}
	case 'n':
		if equalASCII(name, "noai") || equalASCII(name, "noimageai") || equalASCII(name, "noml") {
			return flagMeta
		}
	case 't':
		if equalASCII(name, "tdm-reservation") || equalASCII(name, "tdm-policy") {
			return tdmMeta
		}
	}
	return otherMeta
}
