package htmlmeta

import (
	"strings"
	"testing"

	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

// TestWindow checks that the result is Truncated if the head does not end
// within the window. It is not Truncated if the body begins within the window,
// as that of nearly all long pages does, because all meta elements of the head
// have been found.
func TestWindow(t *testing.T) {
	long := strings.Repeat("x", Window)
	for _, tt := range []struct {
		name, page         string
		noIndex, truncated bool
	}{
		{"short", "<head>" + robots, true, false},
		{"a short page without the end of the head", "<head><title>x</title>", false, false},
		{"a long script in the head", "<head><script>" + long + "</script>" + robots, false, true},
		{"a long comment", "<!-- " + long + " -->" + robots, false, true},
		{"a long tag", `<link title="` + long + `">` + robots, false, true},
		{
			name:      "a meta across the end of the window",
			page:      "<head><!-- " + long[:Window-40] + " --><meta name=robots content=noindex><body>",
			truncated: true,
		},
		{"a long body", "<head>" + robots + "<body>" + long, true, false},
		{"a long body without a body tag", "<title>a</title>text<p>" + long, false, false},
		{"a long body, in UTF-16", "\xff\xfe" + utf16le("<title>a</title><p>"+long), false, false},
		{"a long script, in UTF-16", "\xff\xfe" + utf16le("<script>"+long), false, true},
	} {
		pieces := Scanner{}
		for rest := tt.page; rest != ""; {
			n := min(len(rest), 100_000)
			pieces.Write([]byte(rest[:n]))
			rest = rest[n:]
			pieces.Directives()
		}
		pieces.Finish()
		for function, d := range map[string]robotsmeta.Directives{
			"Scan":    Scan([]byte(tt.page)),
			"Scanner": pieces.Directives(),
		} {
			if got := d.NoIndex(); got != tt.noIndex {
				t.Errorf("%s, %s: NoIndex() = %t, want %t", tt.name, function, got, tt.noIndex)
			}
			if got := d.Truncated(); got != tt.truncated {
				t.Errorf("%s, %s: Truncated() = %t, want %t", tt.name, function, got, tt.truncated)
			}
		}
	}
}
