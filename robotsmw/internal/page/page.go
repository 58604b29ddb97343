// Package page searches the body of a response for robots meta elements and for
// signs of bot protection while the caller reads it. Examine replaces the
// response's body with a Body, and Body.Result returns what has been found so
// far. The body is not changed. Without Options.ReadAhead, it is read only when
// the caller reads it.
package page

import (
	"time"

	"github.com/goodbots/courtesy/politeness/refusal"
)

// Options configure how bodies are examined. They mirror robotsmw.PageOptions.
type Options struct {
	Tokens    []string // product tokens of the crawler
	ReadAhead time.Duration
	Refusals  *refusal.Detector
}

// A State is how much of a page was examined for directives.
type State uint8

// The states. robotsmw.PageState explains them.
const (
	NotExamined State = iota
	HeaderOnly
	Pending
	Partial
	Complete
)

// StandsFor is the key under which the context of a 304's Request has the
// robotsmw.Page that the 304 stands for. Package revisit sets it.
type StandsFor struct{}

// ReadsItself is a key for a request's context. If the context has a value for
// it, the caller examines the response, and the Transport does not.
type ReadsItself struct{}
