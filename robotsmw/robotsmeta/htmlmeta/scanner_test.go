package htmlmeta

import (
	"strings"
	"testing"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

// TestPiecesOfAHostilePage writes hostile pages in pieces of 16 bytes, and gets
// the directives after each piece. The cost of a page must not grow with
// the square of its length. In the end the scanner must have found what Scan
// finds in the whole page.
func TestPiecesOfAHostilePage(t *testing.T) {
	if testmain.RaceEnabled {
		t.Skip("the race detector finds nothing in one goroutine, and makes this ten times slower")
	}
	const last = `--></script>"><meta name="robots" content="nofollow">`
	pages := map[string]string{
		"text":               strings.Repeat("x", Window),
		"cut tags":           strings.Repeat("<meta ", Window/6),
		"cut names":          strings.Repeat("<meta name=robots ", Window/18),
		"whole tags":         strings.Repeat("<meta name=robots>", Window/18),
		"an open script":     "<script>" + strings.Repeat("<meta name=robots>", Window/18),
		"an open comment":    "<!--" + strings.Repeat("<meta name=robots>", Window/18),
		"an open quote":      `<meta name=robots content="` + strings.Repeat("x", Window),
		"quotes":             strings.Repeat(`<meta name="`, Window/12),
		"references":         strings.Repeat("<meta name=&", Window/12),
		"words and one meta": robots + strings.Repeat(" a", Window/2),
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
			if got, want := says(s.Directives()), says(Scan([]byte(whole))); got != want {
				t.Errorf("%s, %d bytes: %q in pieces, %q in one", name, len(whole), got, want)
			}
			if s.rescanned > maxRescanned+16*Window {
				t.Errorf("%s: %d bytes were read again, of %d", name, s.rescanned, len(whole))
			}
		}
	}
}

// A page in UTF-16 arrives in pieces that end within a character, and the
// reader uses one buffer for all pieces, as io.Copy does.
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
			t.Errorf("pieces of %d bytes: noindex %v in %q", size, s.Directives().NoIndex(), text)
		}
	}
}
