package htmlmeta

import (
	"bytes"
	"strings"
	"testing"
)

// nextMSlowly does what nextM does, byte by byte.
func nextMSlowly(b []byte, from int) int {
	for i := from; i < len(b); i++ {
		if b[i] == '<' && (i+1 == len(b) || b[i+1] == 'm' || b[i+1] == 'M') {
			return i
		}
	}
	return len(b)
}

func checkNextM(t *testing.T, b []byte, from int) {
	t.Helper()
	if got, want := nextM(b, from), nextMSlowly(b, from); got != want {
		t.Errorf("nextM(%q, %d) = %d, want %d", b, from, got, want)
	}
}

// TestNextM_AtEveryOffset checks that nextM finds a tag at every offset of a
// page. Four beginnings of the page are tried: no tag, one tag, a cluster of
// tags, and two tags that are far apart.
func TestNextM_AtEveryOffset(t *testing.T) {
	for size := range maxStretch {
		if size > 210 && size < maxStretch-3 {
			continue
		}
		for at := range size {
			for _, tag := range []string{"<m", "<M", "<n", "m<", "<"} {
				for _, begin := range []string{"", "<p", strings.Repeat("<p>", 30), "<" + strings.Repeat("-", near+1) + "<"} {
					b := bytes.Repeat([]byte("x"), size)
					copy(b, begin)
					copy(b[at:], tag)
					checkNextM(t, b, 0)
					checkNextM(t, b, at)
				}
			}
		}
	}
}

// TestNextM_LooksNoFurtherThanItsEnd checks that bytes beyond the slice do not
// change the result.
func TestNextM_LooksNoFurtherThanItsEnd(t *testing.T) {
	whole := []byte(strings.Repeat("<", 300) + strings.Repeat("m", 300))
	for end := range 300 {
		checkNextM(t, whole[:end:end], 0)
	}
	for size := range 200 {
		b := append(bytes.Repeat([]byte("x"), size), "<meta"...)
		if got := nextM(b[:size], 0); got != size {
			t.Fatalf("of %d bytes: found %d beyond the end", size, got)
		}
	}
}

func FuzzNextM(f *testing.F) {
	f.Add([]byte(strings.Repeat("<p><M", 40)), byte(0))
	f.Add([]byte(strings.Repeat(" ", 63)+"<m"), byte(1))
	f.Add([]byte(strings.Repeat("\x3c\x80\xbc\x4d\xcd", 30)), byte(7))
	f.Fuzz(func(t *testing.T, b []byte, from byte) {
		checkNextM(t, b, min(int(from), len(b)))
	})
}
