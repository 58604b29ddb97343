// Package page looks for robots metas, and for the marks of walls, in the body
// of a response while the caller reads it: Look puts a Body in the place of the
// response's, and Body.Says tells at any time what has been found so far. The
// body is handed on as it is, and nothing is read that the caller did not ask
// for, but by Options.ReadAhead.
package page

import (
	"io"
	"time"
)

// Options say how bodies are looked into, as robotsmw.PageOptions does.
type Options struct {
	Tokens    []string // product tokens of the crawler
	Off       bool
	HeadOnly  bool
	ReadAhead time.Duration
	Decoder   func(coding string, body io.Reader) (io.Reader, error)
}

// A State says how much of a page its directives were taken from.
type State uint8

// The states, as robotsmw names and explains them.
const (
	NotExamined State = iota
	HeaderOnly
	Pending
	Partial
	Complete
)
