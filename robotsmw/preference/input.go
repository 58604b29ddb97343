package preference

import (
	"net/http"
	"slices"
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// Input is the input from which preferences about a page are determined. All
// fields are optional. Input is safe for concurrent use by multiple goroutines.
type Input struct {
	Robots *robotstxt.File // the robots.txt of the origin
	Tokens []string        // the product tokens of the crawler, which select groups of Robots; if empty, "*"
	Target string          // the path and query of the page, or its URL; if empty, "/"

	Header http.Header           // the header of the response
	Page   robotsmeta.Directives // the directives of header and metas, from robotsmw.PageDirectives

	// PolicyTokens maps a use to the policy tokens for it, such as {TrainAI:
	// {"Google-Extended"}}. There is no default, because the names that are in
	// use change often.
	PolicyTokens map[Use][]string

	TDMRep []byte // the content of /.well-known/tdmrep.json; nil if there is none

	// RSL are the RSL files that apply to the page, as returned by ParseRSL.
	// The URLs of these files are available from Licenses.
	RSL []*RSL
}

func (in Input) target() string {
	if in.Target == "" {
		return "/"
	}
	return in.Target
}

// statements returns the statements of all signals.
func (in Input) statements() []Statement {
	all := slices.Concat(
		in.contentUsage(),
		in.contentSignal(),
		in.tdmRep(),
		in.noAI(),
		in.policyTokens(),
		in.rslStatements(),
	)
	for i := range all {
		s := &all[i]
		s.Draft = drafts[s.Signal]
		if len(s.Raw) > maxRaw {
			s.Raw = s.Raw[:maxRaw-len("...")] + "..."
		}
		// Statements may be stored, and must not retain the file or header.
		s.Raw = strings.Clone(s.Raw)
		s.Path = strings.Clone(s.Path)
		s.Policy = strings.Clone(s.Policy)
		s.Use = Use(strings.Clone(string(s.Use)))
	}
	return all
}
