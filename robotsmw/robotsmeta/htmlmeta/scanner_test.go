package htmlmeta

import (
	"strings"
	"testing"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

// TestScanner_HostilePages writes hostile pages in pieces of 16 bytes, and
// calls Directives after each piece. The work must not be quadratic in the
// length of the page, and the result must be the same as that of Scan.
func TestScanner_HostilePages(t *testing.T) {
	if testmain.RaceEnabled {
		t.Skip("the race detector finds nothing in one goroutine, and makes this ten times slower")
	}
	const last = `--></script>"><meta name="robots" content="nofollow">`
	pages := map[string]string{
		"text":                        strings.Repeat("x", Window),
		"incomplete tags":             strings.Repeat("<meta ", Window/6),
		"incomplete tags with a name": strings.Repeat("<meta name=robots ", Window/18),
		"complete tags":               strings.Repeat("<meta name=robots>", Window/18),
		"an open script":              "<script>" + strings.Repeat("<meta name=robots>", Window/18),
		"an open comment":             "<!--" + strings.Repeat("<meta name=robots>", Window/18),
		"an open quote":               `<meta name=robots content="` + strings.Repeat("x", Window),
		"quotes":                      strings.Repeat(`<meta name="`, Window/12),
		"character references":        strings.Repeat("<meta name=&", Window/12),
		"words and one meta":          robots + strings.Repeat(" a", Window/2),
	}
	for name, page := range pages {
		for _, whole := range []string{page, page[:Window-len(last)] + last, page[:Window/2] + last} {
			var s Scanner
			for p := []byte(whole); len(p) > 0; p = p[min(16, len(p)):] {
				s.Write(p[:min(16, len(p))])
				s.Directives()
				if len(whole) < len(page) { // HeadDone is called only for the shorter pages
					s.HeadDone()
				}
			}
			s.Finish()
			if got, want := summary(s.Directives()), summary(Scan([]byte(whole))); got != want {
				t.Errorf("%s, %d bytes in pieces: Directives returns %q, want %q",
					name, len(whole), got, want)
			}
			if s.rescanned > maxRescanned+16*Window {
				t.Errorf("%s: %d bytes were scanned more than once, want at most %d",
					name, s.rescanned, maxRescanned+16*Window)
			}
		}
	}
}

// TestScanner_ReusedBuffer writes a page in UTF-16 in pieces that end within a
// character, from a buffer that is overwritten by the next piece, as io.Copy
// does.
func TestScanner_ReusedBuffer(t *testing.T) {
	page := []byte("\xff\xfe" + utf16le("<title>") + "\x3d\xd8\x00\xde" + utf16le("</title>"+robots))
	for size := 1; size < 8; size++ {
		var s Scanner
		buffer := make([]byte, size)
		for rest := page; len(rest) > 0; {
			n := copy(buffer, rest)
			s.Write(buffer[:n])
			rest = rest[n:]
			clear(buffer)
		}
		text := string(s.Bytes())
		s.Finish()
		if want := "\ufeff<title>\U0001f600</title>" + robots; text != want || !s.Directives().NoIndex() {
			t.Errorf("pieces of %d bytes: NoIndex returns %t for the text %q, want true for %q",
				size, s.Directives().NoIndex(), text, want)
		}
	}
}
