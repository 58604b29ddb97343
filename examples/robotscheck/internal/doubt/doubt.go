// Package doubt tells why a verdict may not be worth much: the robots.txt is
// longer than what robots read of it, or no text that was meant for them.
package doubt

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/lint"
)

// Help describes what Of returns, for the help of commands that have it in
// their JSON.
const Help = `  doubt     why that is doubtful: the robots.txt is longer than the 500 KiB that are read of it, binary, in UTF-16, or an
            HTML page; absent where it is not`

// Of says what is to be doubted about a robots.txt as a whole, in a sentence;
// "" for nothing. It costs next to nothing where nothing is wrong.
func Of(text []byte) string {
	if !suspicious(text) {
		return ""
	}
	for _, p := range lint.Check(text) {
		switch p.Code {
		case "too-large", "binary", "utf-16", "html", "html-error-page":
			return p.Message
		}
	}
	return ""
}

// OfFetched is Of for a text that was fetched: no more is than is read.
func OfFetched(text []byte) string {
	return strings.Replace(Of(text), "the file has", "the file has at least", 1)
}

// suspicious reports whether it is worth while to look closer.
func suspicious(text []byte) bool {
	head := text[:min(len(text), 1024)]
	return len(text) > robotstxt.MaxSize || bytes.ContainsAny(head, "<\x00\xff\xfe") || !utf8.Valid(head) ||
		bytes.ContainsFunc(head, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' })
}
