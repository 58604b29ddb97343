package preference

import (
	"net/http"

	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// An Input contains the sources from which the preferences about a page are
// determined. All fields are optional. Input is safe for concurrent use by
// multiple goroutines.
type Input struct {
	Robots *robotstxt.File // the robots.txt of the origin
	Tokens []string        // the product tokens of the crawler, which select groups of Robots
	Target string          // the path and query of the page, or its URL; if empty, "/"

	Header http.Header           // the header of the response
	Page   robotsmeta.Directives // the directives of header and meta elements; see robotsmw.PageDirectives

	// PolicyTokens maps a use to the policy tokens for it, such as {TrainAI:
	// {"Google-Extended"}}. There is no default, because new policy tokens are
	// introduced often.
	PolicyTokens map[Use][]string

	TDMRep []byte // the content of /.well-known/tdmrep.json; nil if there is none

	// RSL contains the RSL files that apply to the page, as returned by
	// ParseRSL. Licenses returns the URLs of these files.
	RSL []*RSL
}

func (in Input) target() string {
	if in.Target == "" {
		return "/"
	}
	return in.Target
}
