package audit

import (
	"io"
	"strings"
	"testing"
)

// Software that writes WARC files often decodes a body, but does not change the
// header. A plain robots.txt with "Content-Encoding: br" must be read, because
// all requests to its site would be unaudited otherwise.
func TestRobotsTxts_ContentEncoding(t *testing.T) {
	const text = "User-agent: *\nDisallow: /private/ # ä\n"
	const brotli = "\x1b\x27\x00\x00\x24\x03\x85\x90\x5a\x0b\x01\x03" // no text
	const zstd = "\x28\xb5\x2f\xfd\x04\x00\x41\x00\x00User-ag\x00"
	for _, tt := range []struct{ name, coding, body, want string }{
		{"no coding", "", text, text},
		{"plain under br", "br", text, text},
		{"plain under zstd", "zstd", text, text},
		{"plain under utf-8", "utf-8", text, text},
		{"plain under UTF8", "UTF8", text, text},
		{"plain under gzip", "gzip", text, text},
		{"plain under two", "gzip, br", text, text},
		{"plain under a mistake", "text/plain", text, text},
		{"a long text under br", "br", strings.Repeat("# ä\n", 5000) + text, strings.Repeat("# ä\n", 5000) + text},
		{"a text of 4,096 bytes and more", "br", strings.Repeat("x", 4095) + "ä", strings.Repeat("x", 4095) + "ä"},
		{"an empty body under br", "br", "", ""},
		{"gzip", "gzip", gzipped(text), text},
		{"gzip under utf-8", "utf-8", gzipped(text), text},
		{"gzip without a label", "", gzipped(text), text},
		{"gzip with a newline after it", "gzip", gzipped(text) + "\n", text},
		{"brotli", "br", brotli, "error"},
		{"zstd", "zstd", zstd, "error"},
		{"zeros under br", "br", text + "\x00", "error"},
		{"gzip in brotli", "gzip, br", gzipped(text), "error"},
	} {
		file := warcOf(answer("https://a.example/robots.txt", "2026-11-20T10:00:00Z", "200 OK", tt.body, "Content-Encoding: "+tt.coding))
		for resp, err := range RobotsTxts(strings.NewReader(file)) {
			got := "error"
			if err == nil {
				body, _ := io.ReadAll(resp.Body)
				got = string(body)
			}
			if got != tt.want {
				t.Errorf("%s: got %.60q (error %v), want %.60q", tt.name, got, err, tt.want)
			}
		}
	}
}
