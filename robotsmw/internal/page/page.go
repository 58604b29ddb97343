// Package page looks for robots metas in the body of a response while the caller
// reads it: Look puts a Body in the place of the response's, and Body.Directives
// tells at any time what has been found so far. The body is handed on as it is,
// and nothing is read that the caller did not ask for, but by Options.ReadAhead.
package page

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/goodbots/courtesy/robotsmw/robotsmeta/htmlmeta"
)

// Options say how bodies are looked into, as robotsmw.PageOptions does.
type Options struct {
	Tokens         []string // product tokens of the crawler
	Off            bool
	HeadOnly       bool
	ReadAhead      time.Duration
	ReadAheadBytes int
	Decoder        func(coding string, body io.Reader) (io.Reader, error)
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

// Look has resp, the answer to a request with the method, looked at while the
// caller reads it. It replaces resp.Body at most, and returns what it is replaced
// with; without one, the State is all that there is to say about the body. ctx
// bounds the reading ahead.
func Look(ctx context.Context, resp *http.Response, method string, o *Options) (*Body, State) {
	switch {
	case resp == nil:
		return nil, NotExamined
	case !hasHTML(resp, method):
		return nil, HeaderOnly
	case o.Off:
		return nil, NotExamined
	}
	decode, known := o.decoder(resp.Header)
	if !known {
		return nil, NotExamined
	}
	b := &Body{ReadCloser: resp.Body, opts: o, decode: decode, left: resp.ContentLength}
	b.scanner = htmlmeta.Scanner{Tokens: o.Tokens, HeadOnly: o.HeadOnly, Charset: charset(resp.Header)}
	if o.ReadAhead > 0 {
		b.readAhead(ctx)
	}
	resp.Body = b
	return b, Pending
}
