package htmlmeta

import (
	"bytes"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

// slowIndexM is a slow version of indexM that compares byte by byte.
func slowIndexM(b []byte, from int) int {
	for i := from; i < len(b); i++ {
		if b[i] == '<' && (i+1 == len(b) || b[i+1] == 'm' || b[i+1] == 'M') {
			return i
		}
	}
	return len(b)
}

func checkIndexM(t *testing.T, b []byte, from int) {
	t.Helper()
	if got, want := indexM(b, from), slowIndexM(b, from); got != want {
		t.Errorf("indexM(%q, %d) = %d, want %d", b, from, got, want)
	}
}

// TestIndexM_AllStrings checks all strings of three of some bytes, at each of
// 40 positions of a page.
func TestIndexM_AllStrings(t *testing.T) {
	chars := []byte{'<', 'm', 'M', '=', '-', 0, 0xff}
	n := len(chars)
	for at := range 40 {
		for i := range n * n * n {
			page := []byte(strings.Repeat("x", 43))
			page[at] = chars[i%n]
			page[at+1] = chars[i/n%n]
			page[at+2] = chars[i/n/n]
			for from := range page {
				checkIndexM(t, page, from)
			}
		}
	}
}

// TestIndexM_AtEveryOffset checks that indexM finds a tag at every offset of a
// page. Four beginnings of the page are tried: no tag, one tag, a cluster of
// tags, and two tags that are far from each other.
func TestIndexM_AtEveryOffset(t *testing.T) {
	if testmain.RaceEnabled {
		t.Skip("the race detector finds nothing in one goroutine, and makes this ten times slower")
	}
	begins := []string{
		"",
		"<p",
		strings.Repeat("<p>", 30),
		"<" + strings.Repeat("-", maxShortSkip+1) + "<",
	}
	for size := range maxWindow {
		if size > 210 && size < maxWindow-3 {
			continue
		}
		for at := range size {
			for _, tag := range []string{"<m", "<M", "<n", "m<", "<"} {
				for _, begin := range begins {
					b := bytes.Repeat([]byte("x"), size)
					copy(b, begin)
					copy(b[at:], tag)
					checkIndexM(t, b, 0)
					checkIndexM(t, b, at)
				}
			}
		}
	}
}

// TestIndexM_BytesBeyondTheSlice checks that bytes between the length and the
// capacity of a slice do not change the result.
func TestIndexM_BytesBeyondTheSlice(t *testing.T) {
	whole := []byte(strings.Repeat("<", 300) + strings.Repeat("m", 300))
	for end := range 300 {
		checkIndexM(t, whole[:end:end], 0)
	}
	for size := range 200 {
		b := append(bytes.Repeat([]byte("x"), size), "<meta"...)
		if got := indexM(b[:size], 0); got != size {
			t.Fatalf("indexM in %d bytes without a tag = %d, want %d", size, got, size)
		}
	}
}

func FuzzIndexM(f *testing.F) {
	f.Add([]byte(strings.Repeat("<p><M", 40)), byte(0))
	f.Add([]byte(strings.Repeat(" ", 63)+"<m"), byte(1))
	f.Add([]byte(strings.Repeat("\x3c\x80\xbc\x4d\xcd", 30)), byte(7))
	f.Fuzz(func(t *testing.T, b []byte, from byte) {
		checkIndexM(t, b, min(int(from), len(b)))
	})
}
