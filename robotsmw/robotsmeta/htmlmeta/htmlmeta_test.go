package htmlmeta

import (
	"strings"
	"testing"

	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

// summary returns "noindex", "nofollow", both or neither.
func summary(d robotsmeta.Directives) string {
	var words []string
	if d.NoIndex() {
		words = append(words, "noindex")
	}
	if d.NoFollow() {
		words = append(words, "nofollow")
	}
	return strings.Join(words, " ")
}

const robots = `<meta name="robots" content="noindex">`

func TestScan(t *testing.T) {
	for _, test := range []struct{ name, page, want string }{
		{"head", "<html><head>" + robots + "</head>", "noindex"},
		{"body", "<html><head></head><body><p>x" + robots, "noindex"},
		{"after the head", "<head></head>" + robots + "<body>", "noindex"},
		{"no html element", robots, "noindex"},
		{"upper case", `<META NAME="ROBOTS" CONTENT="NOINDEX, NOFOLLOW">`, "noindex nofollow"},
		{"unquoted", `<meta name=robots content=noindex>`, "noindex"},
		{"unquoted before a slash", `<meta name=robots content=noindex/>`, ""},
		{"self-closing", `<meta name=robots content="noindex"/>`, "noindex"},
		{"content first", `<meta content="a>b, noindex" name="robots">`, "noindex"},
		{"slashes between", `<meta/name="robots"/content="noindex">`, "noindex"},
		{"character references", `<meta name="&#114;obots" content="no&#105;ndex">`, "noindex"},
		{
			name: "first duplicate attribute",
			page: `<meta name="robots" content="noindex" content="nofollow" name="x">`,
			want: "noindex",
		},
		{"two metas", robots + `<meta name="robots" content="nofollow">`, "noindex nofollow"},
		{"value is not content", `<meta name="robots" value="noindex">`, ""},
		{"the robot's name", `<meta name="ExampleBot" content="nofollow">`, "nofollow"},
		{"another robot's name", `<meta name="googlebot" content="nofollow">`, ""},
		{"comment", "<!-- " + robots + " -->", ""},
		{
			name: "a meta after a comment",
			page: "<!-- " + robots + ` --><meta name="robots" content="nofollow">`,
			want: "nofollow",
		},
		{"script", "<script>'" + robots + "'</script>", ""},
		{"a meta after a script", `<script>"<meta name='"</script>` + robots, "noindex"},
		{"style", "<style>" + robots + "</style>", ""},
		{"title", "<title>" + robots + "</title>", ""},
		{"textarea", "<textarea>" + robots + "</textarea>", ""},
		{"xmp", "<xmp>" + robots + "</xmp>", ""},
		{"template", "<template><div>" + robots + "</div></template>", ""},
		{"after a template", "<template></template>" + robots, "noindex"},
		{"noscript", "<noscript>" + robots + "</noscript>", "noindex"},
		{"svg", "<svg><desc>" + robots + "</desc></svg>", "noindex"},
		{"title in svg", "<svg><title>" + robots + "</title></svg>", "noindex"},
		{"template in svg", "<svg><template/></svg>" + robots, "noindex"},
		{"template open in svg", "<svg><template></svg>" + robots, "noindex"},
		{"template open in math", "<math><template></math>" + robots, "noindex"},
		{"svg in a template", "<template><svg></svg>" + robots + "</template>", ""},
		{"table", "<table><tr>" + robots + "</table>", "noindex"},
		{"incomplete tag", `<meta name="robots" content="noindex"`, ""},
		{"another element", `<metadata name="robots" content="noindex">`, ""},
		{"UTF-16 with a byte order mark", "\xff\xfe" + utf16le(robots), "noindex"},
		{"UTF-16 without a byte order mark", utf16le(robots), "noindex"},
		{"big-endian UTF-16", "\xfe\xff" + utf16be(robots), "noindex"},
		{"UTF-16 after a line break", utf16le("\n" + robots), "noindex"},
		{"big-endian UTF-16 after a line break", utf16be("\n" + robots), "noindex"},
		{"after the window", strings.Repeat(" ", Window) + robots, ""},
		{"at the end of the window", strings.Repeat(" ", Window-len(robots)) + robots, "noindex"},
		{"across the end of the window", strings.Repeat(" ", Window-len(robots)+1) + robots, ""},
		{"empty", "", ""},
		{"one byte", "<", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := summary(Scan([]byte(test.page), "ExampleBot")); got != test.want {
				t.Errorf("Scan returns %q, want %q", got, test.want)
			}
			for _, piece := range []int{1, 7, 4096} {
				s := Scanner{Tokens: []string{"ExampleBot"}}
				for p := []byte(test.page); len(p) > 0; p = p[min(piece, len(p)):] {
					s.Write(p[:min(piece, len(p))])
					if piece != 1 || len(test.page) < 1000 {
						s.Directives()
					}
				}
				if got := summary(s.Directives()); got != test.want {
					t.Errorf("in pieces of %d bytes, Directives returns %q, want %q",
						piece, got, test.want)
				}
			}
		})
	}
}

func utf16le(s string) string {
	var b strings.Builder
	for i := range len(s) {
		b.Write([]byte{s[i], 0})
	}
	return b.String()
}

func utf16be(s string) string { return "\x00" + strings.TrimSuffix(utf16le(s), "\x00") }

func TestScanner_HeadOnly(t *testing.T) {
	for _, test := range []struct{ name, page, want string }{
		{"head", "<html><head>" + robots, "noindex"},
		{"after the head", "<html><head></head> " + robots, "noindex"},
		{"after a byte order mark", "\ufeff <!DOCTYPE html><head>" + robots, "noindex"},
		{"after a byte order mark of UTF-16", "\xff\xfe" + utf16le("<head>"+robots), "noindex"},
		{"body", "<html><head></head><body>" + robots, ""},
		{"after a div in the head", "<head><div>" + robots, ""},
		{"after text in the head", "<head>hello" + robots, ""},
		{
			name: "after elements of the head",
			page: "<head> <title>t</title><link><script>x</script><style>y</style><noscript>" + robots,
			want: "noindex",
		},
		{
			name: "after a template in the head",
			page: "<head><template>text<div></div></template>" + robots,
			want: "noindex",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := Scanner{HeadOnly: true}
			s.Write([]byte(test.page))
			if got := summary(s.Directives()); got != test.want {
				t.Errorf("Directives returns %q, want %q", got, test.want)
			}
		})
	}
}
