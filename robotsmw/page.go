package robotsmw

import (
	"fmt"
	"io"
	"time"

	"github.com/goodbots/courtesy/politeness/refusal"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

// A Page is what a response says about itself, as far as it is known: its
// X-Robots-Tag and Robots-Tag header at once, the robots metas of its HTML
// as its body is read. It is a snapshot; ask again when more was read.
type Page struct {
	robotsmeta.Directives
	State PageState

	// Refusal is not zero if the response is no page but a refusal: a
	// challenge, a block, a price, a rate limit. If it is Sure, by status and
	// header, there are no Directives, for it is a wall or a server that would
	// speak in them, and its body is no content. If not, it is a guess by
	// marks in the first 16 KiB of HTML, to be reported: nothing acts on it.
	Refusal refusal.Refusal
}

// A PageState says how much of a page its directives were taken from.
// Restrictions found count in every state; their absence is final in
// PageHeaderOnly and PageComplete alone.
type PageState uint8

const (
	// PageNotExamined: the body was not looked into. Its coding is unknown,
	// PageOptions.Off is set, it is surely a refusal, or the response did not
	// come through a Transport. What an unexamined page says is unknown, not
	// "nothing".
	PageNotExamined PageState = iota

	// PageHeaderOnly: there is no HTML body that could say more.
	PageHeaderOnly

	// PagePending: the body is still being read.
	PagePending

	// PagePartial: the body was closed early, or broke off.
	PagePartial

	// PageComplete: the page was read to its end, or as far as directives
	// are looked for (htmlmeta.Window; the head, with PageOptions.HeadOnly).
	PageComplete
)

// String returns "not examined", "header only", "pending", "partial" or
// "complete".
func (s PageState) String() string {
	switch s {
	case PageHeaderOnly:
		return "header only"
	case PagePending:
		return "pending"
	case PagePartial:
		return "partial"
	case PageComplete:
		return "complete"
	}
	return "not examined"
}

// PageOptions says how the robots metas of a page are read. The zero value
// looks into every HTML page while the caller reads it.
type PageOptions struct {
	// Off leaves bodies alone; PageDirectives then tells what the header
	// says. It is for callers who look into the page themselves
	// (htmlmeta.Scan). False: bodies are looked into.
	Off bool

	// HeadOnly counts only the metas that a browser would put into the
	// page's head, for sites whose visitors write into the body. False: all
	// of them count, since a meta can only restrict.
	HeadOnly bool

	// ReadAhead makes RoundTrip read an HTML page up to the end of its head,
	// for at most this long and 64 KiB, before it returns, so that
	// PageDirectives knows the head's metas before the caller reads a byte. The
	// caller still reads everything. 0: RoundTrip returns as soon as Base does.
	ReadAhead time.Duration

	// Decoder returns a reader that undoes a Content-Encoding such as "br"
	// or "zstd" (in lower case), for callers who set Accept-Encoding
	// themselves. It is given the beginning of the body and works on a copy,
	// in memory; an error, or a nil reader, leaves the page unexamined. It
	// must not call PageDirectives. Nil: gzip and deflate alone are known.
	Decoder func(coding string, body io.Reader) (io.Reader, error)
}

func (o PageOptions) check() error {
	if o.ReadAhead < 0 {
		return fmt.Errorf("robotsmw: Page.ReadAhead %v is negative; leave it 0 to read nothing ahead", o.ReadAhead)
	}
	return nil
}
