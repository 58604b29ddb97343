package robotstxt

import (
	"strings"
	"testing"
)

// A file of exactly MaxSize bytes is read whole. In one that is a byte longer,
// the lines at the end do not count, and Truncated says so. A byte order mark
// does not count.
func TestTruncated(t *testing.T) {
	const rule = "Disallow: /\n"
	head := "User-agent: *\n"
	fill := func(n int) string { return head + strings.Repeat("#", n-len(head)-len(rule)-1) + "\n" + rule }
	for _, tt := range []struct {
		name, text         string
		truncated, allowed bool
	}{
		{"empty", "", false, true},
		{"as long as may be", fill(MaxSize), false, false},
		{"with a byte order mark", "\ufeff" + fill(MaxSize), false, false},
		{"a byte too long", fill(MaxSize + 1), true, true},
		{"much too long", fill(2 * MaxSize), true, true},
	} {
		f := Parse([]byte(tt.text))
		if f.Truncated() != tt.truncated || f.Rules().Allowed("/") != tt.allowed {
			t.Errorf("%s: truncated %v, allowed %v", tt.name, f.Truncated(), f.Rules().Allowed("/"))
		}
	}
}
