package robotsmw

import (
	"cmp"
	"time"

	"github.com/goodbots/courtesy/politeness/refusal"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

// A Page has the page directives of a response, as far as they are known.
// Directives in the X-Robots-Tag and Robots-Tag headers are known immediately.
// Those in robots meta elements are known when the caller has read that part of
// the HTML. A Page is a snapshot: PageDirectives should be called again when
// more has been read.
type Page struct {
	robotsmeta.Directives
	State PageState

	// Refusal is zero unless the response is a refusal instead of the page, or
	// may be one. A refusal is a challenge, a block, a demand for payment or
	// for a license, a refusal for legal reasons, or a rate limit.
	//
	// If Refusal.Sure is set, status and header show the refusal, or a sure
	// rule of Options.Refusals matches the page. In this case the body is not
	// content. There are no Directives, because they would not be those of the
	// page. If Sure is not set, the refusal is a guess from a header field such
	// as a cookie, or from marks in the first 16 KiB of HTML. A guess is only
	// reported, and has no other effect.
	Refusal refusal.Refusal
}

// A PageState is how much of a page has been examined for directives. A
// restriction that was found applies in every state. The result that there is
// no restriction is final only in PageHeaderOnly and PageComplete.
type PageState uint8

const (
	// PageNotExamined: the body was not examined, so its directives are
	// unknown. The reason is one of three: the body's coding is unknown or
	// cannot be decoded, the response is surely a refusal, or the response did
	// not come through a Transport.
	PageNotExamined PageState = iota

	// PageHeaderOnly: there is no HTML body that could contain more. A part of
	// a page (206) is not examined either.
	PageHeaderOnly

	// PagePending: the body has not been read to its end yet.
	PagePending

	// PagePartial: the body was closed early, broke off, or could not be
	// decoded to its end.
	PagePartial

	// PageComplete: the page was read to its end, or to the point at which the
	// search for directives ends, which is htmlmeta.Window.
	PageComplete
)

// String returns "not examined", "header only", "pending", "partial" or
// "complete".
func (s PageState) String() string { return cmp.Or(pageStates[s], pageStates[PageNotExamined]) }

var pageStates = map[PageState]string{
	PageNotExamined: "not examined",
	PageHeaderOnly:  "header only",
	PagePending:     "pending",
	PagePartial:     "partial",
	PageComplete:    "complete",
}

// PageOptions configures how the robots meta elements of a page are read. The
// zero value examines every HTML page while the caller reads it.
type PageOptions struct {
	// ReadAhead makes RoundTrip read an HTML page to the end of its head before
	// RoundTrip returns. RoundTrip then reads for at most this time, and at
	// most 64 KiB. If the head ends within these limits, PageDirectives
	// includes the meta elements in the head before the caller reads a byte.
	// The caller can still read the whole body. 0 means that RoundTrip returns
	// as soon as Base does.
	ReadAhead time.Duration
}
