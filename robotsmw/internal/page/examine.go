package page

import (
	"context"
	"net/http"

	"github.com/goodbots/courtesy/robotsmw/robotsmeta/htmlmeta"
)

// Examine arranges that resp is examined while the caller reads it. method is
// the method of the request. If Examine returns a Body, resp.Body is now read
// through that Body. Otherwise resp is unchanged, and the State will not
// change. ctx is the context of the request; reading ahead stops when ctx ends.
func Examine(ctx context.Context, resp *http.Response, method string, o *Options) (*Body, State) {
	if !hasHTML(resp, method) {
		return nil, HeaderOnly
	}
	decode, known := decoder(resp.Header)
	if !known {
		return nil, NotExamined
	}
	b := &Body{
		ReadCloser: resp.Body,
		decode:     decode,
		status:     resp.StatusCode,
		left:       resp.ContentLength,
	}
	if o.Refusals != nil {
		b.detector, b.header = o.Refusals, resp.Header
	}
	b.scanner = htmlmeta.Scanner{Tokens: o.Tokens, Charset: charset(resp.Header)}
	resp.Body = b
	if o.ReadAhead > 0 {
		resp.Body = readAhead(ctx, b, o.ReadAhead)
	}
	return b, Pending
}
