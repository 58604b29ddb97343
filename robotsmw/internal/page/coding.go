package page

import (
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strings"
)

// A decodeFunc returns a reader that decodes a coded body.
type decodeFunc func(io.Reader) (io.Reader, error)

// decoder returns the function that decodes the body, or nil if the body has no
// coding. It returns false if the coding cannot be decoded.
func decoder(h http.Header) (decode decodeFunc, known bool) {
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
	}
	return nil, false
}

// inflate decodes the coding "deflate", which is the zlib format (RFC 9110
// §8.4.1.2). It also decodes bare deflate data (RFC 1951), because some servers
// send that instead. r must be an io.ReadSeeker.
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
