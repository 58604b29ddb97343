package frontier

import (
	"fmt"
	"slices"
	"strings"
)

// About says which crawl a frontier belongs to. It is kept with the state of a
// frontier that outlives its process, so that one crawl is not continued as
// another: URLs outside the scope of one run would be lost for the next.
type About struct {
	Start []string            `json:"start"` // URLs; empty: the demo
	Scope string              `json:"scope"` // which links are followed
	Flags map[string][]string `json:"flags"` // the other flags given; a later run may change them
}

// check returns an error if a and kept, the crawl kept under name, have
// different start URLs or scopes.
func (a About) check(name string, kept About) error {
	if slices.Equal(a.Start, kept.Start) && a.Scope == kept.Scope {
		return nil
	}
	return fmt.Errorf("the crawl in %s is another one: it began at %v, not at %v: go on with it as it began, or name another place", name, kept, a)
}

// String returns the start URLs and the scope in a few words.
func (a About) String() string {
	what := strings.Join(a.Start, " ")
	if what == "" {
		what = "the demo"
	}
	if a.Scope != "" {
		what += " (" + a.Scope + ")"
	}
	return what
}
