package refusal

import (
	"bytes"
	"strings"
	"testing"
)

// findPageSlowly returns the same as findPage, but uses no sieve: it searches
// for every mark of every sign.
func findPageSlowly(status int, begin []byte, length int64) *pageSign {
	text := bytes.TrimLeft(begin[:min(len(begin), Window)], "\ufeff \t\r\n\f\v")
	for _, s := range signsOf(status).pages {
		found := bytes.HasPrefix(text, []byte(s.begins)) && (s.atMost == 0 || max(length, int64(len(text))) <= int64(s.atMost))
		for _, m := range s.marks {
			found = found && bytes.Contains(text, []byte(m.text))
		}
		if found {
			return s
		}
	}
	return nil
}

// The sieve finds a mark wherever it is in a text: after any number of bytes,
// up to twenty strides, and also at the very end of the text.
func TestSieve_MissesNoMark(t *testing.T) {
	for name, s := range map[string]*sieve{"short": shortMarks, "long": longMarks} {
		marks := make(map[string]bool)
		for _, places := range s.places {
			for _, p := range places {
				marks[p.mark] = true
			}
		}
		if len(marks) < 2 {
			t.Errorf("%s: %d marks", name, len(marks))
		}
		for mark := range marks {
			for at := range 20 * s.stride {
				for _, after := range []int{0, 1, 7, 8, 9 * s.stride} {
					text := strings.Repeat("<", at) + mark + strings.Repeat(">", after)
					if !s.hasAny([]byte(text)) {
						t.Fatalf("%s: %q after %d bytes and before %d is not seen", name, mark, at, after)
					}
				}
				cut, other := strings.Repeat(">", at)+mark[1:], false
				for m := range marks {
					other = other || strings.Contains(cut, m)
				}
				if s.hasAny([]byte(cut)) != other {
					t.Fatalf("%s: %q without its first byte, after %d others, is not told from it", name, mark, at)
				}
			}
		}
	}
}

// A sign without statuses counts with any status, and has the form that
// table.go demands. If a status is in no sign, only these signs count with it.
func TestSieve_HasAllThatCountsWithAnyStatus(t *testing.T) {
	for i := range pageSigns {
		s := &pageSigns[i]
		if len(s.statuses) == 0 && (s.begins != "<" || s.atMost == 0 || s.atMost > longPage) {
			t.Errorf("%s %s %v: begins with %q, at most %d bytes", s.by, s.kind, s.marks, s.begins, s.atMost)
		}
	}
	for _, status := range []int{200, 202, 404} {
		if !signsOf(status).sieved {
			t.Errorf("status %d is not sieved", status)
		}
	}
	for _, status := range []int{402, 403, 503} {
		if signsOf(status).sieved {
			t.Errorf("status %d is sieved, but has signs of its own", status)
		}
	}
}

func FuzzFindPage(f *testing.F) {
	texts := func() (all []string) {
		for _, s := range pageSigns {
			for _, m := range s.marks {
				all = append(all, m.text)
			}
		}
		return all
	}()
	f.Add(200, uint8(0), uint16(300), uint16(4000), int64(-1), []byte("<html>"))
	f.Add(200, uint8(1), uint16(8_000), uint16(0), int64(9<<10), []byte("\ufeff<p>words</p>"))
	f.Add(200, uint8(4), uint16(3), uint16(1500), int64(0), []byte(`<meta http-equiv="refresh" content="0;/x">`))
	f.Add(403, uint8(9), uint16(3), uint16(90), int64(20_000), []byte(`<div id="x">`))
	f.Fuzz(func(t *testing.T, status int, mark uint8, at, after uint16, length int64, filler []byte) {
		// page consists of repeated filler, with two marks in it.
		var page []byte
		if len(filler) > 0 {
			page = bytes.Repeat(filler, (int(at%Window)+int(after%Window))/len(filler)+1)
		}
		for i := range 2 {
			place := min(int(at%Window)+i*len(filler), len(page))
			text := texts[(int(mark)+i)%len(texts)]
			page = append(page[:place:place], append([]byte(text), page[place:]...)...)
		}
		for _, p := range [][]byte{page, filler, page[:len(page)/2]} {
			if got, want := findPage(status, p, length), findPageSlowly(status, p, length); got != want {
				t.Fatalf("status %d, length %d, %q: %+v, want %+v", status, length, p, got, want)
			}
		}
	})
}
