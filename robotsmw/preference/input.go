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

// Input is what an owner has said where. Every field may be left empty.
type Input struct {
	Robots *robotstxt.File // the origin's robots.txt; nil: there is none, or it is not asked
	Tokens []string        // our product tokens, which select the group in it; none: the "*" group
	Target string          // the page's path and query, or its URL; empty: "/"

	Header http.Header           // of the response
	Page   robotsmeta.Directives // what header and metas said, as robotsmw.PageDirectives gives it

	// PolicyTokens are names under which robots.txt may address a use, such as
	// {TrainAI: {"Google-Extended"}}. None is built in: they are their
	// inventors' and change from week to week.
	PolicyTokens map[Use][]string

	TDMRep TDMRep // the origin's /.well-known/tdmrep.json, by ParseTDMRep; nil: there is none, or it is not asked

	// RSL are the files that Licenses names, by ParseRSL, as far as the caller
	// has fetched them. None: there are none, or they are not asked.
	RSL []*RSL
}

func (in Input) target() string {
	if in.Target == "" {
		return "/"
	}
	return in.Target
}

// A TDMRep is the file /.well-known/tdmrep.json, in the order written.
type TDMRep []TDMRule

// A TDMRule is one entry of a TDMRep.
type TDMRule struct {
	Location string // a pattern as in robots.txt
	Reserved bool
	Policy   string // the address of the terms; empty: none
}

// A Statement is one thing that was said.
type Statement struct {
	Use    Use    `json:"use"`
	Answer Answer `json:"answer"`
	Signal Signal `json:"signal"`
	Where  string `json:"where"`            // "robots.txt", "header", "meta", "header or meta", "tdmrep.json" or "RSL file"
	Line   int    `json:"line,omitempty"`   // of robots.txt, the page or the RSL file, or among the header's lines of that field; 0: not known
	Path   string `json:"path,omitempty"`   // what a line of robots.txt, of tdmrep.json or of an RSL file is limited to, as written; empty: nothing
	Raw    string `json:"raw"`              // the words, such as "train-ai=n"
	Policy string `json:"policy,omitempty"` // the address of the terms: TDMRep's tdm-policy, RSL's custom or standard; empty: none
}

// String returns for example "deny by Content-Usage in robots.txt, line 2:
// train-ai=n". What cannot be printed is replaced: the words are a stranger's,
// and must not write to a terminal.
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
