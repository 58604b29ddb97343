package preference

import (
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// Input holds the places where an owner may have said something about a page.
// Every field may be empty. An Input is safe for concurrent use.
type Input struct {
	Robots *robotstxt.File // the origin's robots.txt; nil means none, or that it is not used
	Tokens []string        // our product tokens select the group in Robots; if empty, the group of "*"
	Target string          // the page's path and query, or its URL; empty means "/"

	Header http.Header           // the response's header
	Page   robotsmeta.Directives // the directives of header and metas, from robotsmw.PageDirectives

	// PolicyTokens are the names by which robots.txt may address a use, such as
	// {TrainAI: {"Google-Extended"}}. No name is built in, because new ones
	// appear and old ones change all the time.
	PolicyTokens map[Use][]string

	TDMRep []byte // the body of /.well-known/tdmrep.json; nil means none, or that it is not used

	// RSL are the page's RSL files, as ParseRSL returned them. The caller
	// fetches them, for example from the addresses that Licenses lists. Empty
	// means that there are none, or that they are not used.
	RSL []*RSL
}

func (in Input) target() string {
	if in.Target == "" {
		return "/"
	}
	return in.Target
}

// A Statement is one thing that an owner has said.
type Statement struct {
	Use    Use    `json:"use"` // or an unknown label, as it was written in lower case
	Answer Answer `json:"answer"`
	// Signal is the way in which it was said: "Content-Usage",
	// "Content-Signal", "TDM-Reservation", "noai", "noimageai", "noml", "policy
	// token" or "RSL".
	Signal string `json:"signal"`
	// Where is "robots.txt", "header", "meta", "header or meta", "tdmrep.json",
	// "RSL file" or "robots.txt or header".
	Where  string `json:"where"`
	Line   int    `json:"line,omitempty"`   // the number of the line in the file, page or header field; 0 means not known
	Path   string `json:"path,omitempty"`   // the path to which the statement is limited, as written; empty means no limit
	Raw    string `json:"raw"`              // what was said, such as "train-ai=n"; 300 bytes at most
	Policy string `json:"policy,omitempty"` // the URL of the terms, from tdm-policy or from RSL's "custom" or "standard"
	Draft  string `json:"draft,omitempty"`  // the drafts that define the signal; empty if it cannot change any more

	cut bool // a limit of this package hid the statement, or a part of it, so it might deny
}

// String returns, for example, "deny by Content-Usage in robots.txt, line 2:
// train-ai=n". Characters that cannot be printed are replaced by U+FFFD,
// because a text from a site must not control a terminal.
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

// about returns the statement with a use and an answer.
func (s Statement) about(use Use, answer Answer) Statement {
	s.Use, s.Answer = use, answer
	return s
}

// unreadable returns what a statement that cannot be read says about each of
// the uses that it might be about: nothing.
func (s Statement) unreadable(labels map[string]Use) (all []Statement) {
	s.Raw = "cannot be read: " + s.Raw
	for _, use := range uses {
		for _, labelled := range labels {
			if use == labelled {
				all = append(all, s.about(use, Unknown))
			}
		}
	}
	return all
}
