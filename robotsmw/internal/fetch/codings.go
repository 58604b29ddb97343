package fetch

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// decoded is the body without its content codings: http.Transport undoes
// only a gzip that it asked for itself.
func decoded(resp *http.Response) (io.Reader, error) {
	var r io.Reader = resp.Body
	if resp.Uncompressed {
		return r, nil
	}
	codings := strings.Split(strings.Join(resp.Header.Values("Content-Encoding"), ","), ",")
	if len(codings) > 3 {
		return nil, fmt.Errorf("%d content codings on one another", len(codings))
	}
	for _, coding := range slices.Backward(codings) {
		switch strings.ToLower(strings.TrimSpace(coding)) {
		case "", "identity":
		case "gzip", "x-gzip":
			z, err := gzip.NewReader(r)
			if err == io.EOF { // nothing at all, compressed or not
				return strings.NewReader(""), nil
			}
			if err != nil {
				return nil, fmt.Errorf("gzip: %w", err)
			}
			r = z
		case "deflate":
			// Most senders mean zlib, as the name was defined; some send
			// the bare format.
			b := bufio.NewReader(r)
			if h, _ := b.Peek(2); len(h) == 2 && h[0]&0x0f == 8 && (int(h[0])<<8|int(h[1]))%31 == 0 {
				z, err := zlib.NewReader(b)
				if err != nil {
					return nil, fmt.Errorf("deflate: %w", err)
				}
				r = z
			} else {
				r = flate.NewReader(b)
			}
		default:
			return nil, fmt.Errorf("unknown content coding %q", coding)
		}
	}
	return r, nil
}
