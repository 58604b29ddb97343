package page

import (
	"context"
	"net/http"

	"github.com/goodbots/courtesy/robotsmw/robotsmeta/htmlmeta"
)

// Look has resp, the answer to a request with the method, looked at while the
// caller reads it. It replaces resp.Body at most, and returns what it is
// replaced with; without one, the State is all that there is to say about the
// body. ctx bounds the reading ahead.
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
	b := &Body{ReadCloser: resp.Body, opts: o, decode: decode, status: resp.StatusCode, left: resp.ContentLength}
	b.scanner = htmlmeta.Scanner{Tokens: o.Tokens, HeadOnly: o.HeadOnly, Charset: charset(resp.Header)}
	if o.ReadAhead > 0 {
		b.readAhead(ctx)
	}
	resp.Body = b
	return b, Pending
}
