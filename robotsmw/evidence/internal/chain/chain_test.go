package chain

import (
	"bufio"
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestSegments checks that segments are sorted by their numbers, also by those
// of more than six digits, and that other names are ignored.
func TestSegments(t *testing.T) {
	dir := make(fstest.MapFS)
	for _, name := range []string{
		LinesName(1000000),
		LinesName(2),
		LinesName(999999),
		"evidence-2.jsonl",
		"evidence-000000.jsonl",
		"evidence--00001.jsonl",
		WARCName(2),
		"lock",
	} {
		dir[name] = new(fstest.MapFile)
	}
	all, err := Segments(dir)
	if want := []int{2, 999999, 1000000}; err != nil || !slices.Equal(all, want) {
		t.Errorf("Segments = %v, error %v; want %v and no error", all, err, want)
	}
}

// TestReadLine_TooLong checks that ReadLine returns a part of a line that is
// too long, and counts all its bytes.
func TestReadLine_TooLong(t *testing.T) {
	in := bufio.NewReader(strings.NewReader(strings.Repeat("x", 2*Longest) + "\nnext\n"))
	line, size, err := ReadLine(in, Longest)
	if err != nil || size != 2*Longest+1 {
		t.Errorf("ReadLine returns the size %d and the error %v, want %d and no error", size, err, 2*Longest+1)
	}
	if minLen := Longest - 1<<16; len(line) < minLen || len(line) > Longest {
		t.Errorf("ReadLine returns %d bytes of the line, want %d to %d", len(line), minLen, Longest)
	}
	if line, _, err := ReadLine(in, Longest); string(line) != "next\n" || err != nil {
		t.Errorf("the second ReadLine = %q, %v, want %q", line, err, "next\n")
	}
}

// FuzzCheck checks that Check does not panic, and that it accepts only lines in
// the format of Append.
func FuzzCheck(f *testing.F) {
	line, _ := Start().Append(nil, []byte(`"event":"close"`))
	f.Add(line)
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, line []byte) {
		before, after, ok := Check(line)
		if ok && (after.N != before.N+1 || !bytes.HasPrefix(line, []byte(`{"n":`))) {
			t.Errorf("Check(%q) accepts a line with the number %d before it and %d after it, want rejection, or the next number and a line that begins with {\"n\":", line, before.N, after.N)
		}
		members, _ := json.Marshal(string(line))
		made, end := Start().Append(nil, []byte(`"event":`), members)
		if b, a, ok := Check(made); !ok || b != Start() || a != end || !json.Valid(made) {
			t.Errorf("Check(%q) = %v, %v, %t, want %v, %v, true", made, b, a, ok, Start(), end)
		}
	})
}
