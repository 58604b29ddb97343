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

// A Page is the readable content of a page, in UTF-8.
type Page struct {
	Title string // of HTML; empty if there is none
	Text  string
}

// ReadResponse reads at most maxBytes bytes of a response's body, and returns
// the page that they contain. isTruncated reports whether the body is longer.
// The caller should close the body. ReadResponse returns an error if the body
// cannot be read, or if Read returns one.
func ReadResponse(resp *http.Response, maxBytes int) (page Page, isTruncated bool, err error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(maxBytes)+1))
	if err != nil {
		return Page{}, false, fmt.Errorf("read %s: %w", resp.Request.URL.Redacted(), err)
	}
	isTruncated = len(body) > maxBytes
	body = body[:min(len(body), maxBytes)]
	contentType := cmp.Or(resp.Header.Get("Content-Type"), http.DetectContentType(body))
	page, err = Read(body, contentType)
	return page, isTruncated, err
}

// Read decodes a body of HTML or plain text. The charset is that of the
// Content-Type or of a meta element. Plain text is otherwise unchanged. Read
// returns an error for any other type, and for HTML that cannot be parsed.
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
		return Page{Title: strings.TrimSpace(title), Text: visibleText(root)}, nil
	}
	return Page{}, fmt.Errorf("the type of the page is %q: only text/html and text/plain can be read",
		contentType)
}

var (
	hiddenElements = set("script style noscript template svg iframe object")
	// inlineElements do not begin a new line.
	inlineElements = set("a abbr b bdi bdo button cite code data del dfn em font i img ins kbd " +
		"label mark q s samp small span strong sub sup td th time tt u var wbr")
)

// set returns the set of the words.
func set(words string) map[string]bool {
	members := make(map[string]bool)
	for _, word := range strings.Fields(words) {
		members[word] = true
	}
	return members
}

// visibleText returns the text that a browser would show, with each block on
// lines of its own. It keeps the whitespace in pre elements.
func visibleText(root *html.Node) string {
	var t textWriter
	t.writeNode(root, false)
	t.endLine()
	return strings.ReplaceAll(t.String(), " \n", "\n")
}

// A textWriter builds the visible text of a document.
type textWriter struct{ strings.Builder }

// writeNode writes the text of n and its children. isPreformatted reports
// whether n is in a pre element.
func (t *textWriter) writeNode(n *html.Node, isPreformatted bool) {
	if n.Type == html.TextNode {
		t.writeText(n.Data, isPreformatted)
		return
	}
	if n.Type == html.ElementNode && hiddenElements[n.Data] {
		return
	}
	isBlock := n.Type == html.ElementNode && !inlineElements[n.Data]
	if isBlock {
		t.endLine()
	}
	for child := range n.ChildNodes() {
		t.writeNode(child, isPreformatted || n.Data == "pre")
	}
	if isBlock {
		t.endLine()
	}
	if n.Data == "td" || n.Data == "th" {
		t.WriteByte(' ') // separates the cells of a row
	}
}

var whitespace = regexp.MustCompile(`\s+`)

func (t *textWriter) writeText(text string, isPreformatted bool) {
	if !isPreformatted {
		text = whitespace.ReplaceAllString(text, " ")
		if t.isAtLineStart() || strings.HasSuffix(t.String(), " ") {
			text = strings.TrimPrefix(text, " ")
		}
	}
	t.WriteString(text)
}

func (t *textWriter) isAtLineStart() bool {
	return t.Len() == 0 || strings.HasSuffix(t.String(), "\n")
}

func (t *textWriter) endLine() {
	if !t.isAtLineStart() {
		t.WriteByte('\n')
	}
}
