package page

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/goodbots/courtesy/politeness/refusal"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta/htmlmeta"
)

// A Body is the body of an HTML page. It passes the body on to the reader, and
// keeps a copy of the beginning. If there is no content coding, the Body also
// searches what it passes on: for relevant tags and, at the end, for signs of
// bot protection. If there is a content coding, the method Body.Result decodes
// and searches the copy. If Body.Result is called before the end of the body,
// it searches what has been read so far.
type Body struct {
	io.ReadCloser
	decode decodeFunc // nil means the body has no content coding
	status int        // of the response

	detector *refusal.Detector // nil means the built-in table alone
	header   http.Header       // of the response, if there is a detector

	mu      sync.Mutex // never held while reading from the body
	scanner htmlmeta.Scanner
	coded   []byte // if decode is set: the body's beginning, as sent
	left    int64  // bytes of the body that were not read yet; negative means unknown
	read    int64  // bytes of the body that were read
	ended   ending

	// The result of the latest call of Body.Result.
	found   robotsmeta.Directives
	state   State
	final   bool // whether later calls return the same; if so, the copy of the page was dropped
	decoded int  // len(coded) at the latest scan

	// The signs of bot protection in the page.
	refusal *refusal.Refusal // nil means none
	marked  int              // how many bytes of the page were searched for these signs
}

// An ending is how a body ended.
type ending uint8

const (
	notEnded ending = iota
	endedWhole
	endedEarly
)

// maxCoded is the maximum number of bytes of a coded body that are kept. They
// suffice to decode the part of the page that is examined, even if compression
// has not made the page smaller.
const maxCoded = htmlmeta.Window + 4<<10

func (b *Body) Read(p []byte) (n int, err error) {
	n, err = b.ReadCloser.Read(p)
	if 0 <= n && n <= len(p) {
		b.noteRead(p[:n], err)
	}
	return n, err
}

// Close closes the body immediately, without draining it.
func (b *Body) Close() error {
	err := b.ReadCloser.Close()
	b.mu.Lock()
	if b.ended == notEnded {
		b.ended = endedEarly
		if b.decode == nil {
			b.finish()
		}
	}
	b.mu.Unlock()
	return err
}

// noteRead processes the result of a Read.
func (b *Body) noteRead(p []byte, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended != notEnded {
		return
	}
	if !b.scanner.Done() {
		if b.decode == nil {
			b.scanner.Write(p)
		} else {
			b.coded = append(b.coded, p[:min(len(p), maxCoded-len(b.coded))]...)
		}
	}
	b.read += int64(len(p))
	if b.left > 0 {
		b.left = max(0, b.left-int64(len(p)))
	}
	if err == io.EOF || b.left == 0 { // a caller may stop at the known length, without reading EOF
		b.ended = endedWhole
	} else if err != nil {
		b.ended = endedEarly
	}
	if b.ended != notEnded && b.decode == nil {
		b.finish()
	}
}

// finish searches for marks a last time, and then drops the copy of the page.
func (b *Body) finish() {
	b.lookForMarks()
	b.scanner.Finish()
}

// lookForMarks searches the part of the page that was read for signs of bot
// protection. An earlier sign is dropped if the page turns out to be longer
// than a page of bot protection. The copy may be shorter than the page, so the
// body's length is used too.
func (b *Body) lookForMarks() {
	page := b.scanner.Bytes()
	page = page[:min(len(page), refusal.Window)]
	if b.refusal == nil && len(page) == b.marked {
		return
	}
	b.marked, b.refusal = len(page), nil
	whole := b.read + max(b.left, 0)
	resp := &http.Response{StatusCode: b.status, Header: b.header, ContentLength: whole}
	if r, ok := b.detector.OfPage(resp, page); ok {
		found := r // a copy; without it, r would be allocated for every page
		b.refusal = &found
	}
}

// Result examines what has been read since its last call. It returns the page's
// directives, and the refusal if the page has signs of bot protection.
func (b *Body) Result() (robotsmeta.Directives, *refusal.Refusal, State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.final {
		return b.found, b.refusal, b.state
	}
	b.state = Pending
	switch b.ended {
	case endedWhole:
		b.state = Complete
	case endedEarly:
		b.state = Partial
	}
	if b.decode != nil {
		b.scanCoded()
	}
	// If the body has ended and is not coded, it was searched when it ended,
	// and the copy no longer exists.
	if b.decode != nil || b.ended == notEnded {
		b.lookForMarks()
	}
	b.found = b.scanner.Directives()
	if b.scanner.Done() {
		b.state = Complete
	}
	if b.state != Pending {
		b.final = true
		b.scanner = htmlmeta.Scanner{}
		b.coded = nil
	}
	return b.found, b.refusal, b.state
}

// scanCoded decodes and scans what has been read of the body, from the
// beginning. A missing end is not an error. scanCoded decodes at most
// htmlmeta.Window bytes, because no more are examined.
func (b *Body) scanCoded() {
	if len(b.coded) == b.decoded && b.ended == notEnded {
		return
	}
	b.decoded = len(b.coded)
	b.scanner = htmlmeta.Scanner{Tokens: b.scanner.Tokens, Charset: b.scanner.Charset}
	r, err := b.decode(bytes.NewReader(b.coded))
	if err != nil {
		isCut := err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF)
		// Until the body has ended, the coding's header may be incomplete.
		isHeaderIncomplete := b.ended == notEnded || b.ended == endedEarly && isCut
		if !isHeaderIncomplete {
			b.state = NotExamined
		}
		return
	}
	_, err = io.Copy(&b.scanner, io.LimitReader(r, htmlmeta.Window))
	if b.ended == notEnded {
		return
	}
	if err != nil {
		b.state = Partial
		return
	}
	// The decoded page has ended, or has filled the window. Therefore no more
	// of it would be examined if the caller read to the end of the body.
	b.state = Complete
}
