package readable

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func TestVisibleText(t *testing.T) {
	for _, tt := range []struct{ page, want string }{
		{"", ""},
		{"<title> A  page </title><body>text", "A page\ntext\n"},
		{"<p>one\n two <b>three</b> , <i>four</i></p>", "one two three , four\n"},
		{"<p>a<br>b<br><br>c<hr>d", "a\nb\nc\nd\n"},
		{"<div><div>a</div></div>b<div>c</div>", "a\nb\nc\n"},
		{"<ul><li>a<li>b <a href=x>c</a></ul>", "a\nb c\n"},
		{"<table><tr><td>a<td>b<tr><th>c<td> d</table>", "a b\nc d\n"},
		{"<pre>if x:\n    y()\n</pre>z", "if x:\n    y()\nz\n"},
		{"<style>a{}</style><script>b()</script><noscript>c</noscript><template>d</template>e", "e\n"},
		{"a<!-- b -->c &amp; &lt;d&gt;", "ac & <d>\n"},
	} {
		root, err := html.Parse(strings.NewReader(tt.page))
		if err != nil {
			t.Fatal(err)
		}
		if got := visibleText(root); got != tt.want {
			t.Errorf("visible text of %s\nis %q, want %q", tt.page, got, tt.want)
		}
	}
}

// The parser rejects deep nesting, which would exhaust the stack. Read needs
// linear time for a page of very many elements: with quadratic time, this test
// would time out.
func TestRead_LargePages(t *testing.T) {
	const n = 1 << 20 / 20
	if _, err := Read([]byte(strings.Repeat("<div>", n)), "text/html"); err == nil {
		t.Error("Read of a deeply nested page succeeded, want an error")
	}
	for unit, page := range map[string]string{
		"a\n": strings.Repeat("<br>a", n),
		"a ":  "<table><tr>" + strings.Repeat("<td>a", n) + "<td>b",
	} {
		p, err := Read([]byte(page), "text/html")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(p.Text, unit); got != n {
			t.Errorf("text contains %q %d times, want %d", unit, got, n)
		}
	}
}

func TestRead_Title(t *testing.T) {
	for page, want := range map[string]string{
		"<title> A page\n</title>text":                     "A page",
		"<svg><title>of a picture</title></svg>":           "",
		"<title>one</title><body><title>two</title>":       "one",
		"<meta charset=iso-8859-1><title>caf\xe9</title>a": "café",
		"text": "",
	} {
		p, err := Read([]byte(page), "text/html")
		if err != nil || p.Title != want {
			t.Errorf("title of %q is %q, error %v; want %q", page, p.Title, err, want)
		}
	}
}
