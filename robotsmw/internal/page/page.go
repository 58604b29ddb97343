// Package page looks for robots metas and for marks of bot walls in the body of
// a response while the caller reads it. Examine replaces the response's body by
// a Body, and Body.Says returns at any time what has been found so far. The
// body is passed on unchanged. Nothing is read before the caller asks for it,
// unless Options.ReadAhead is set.
package page

import (
	"time"

	"github.com/goodbots/courtesy/politeness/refusal"
)

// Options say how bodies are examined. They mirror robotsmw.PageOptions.
type Options struct {
	Tokens    []string // product tokens of the crawler
	ReadAhead time.Duration
	Refusals  *refusal.Detector
}

// A State says how much of a page was examined for directives.
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
// it, the caller examines the page's body, so Examine does not.
type ReadsItself struct{}
