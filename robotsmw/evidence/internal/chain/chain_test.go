package chain

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"
)

// Segments are sorted by their numbers, also beyond six digits. A name that no
// writer gives is no segment.
func TestSegments(t *testing.T) {
	dir := make(fstest.MapFS)
	for _, name := range []string{LinesName(1000000), LinesName(2), LinesName(999999), "evidence-2.jsonl", "evidence-000000.jsonl", "evidence--00001.jsonl", WARCName(2), "lock"} {
		dir[name] = new(fstest.MapFile)
	}
	all, err := Segments(dir)
	if err != nil || len(all) != 3 || all[0] != 2 || all[1] != 999999 || all[2] != 1000000 {
		t.Errorf("%v, %v", all, err)
	}
}

// Of a line that is too long, ReadLine keeps a part, and counts all its bytes.
func TestReadLine_TooLong(t *testing.T) {
	in := bufio.NewReader(strings.NewReader(strings.Repeat("x", 2*Longest) + "\nnext\n"))
	line, size, err := ReadLine(in, Longest)
	if err != nil || size != 2*Longest+1 || len(line) < Longest-1<<16 || len(line) > Longest {
		t.Errorf("%d bytes of %d, %v", len(line), size, err)
	}
	if line, _, err := ReadLine(in, Longest); string(line) != "next\n" || err != nil {
		t.Errorf("then %q, %v", line, err)
	}
}

// Check never panics. A line that Append made, and no other form, is good.
func FuzzCheck(f *testing.F) {
	line, _ := Start().Append(nil, []byte(`"event":"close"`))
	f.Add(line)
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, line []byte) {
		before, after, ok := Check(line)
		if ok && (after.N != before.N+1 || !bytes.HasPrefix(line, []byte(`{"n":`))) {
			t.Errorf("%q follows %d", line, before.N)
		}
		members, _ := json.Marshal(string(line))
		made, end := Start().Append(nil, []byte(`"event":`), members)
		if b, a, ok := Check(made); !ok || b != Start() || a != end || !json.Valid(made) {
			t.Errorf("%q is not good", made)
		}
	})
}
