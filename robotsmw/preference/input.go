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
// Every field may be empty.
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

	TDMRep TDMRep // the parsed /.well-known/tdmrep.json; nil means none, or that it is not used

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

// A TDMRep holds the entries of a file /.well-known/tdmrep.json, in the order
// of the file.
type TDMRep []TDMRule

// A TDMRule is one entry of a TDMRep.
type TDMRule struct {
	Location string // a pattern as in robots.txt
	Reserved bool
	Policy   string // the address of the terms; empty means none
}

// A Statement is one thing that an owner has said.
type Statement struct {
	Use    Use    `json:"use"`
	Answer Answer `json:"answer"`
	Signal Signal `json:"signal"`
	Where  string `json:"where"`            // "robots.txt", "header", "meta", "header or meta", "tdmrep.json" or "RSL file"
	Line   int    `json:"line,omitempty"`   // the number of the line in the file, page or header field; 0 means not known
	Path   string `json:"path,omitempty"`   // the path to which the statement is limited, as written; empty means no limit
	Raw    string `json:"raw"`              // what was said, such as "train-ai=n"
	Policy string `json:"policy,omitempty"` // the URL of the terms, from tdm-policy or from RSL's "custom" or "standard"
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
