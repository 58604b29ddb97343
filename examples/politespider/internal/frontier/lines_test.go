package frontier_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
)

// ReadLines says how far the good lines reach. An incomplete last line is no
// error.
func TestReadLines(t *testing.T) {
	refused := errors.New("refused")
	for name, tt := range map[string]struct {
		in   io.Reader
		good int64
		err  error
	}{
		"nothing":            {strings.NewReader(""), 0, nil},
		"whole lines":        {strings.NewReader("1\n2\n"), 4, nil},
		"an incomplete line": {strings.NewReader("1\n2"), 2, nil},
		"a damaged line":     {strings.NewReader("1\n\x00\n2\n"), 2, frontier.ErrDamaged},
		"a refused line":     {strings.NewReader("1\n3\n2\n"), 2, refused},
		"a failing disk": {
			io.MultiReader(strings.NewReader("1\n2"), iotest.ErrReader(io.ErrNoProgress)),
			2,
			io.ErrNoProgress,
		},
	} {
		good, err := frontier.ReadLines(tt.in, func(n int) error {
			if n == 3 {
				return refused
			}
			return nil
		})
		if name == "a damaged line" && !strings.HasPrefix(fmt.Sprint(err), "line 2 is damaged: ") {
			t.Errorf("%s: %v", name, err)
		}
		if good != tt.good || !errors.Is(err, tt.err) {
			t.Errorf("%s: %d bytes are good, error %v; want %d, %v", name, good, err, tt.good, tt.err)
		}
	}
}
