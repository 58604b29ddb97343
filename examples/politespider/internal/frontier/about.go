package frontier

import (
	"fmt"
	"slices"
	"strings"
)

// About is what a crawl is of. It stands beside the state of a frontier that
// outlives its process, so that nobody goes on with a crawl of something else:
// URLs that are out of one run's scope would be lost for the next.
type About struct {
	Start []string            `json:"start"` // URLs; empty: the demo
	Scope string              `json:"scope"` // which links are followed
	Flags map[string][]string `json:"flags"` // how it was called; those who go on may differ in this
}

// check returns an error if the crawl kept under name is of something else.
func (a About) check(name string, kept About) error {
	if slices.Equal(a.Start, kept.Start) && a.Scope == kept.Scope {
		return nil
	}
	return fmt.Errorf("the crawl in %s is another one: it began at %v, not at %v: go on with it as it began, or name another place", name, kept, a)
}

// String says it in a few words.
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
