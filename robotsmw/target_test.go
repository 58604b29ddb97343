package robotsmw

import (
	"net/url"
	"strings"
	"testing"
)

// What the rules are matched with is what net/http sends.
func TestTargetIsWhatIsSent(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for _, raw := range []string{
		"http://a.example", "http://a.example/", "http://a.example?", "http://a.example?q", "http://a.example/p?", "http://a.example/p?q=1&a=2",
		"http://a.example/%7ep%2F?%2f", "http://a.example/p?a?b", "http://a.example//p?q", "http://a.example/p?q#f", "http://a.example/" + long + "?" + long,
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		var buf [64]byte
		if got := target(buf[:0], u); got != u.RequestURI() {
			t.Errorf("%s: %q, want %q", raw, got, u.RequestURI())
		}
	}
}
