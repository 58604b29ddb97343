package frontier_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
)

// ReadLines returns the number of bytes of the good lines. An incomplete last
// line is not an error.
func TestReadLines(t *testing.T) {
	errThree := errors.New("three")
	failingDisk := io.MultiReader(strings.NewReader("1\n2"), iotest.ErrReader(io.ErrNoProgress))
	for _, tt := range []struct {
		name string
		in   io.Reader
		good int64
		err  error
	}{
		{"no lines", strings.NewReader(""), 0, nil},
		{"whole lines", strings.NewReader("1\n2\n"), 4, nil},
		{"an incomplete line", strings.NewReader("1\n2"), 2, nil},
		{"a damaged line", strings.NewReader("1\n\x00\n2\n"), 2, frontier.ErrDamaged},
		{"a line for which take returns an error", strings.NewReader("1\n3\n2\n"), 2, errThree},
		{"a failing disk", failingDisk, 2, io.ErrNoProgress},
	} {
		good, err := frontier.ReadLines(tt.in, func(n int) error {
			if n == 3 {
				return errThree
			}
			return nil
		})
		if good != tt.good || !errors.Is(err, tt.err) {
			t.Errorf("%s: ReadLines = %d, %v; want %d, %v", tt.name, good, err, tt.good, tt.err)
		}
	}
}

// The error on a damaged line contains its number.
func TestReadLines_LineNumber(t *testing.T) {
	_, err := frontier.ReadLines(strings.NewReader("1\n\x00\n"), func(int) error { return nil })
	if want := "line 2 is damaged: "; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("ReadLines returned the error %v, want one that begins with %q", err, want)
	}
}
