// Package readable turns the body of a response into text for a reader.
package readable

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strings"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
)

// A Page is what a reader sees of a page, in UTF-8.
type Page struct {
	Title string // of HTML; empty if there is none
	Text  string
}

// ReadResponse reads at most limit bytes of a response's body, and returns the
// page that they are. isTruncated reports whether the body is longer. The
// caller closes the body. Errors are those of the body and of Read.
func ReadResponse(resp *http.Response, limit int) (page Page, isTruncated bool, err error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	if err != nil {
		return Page{}, false, fmt.Errorf("read %s: %w", resp.Request.URL.Redacted(), err)
	}
	isTruncated = len(body) > limit
	body = body[:min(len(body), limit)]
	page, err = Read(body, cmp.Or(resp.Header.Get("Content-Type"), http.DetectContentType(body)))
	return page, isTruncated, err
}

// Read decodes a body of HTML or plain text by its Content-Type and, in HTML,
// by the charset that it names. Plain text is unchanged apart from its charset.
// Read returns an error for any other type, and for HTML that cannot be parsed.
func Read(body []byte, contentType string) (Page, error) {
	mediaType, _, _ := mime.ParseMediaType(contentType)
	encoding, _, _ := charset.DetermineEncoding(body, contentType)
	utf8, err := encoding.NewDecoder().Bytes(body)
	if err != nil {
		return Page{}, fmt.Errorf("decode the page: %w", err)
	}
	switch mediaType {
	case "text/plain":
		return Page{Text: string(utf8)}, nil
	case "text/html", "application/xhtml+xml":
		root, err := html.Parse(bytes.NewReader(utf8))
		if err != nil {
			return Page{}, fmt.Errorf("parse the page: %w", err)
		}
		title := goquery.NewDocumentFromNode(root).Find("head title").First().Text()
		return Page{Title: strings.TrimSpace(title), Text: readable(root)}, nil
	}
	return Page{}, fmt.Errorf("the type of the page is %q: only text/html and text/plain can be read", contentType)
}

// These elements are not shown, or do not begin a new line.
var (
	hidden = elements("script style noscript template svg iframe object")
	inline = elements("a abbr b bdi bdo button cite code data del dfn em font i img ins kbd label mark " +
		"q s samp small span strong sub sup td th time tt u var wbr")
)

func elements(names string) map[string]bool {
	set := make(map[string]bool)
	for _, name := range strings.Fields(names) {
		set[name] = true
	}
	return set
}

var whitespace = regexp.MustCompile(`\s+`)

// readable returns the text that a browser would show, with each block on lines
// of its own. It keeps the whitespace in pre elements.
func readable(root *html.Node) string {
	var b strings.Builder
	isAtStart := func() bool { return b.Len() == 0 || strings.HasSuffix(b.String(), "\n") }
	endLine := func() {
		if !isAtStart() {
			b.WriteByte('\n')
		}
	}
	var visit func(n *html.Node, pre bool)
	visit = func(n *html.Node, pre bool) {
		switch {
		case n.Type == html.TextNode && pre:
			b.WriteString(n.Data)
		case n.Type == html.TextNode:
			text := whitespace.ReplaceAllString(n.Data, " ")
			if isAtStart() || strings.HasSuffix(b.String(), " ") {
				text = strings.TrimPrefix(text, " ")
			}
			b.WriteString(text)
		case n.Type == html.ElementNode && hidden[n.Data]:
			return
		}
		isBlock := n.Type == html.ElementNode && !inline[n.Data]
		if isBlock {
			endLine()
		}
		for child := range n.ChildNodes() {
			visit(child, pre || n.Data == "pre")
		}
		if isBlock {
			endLine()
		}
		if n.Data == "td" || n.Data == "th" {
			b.WriteByte(' ') // cells of one row stay apart
		}
	}
	visit(root, false)
	endLine()
	return strings.ReplaceAll(b.String(), " \n", "\n")
}
