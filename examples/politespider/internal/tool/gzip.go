package tool

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
)

// unpack replaces a gzipped body by a reader that decompresses it. Colly limits
// the size of a body, but decompresses the body afterwards, so a few kilobytes
// could become gigabytes. With unpack, the decompressed bytes are limited.
func unpack(resp *http.Response) {
	if resp.Uncompressed || !isGzipped(resp) {
		return
	}
	resp.Body = &gzipBody{ReadCloser: resp.Body}
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
	resp.ContentLength = -1
	resp.Uncompressed = true
}

// isGzipped reports whether colly would decompress the body.
func isGzipped(resp *http.Response) bool {
	coding := strings.ToLower(resp.Header.Get("Content-Encoding"))
	if strings.Contains(coding, "gzip") {
		return true
	}
	contentType := strings.ToLower(resp.Header.Get("Content-Type"))
	if coding == "" && strings.Contains(contentType, "gzip") {
		return true
	}
	path := strings.ToLower(resp.Request.URL.Path)
	return strings.HasSuffix(path, ".xml.gz")
}

// A gzipBody decompresses a body while it is read.
type gzipBody struct {
	io.ReadCloser              // the compressed body
	plain         *gzip.Reader // nil until the first Read
}

func (b *gzipBody) Read(p []byte) (n int, err error) {
	if b.plain == nil {
		if b.plain, err = gzip.NewReader(b.ReadCloser); err != nil {
			return 0, err
		}
	}
	return b.plain.Read(p)
}
