package htmlmeta

import (
	"strings"
	"testing"
)

// A page has a script of more than 256 KiB in its head, and a noindex after it.
// The noindex is not read, so the result is Truncated. A
// page whose body begins within the window is not cut short: nearly all long
// pages are like that, and their metas have been read.
func TestWindow(t *testing.T) {
	long := strings.Repeat("x", Window)
	for _, tt := range []struct {
		name, page         string
		noIndex, truncated bool
	}{
		{"short", "<head>" + robots, true, false},
		{"a head that never ends, short", "<head><title>x</title>", false, false},
		{"a long script in the head", "<head><script>" + long + "</script>" + robots, false, true},
		{"a long comment", "<!-- " + long + " -->" + robots, false, true},
		{"a long tag", `<link title="` + long + `">` + robots, false, true},
		{
			name:      "a meta that crosses the end",
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
		for how, d := range map[string]interface {
			NoIndex() bool
			Truncated() bool
		}{"Scan": Scan([]byte(tt.page)), "Scanner": pieces.Directives()} {
			if d.NoIndex() != tt.noIndex || d.Truncated() != tt.truncated {
				t.Errorf("%s, %s: noindex %v, truncated %v",
					tt.name, how, d.NoIndex(), d.Truncated())
			}
		}
	}
}
