package cli

import (
	"slices"
	"strings"
	"testing"
)

// Several processes append to one file, and a process may be killed at any
// time. So each line is a single Write.
func TestNewEncoder_OneWrite(t *testing.T) {
	var writes []string
	enc := NewEncoder(writer(func(b []byte) (int, error) {
		writes = append(writes, string(b))
		return len(b), nil
	}))
	long := strings.Repeat("x", 1<<20)
	for _, text := range []string{"http://a.example/?a&b", long} {
		if err := enc.Encode(text); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"\"http://a.example/?a&b\"\n", "\"" + long + "\"\n"}; !slices.Equal(writes, want) {
		t.Errorf("%d writes, the first is %.40q", len(writes), writes)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }
