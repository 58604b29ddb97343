package frontier

import (
	"fmt"
	"slices"
	"strings"
)

// An About identifies the crawl of a frontier. It is stored with a crawl that
// is kept. A crawl cannot be continued with other start URLs or another scope,
// because it has already left out links outside its own scope.
type About struct {
	Start []string            `json:"start"` // the start URLs; empty for the demo
	Scope string              `json:"scope"` // which links are followed
	Flags map[string][]string `json:"flags"` // the other flags that were given; a later run may change them
}

// Check returns an error if the start URLs or the scope of the kept crawl
// differ from the receiver's. The error contains name, the place of the kept
// crawl.
func (a About) Check(name string, kept About) error {
	if slices.Equal(a.Start, kept.Start) && a.Scope == kept.Scope {
		return nil
	}
	return fmt.Errorf("the crawl in %s is a different one: it began at %v, not at %v; "+
		"resume it with its own URLs and scope, or keep this crawl elsewhere", name, kept, a)
}

// String returns the start URLs and the scope.
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
