package preference

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Statement is an owner's preference about a use, as expressed by a single
// signal, such as a line of robots.txt.
type Statement struct {
	Use    Use    `json:"use"` // an unknown label is also a Use, in lower case
	Answer Answer `json:"answer"`
	// Signal is "Content-Usage", "Content-Signal", "TDM-Reservation", "noai",
	// "noimageai", "noml", "policy token" or "RSL".
	Signal string `json:"signal"`
	// Where is the location of the statement: "robots.txt", "header", "meta",
	// "header or meta", "tdmrep.json", "RSL file" or "robots.txt or header".
	Where  string `json:"where"`
	Line   int    `json:"line,omitempty"`   // in the file, page or header field; 0 if unknown
	Path   string `json:"path,omitempty"`   // the path pattern, unchanged; "" for all paths
	Raw    string `json:"raw"`              // the text, such as "train-ai=n"; at most 300 bytes
	Policy string `json:"policy,omitempty"` // the URL of the terms: tdm-policy, or custom or standard of RSL
	Draft  string `json:"draft,omitempty"`  // the version of the specification; "" if it is final

	truncated bool // the input exceeded a limit, so the statement might deny the use
}

// String returns a description such as "deny by Content-Usage in robots.txt,
// line 2: train-ai=n". Nonprintable characters are replaced by U+FFFD, so that
// a site cannot send control sequences to a terminal.
func (s Statement) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s by %s in %s", s.Answer, s.Signal, s.Where)
	if s.Line > 0 {
		fmt.Fprintf(&b, ", line %d", s.Line)
	}
	fmt.Fprintf(&b, ": %s", s.Raw)
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, b.String())
}

// withAnswer returns a copy of s with the given use and answer.
func (s Statement) withAnswer(use Use, answer Answer) Statement {
	s.Use = use
	s.Answer = answer
	return s
}

// appliesTo reports whether the statement is about a use. Statements about
// training apply to training on images, too.
func (s Statement) appliesTo(use Use) bool {
	return s.Use == use || use == TrainAIImages && s.Use == TrainAI
}

// unreadablePrefix is the prefix of Statement.Raw for input that is invalid or
// exceeds a limit.
const unreadablePrefix = "cannot be read: "

// unreadable returns a statement without an answer for each use that has a
// label in labels. The result replaces the statements of the field s, which is
// invalid or exceeds a limit.
func (s Statement) unreadable(labels map[string]Use) []Statement {
	s.Raw = unreadablePrefix + s.Raw
	var all []Statement
	for _, use := range uses {
		for _, labeled := range labels {
			if use == labeled {
				all = append(all, s.withAnswer(use, Unknown))
			}
		}
	}
	return all
}
