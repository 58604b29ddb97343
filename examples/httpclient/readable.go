package main

import (
	"regexp"
	"strings"

	"golang.org/x/net/html"
)

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
