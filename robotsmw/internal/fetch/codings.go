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
// fails when ctx ends, or after [longestCoded] bytes of input. A body that has
// no coding, or that Base has decoded already, is returned unchanged. If the
// header names something that is no coding, such as a charset, the body is read
// unchanged, as long as it is plain text.
//
// Many servers send another coding than they name. A plain text under the name
// of gzip is read as text, and a gzip without a name is recognized.
func decodedBody(ctx context.Context, resp *http.Response) (io.Reader, error) {
	if resp.Uncompressed {
		return resp.Body, nil
	}
	coding, err := codingOf(resp.Header)
	if err != nil {
		return nil, err
	}
	if coding == "" {
		plain := bodycode.NewReader(resp.Body)
		if !bodycode.IsGzip(plain) {
			return plain, nil
		}
		return gzipBody(bodycode.NewReader(&codedBody{ctx, plain, longestCoded + 1}))
	}
	r := bodycode.NewReader(&codedBody{ctx, resp.Body, longestCoded + 1})
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
// fails at a control character that no text has: then the body has been coded.
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

// codingOf returns the content coding of a body, in lower case, or "" if the
// body has none. More than one coding is an error. No robots.txt needs two, and
// a hostile body could take long to decode.
func codingOf(h http.Header) (coding string, err error) {
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

// longestCoded is how many bytes of a coded body are read at most, however few
// bytes they decode to. It is about eight times robotstxt.MaxSize.
const longestCoded = 4 << 20

// A codedBody is the reader from which a decoder reads a coded body. It
// has a limit, because a decoder may read a lot before it returns a byte: a
// gzip can consist of empty members.
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
		return 0, fmt.Errorf("the coded body has more than %d MiB", longestCoded>>20)
	}
	n, err := c.body.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}
