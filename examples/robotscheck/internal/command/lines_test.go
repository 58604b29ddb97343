package command

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"
)

// Each line of a list is a URL, whatever its line ends are. What cannot be read
// is an error, not the end of the list.
func TestEachURL(t *testing.T) {
	stop := errors.New("stop")
	for _, tt := range []struct{ name, text, want, err string }{
		{"nothing", "", "", ""},
		{"one", "/a", "1 /a", ""},
		{"lines", "/a\n/b\n", "1 /a,2 /b", ""},
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
		if strings.Join(got, ",") != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.HasPrefix(err.Error(), tt.err) {
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
	}
	if err := EachURL("list", iotest.ErrReader(stop), nil); !errors.Is(err, stop) {
		t.Error(err)
	}
}
