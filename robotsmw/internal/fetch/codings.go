package fetch

import (
	"bufio"
	"compress/flate"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/goodbots/courtesy/internal/bodycode"
)

// decodedBody returns the body without its content coding. Reading a coded body
// fails when ctx ends, or after [maxCodedBytes] bytes of input. A body without
// a coding, or one that Base has already decoded, is returned unchanged. If
// Content-Encoding is not the name of a coding, but of a charset, for example,
// the body is returned unchanged, and reading it fails unless it is plain text.
//
// Some servers send a body whose coding differs from Content-Encoding. Plain
// text that is labeled gzip is read as text, and gzip without a label is
// detected.
func decodedBody(ctx context.Context, resp *http.Response) (io.Reader, error) {
	if resp.Uncompressed {
		return resp.Body, nil
	}
	coding, err := contentCoding(resp.Header)
	if err != nil {
		return nil, err
	}
	if coding == "" {
		plain := bodycode.NewReader(resp.Body)
		if !bodycode.IsGzip(plain) {
			return plain, nil
		}
		return gzipBody(bodycode.NewReader(&codedBody{ctx, plain, maxCodedBytes + 1}))
	}
	r := bodycode.NewReader(&codedBody{ctx, resp.Body, maxCodedBytes + 1})
	switch _, err := r.Peek(1); {
	case err == io.EOF: // an empty body, in any coding
		return strings.NewReader(""), nil
	case err != nil:
		return nil, err
	}
	switch coding {
	case "gzip", "x-gzip":
		if !bodycode.IsGzip(r) {
			return &plainText{r, coding}, nil
		}
		return gzipBody(r)
	case "deflate":
		// This is the zlib format (RFC 9110 §8.4.1.2). Some servers send bare
		// deflate data (RFC 1951) instead.
		if h, _ := r.Peek(2); len(h) == 2 && h[0]&0x0f == 8 && (int(h[0])<<8|int(h[1]))%31 == 0 {
			z, err := zlib.NewReader(r)
			if err != nil {
				return nil, fmt.Errorf("deflate: %w", err)
			}
			return z, nil
		}
		return flate.NewReader(r), nil
	case "br", "zstd", "compress", "x-compress", "dcb", "dcz": // IANA, HTTP Content Coding Registry
		return nil, unknownCoding(coding)
	}
	return &plainText{r, coding}, nil
}

func gzipBody(r *bufio.Reader) (io.Reader, error) {
	z, err := bodycode.NewGzipReader(r)
	if err != nil {
		return nil, fmt.Errorf("gzip: %w", err)
	}
	return z, nil
}

func unknownCoding(coding string) error { return fmt.Errorf("unknown content coding %.60q", coding) }

// plainText reads a body whose Content-Encoding is unknown or wrong. Reading
// fails at a control character that plain text does not contain, because such a
// body must have a coding.
type plainText struct {
	body   io.Reader
	coding string
}

func (t *plainText) Read(p []byte) (int, error) {
	n, err := t.body.Read(p)
	for _, b := range p[:n] {
		if b == 0x7f || b < ' ' && !strings.ContainsRune("\t\r\n\f", rune(b)) {
			return 0, unknownCoding(t.coding)
		}
	}
	return n, err
}

// contentCoding returns the content coding of a body, in lower case, or "" if
// the body has none. More than one coding is an error: no robots.txt needs two,
// and a hostile body could take long to decode.
func contentCoding(h http.Header) (coding string, err error) {
	for _, line := range h.Values("Content-Encoding") {
		for name := range strings.SplitSeq(line, ",") {
			name = strings.TrimSpace(name)
			switch {
			case name == "", strings.EqualFold(name, "identity"):
			case coding != "":
				return "", errors.New("more than one content coding")
			default:
				coding = strings.ToLower(name)
			}
		}
	}
	return coding, nil
}

// maxCodedBytes limits the bytes of a coded body that are read. It is about
// eight times robotstxt.MaxSize.
const maxCodedBytes = 4 << 20

// A codedBody is the reader from which a decoder reads a coded body. Its limit
// is necessary because a decoder may read many bytes before it returns one: a
// gzip file can consist of empty members.
type codedBody struct {
	ctx  context.Context
	body io.Reader
	left int
}

func (c *codedBody) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	if c.left == 0 {
		return 0, fmt.Errorf("the coded body is larger than %d MiB", maxCodedBytes>>20)
	}
	n, err := c.body.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}
