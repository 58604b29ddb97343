package cli

import (
	"slices"
	"strings"
	"testing"
)

// Each line is a single Write, because several processes may append to one
// file, and a process may be killed at any time.
func TestNewEncoder_OneWrite(t *testing.T) {
	var writes []string
	enc := NewEncoder(writerFunc(func(b []byte) (int, error) {
		writes = append(writes, string(b))
		return len(b), nil
	}))
	long := strings.Repeat("x", 1<<20)
	for _, text := range []string{"http://a.example/?a&b", long} {
		if err := enc.Encode(text); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{`"http://a.example/?a&b"` + "\n", `"` + long + `"` + "\n"}
	if !slices.Equal(writes, want) {
		t.Errorf("Encode made %d writes, %.40q, want %d writes, %.40q", len(writes), writes, len(want), want)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
