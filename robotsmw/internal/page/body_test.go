package page

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"testing"
	"testing/iotest"
	"time"
)

// A page in gzip is received byte by byte. The number of bytes that are decoded
// to find the end of its head is proportional to the size of the page.
func TestReadAheadOfADrippingPage(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, "<html><head><title>")
	for range 20_000 { // random letters, which gzip hardly compresses
		z.Write([]byte{byte('a' + rand.IntN(26))})
	}
	z.Close()
	size := packed.Len()
	resp := &http.Response{
		StatusCode:    200,
		ContentLength: -1,
		Header:        http.Header{"Content-Type": {"text/html"}},
		Body:          io.NopCloser(iotest.OneByteReader(&packed)),
	}
	decoded := 0
	b := &Body{ReadCloser: resp.Body, left: -1}
	b.decode = func(r io.Reader) (io.Reader, error) { return gzip.NewReader(&counted{r, &decoded}) }
	a := readAhead(context.Background(), b, time.Hour)
	if len(a.data) != size || decoded > 10*size {
		t.Errorf("%d of %d bytes were read, and %d decoded; want all, and at most ten times as many", len(a.data), size, decoded)
	}
}

type counted struct {
	io.Reader
	n *int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	*c.n += n
	return n, err
}
