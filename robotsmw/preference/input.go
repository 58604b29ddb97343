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

// Input is all that an owner may have said, and where. Every field may be
// empty.
type Input struct {
	Robots *robotstxt.File // the origin's robots.txt; nil: there is none, or it is not used
	Tokens []string        // our product tokens, which select the group in Robots; none: the "*" group
	Target string          // the page's path and query, or its URL; empty: "/"

	Header http.Header           // of the response
	Page   robotsmeta.Directives // what header and metas say: robotsmw.PageDirectives returns it

	// PolicyTokens are names by which robots.txt may address a use, such as
	// {TrainAI: {"Google-Extended"}}. None is built in, because new ones appear
	// and old ones change all the time.
	PolicyTokens map[Use][]string

	TDMRep TDMRep // the origin's /.well-known/tdmrep.json, by ParseTDMRep; nil: none, or not used

	// RSL are the files that Licenses lists, by ParseRSL, as far as the caller
	// has fetched them. None: there are none, or they are not used.
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

// A Statement is one thing that an owner has said.
type Statement struct {
	Use    Use    `json:"use"`
	Answer Answer `json:"answer"`
	Signal Signal `json:"signal"`
	Where  string `json:"where"`            // "robots.txt", "header", "meta", "header or meta", "tdmrep.json" or "RSL file"
	Line   int    `json:"line,omitempty"`   // in robots.txt, page or RSL file, or of the header lines; 0: unknown
	Path   string `json:"path,omitempty"`   // the path that the statement is limited to, as written; empty: none
	Raw    string `json:"raw"`              // the words, such as "train-ai=n"
	Policy string `json:"policy,omitempty"` // the URL of the terms: TDMRep's tdm-policy, RSL's custom or standard; "": none
}

// String returns, for example, "deny by Content-Usage in robots.txt, line 2:
// train-ai=n". Characters that cannot be printed are replaced, because foreign
// text must not control a terminal.
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
