package robotsmw

import (
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

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

	// ReadAhead makes RoundTrip read an HTML page up to the end of its
	// head, for at most this long, before it returns, so that PageDirectives
	// knows the head's metas before the caller reads a byte. The caller
	// still reads everything. 0: RoundTrip returns as soon as Base does.
	ReadAhead time.Duration

	// ReadAheadBytes limits what ReadAhead reads, in octets as sent. 0: 64 KiB.
	ReadAheadBytes int

	// Decoder returns a reader that undoes a Content-Encoding such as "br"
	// or "zstd" (in lower case), for callers who set Accept-Encoding
	// themselves. It is given the beginning of the body and works on a copy,
	// in memory; an error, or a nil reader, leaves the page unexamined. It
	// must not call PageDirectives. Nil: gzip and deflate alone are known.
	Decoder func(coding string, body io.Reader) (io.Reader, error)
}

const defaultReadAheadBytes = 64 << 10

func (o PageOptions) check() error {
	switch {
	case o.ReadAhead < 0:
		return fmt.Errorf("robotsmw: Page.ReadAhead %v is negative; leave it 0 to read nothing ahead", o.ReadAhead)
	case o.ReadAheadBytes < 0:
		return fmt.Errorf("robotsmw: Page.ReadAheadBytes %d is negative; leave it 0 for %d", o.ReadAheadBytes, defaultReadAheadBytes)
	}
	return nil
}

// hasHTML reports whether resp has an HTML body of which at least the
// beginning is there. A body without a type may be HTML.
func hasHTML(resp *http.Response, method string) bool {
	switch code := resp.StatusCode; {
	case code < 200, code == http.StatusNoContent, code == http.StatusPartialContent, code == http.StatusNotModified:
		return false
	}
	if resp.Body == nil || resp.Body == http.NoBody || method == http.MethodHead || method == http.MethodConnect {
		return false
	}
	kinds := resp.Header["Content-Type"]
	return len(kinds) == 0 || slices.ContainsFunc(kinds, mayBeHTML)
}

// mayBeHTML reports whether a Content-Type is that of HTML, or says nothing:
// a body of no type, or of an unknown one, is HTML to a browser if it looks
// so (WHATWG MIME Sniffing §7.1). A parameter may follow without a semicolon.
func mayBeHTML(contentType string) bool {
	kind := strings.TrimSpace(contentType)
	if end := strings.IndexAny(kind, ";, \t"); end >= 0 {
		kind = kind[:end]
	}
	switch strings.ToLower(kind) {
	case "text/html", "application/xhtml+xml", "unknown/unknown", "application/unknown", "*/*":
		return true
	}
	return !strings.Contains(kind, "/")
}

// charset returns the one kind of charset that matters to htmlmeta.
func charset(h http.Header) string {
	kind := strings.ToLower(h.Get("Content-Type"))
	switch {
	case !strings.Contains(kind, "utf-16"):
		return ""
	case strings.Contains(kind, "utf-16le"):
		return "utf-16le"
	case strings.Contains(kind, "utf-16be"):
		return "utf-16be"
	}
	return "utf-16"
}

// A decodeFunc undoes a content coding.
type decodeFunc func(io.Reader) (io.Reader, error)

// decoder returns what undoes the coding of a body, nil if it has none.
// known is false for one that nobody can undo.
func (o PageOptions) decoder(h http.Header) (decode decodeFunc, known bool) {
	lines := h["Content-Encoding"]
	if len(lines) == 0 {
		return nil, true
	}
	coding := strings.ToLower(strings.TrimSpace(lines[0]))
	switch {
	case len(lines) > 1 || strings.Contains(coding, ","):
		return nil, false
	case coding == "" || coding == "identity":
		return nil, true
	case coding == "gzip" || coding == "x-gzip":
		return func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }, true
	case coding == "deflate":
		return inflate, true
	case o.Decoder == nil:
		return nil, false
	}
	return func(r io.Reader) (io.Reader, error) { return o.Decoder(coding, r) }, true
}

// inflate undoes "deflate", which is zlib's format (RFC 9110 §8.4.1.2) and
// on some servers the bare one.
func inflate(r io.Reader) (io.Reader, error) {
	b := r.(io.ReadSeeker)
	z, err := zlib.NewReader(b)
	if err == nil {
		return z, nil
	}
	if _, err := b.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return flate.NewReader(b), nil
}
