package command

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"
)

// Lines may end with LF or CR LF. A list that cannot be read to its end causes
// an error.
func TestEachURL(t *testing.T) {
	stop := errors.New("stop")
	for _, tt := range []struct{ name, text, want, err string }{
		{"an empty list", "", "", ""},
		{"a line without its end", "/a", "1 /a", ""},
		{"two lines", "/a\n/b\n", "1 /a,2 /b", ""},
		{"CR LF", "/a\r\n/b\r\n", "1 /a,2 /b", ""},
		{"empty lines", "\n/a\n \t\n\n/b", "2 /a,5 /b", ""},
		{"spaces", "  /a b \n", "1 /a b", ""},
		{"a fragment", "/a#b\n#c", "1 /a#b,2 #c", ""},
		{"an error of the caller", "/a\nstop\n/b", "1 /a", "stop"},
		{"a line of a megabyte", "/a\n" + strings.Repeat("x", 1<<20), "1 /a", "read list: "},
	} {
		var got []string
		err := EachURL("list", strings.NewReader(tt.text), func(number int, url string) error {
			if url == "stop" {
				return stop
			}
			got = append(got, fmt.Sprint(number, " ", url))
			return nil
		})
		if got := strings.Join(got, ","); got != tt.want {
			t.Errorf("%s: EachURL passed %q, want %q", tt.name, got, tt.want)
		}
		if tt.err == "" && err != nil {
			t.Errorf("%s: EachURL: %v", tt.name, err)
		}
		if tt.err != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.err)) {
			t.Errorf("%s: EachURL returned the error %v, want one that begins with %q", tt.name, err, tt.err)
		}
	}
	if err := EachURL("list", iotest.ErrReader(stop), nil); !errors.Is(err, stop) {
		t.Errorf("EachURL of a broken reader returned the error %v, want %v", err, stop)
	}
}
