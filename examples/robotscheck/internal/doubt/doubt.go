// Package doubt finds reasons to doubt a verdict. A robots.txt may be longer
// than the 500 KiB that robots read, or not meant for robots at all. A page may
// not be text.
package doubt

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/lint"
)

// Help describes the result of the function Of. It is part of the help of each
// command that prints this result as JSON.
const Help = `  doubt     why the answer is doubtful: the robots.txt is longer than the 500 KiB that are read of it, binary, in UTF-16,
            or an HTML page; absent if it is not doubtful`

// Of returns a sentence that says why the robots.txt is doubtful, or "" if it
// is not. If nothing is wrong, the check is fast.
func Of(text []byte) string {
	if !suspicious(text) {
		return ""
	}
	return message(text, "too-large", "binary", "utf-16", "html", "html-error-page")
}

// OfPage returns a sentence that says that a page is not text, or "" if it is
// text. OfPage recognizes types as browsers do.
func OfPage(text []byte) string {
	text = text[:min(len(text), 512)]
	switch kind := http.DetectContentType(text); {
	case strings.HasPrefix(kind, "text/"), message(text, "utf-16") != "":
		return ""
	case kind == "application/octet-stream":
		return "the page is not text"
	default:
		return "the page is not text but " + kind
	}
}

func message(text []byte, codes ...lint.Code) string {
	for _, p := range lint.Check(text) {
		if slices.Contains(codes, p.Code) {
			return p.Message
		}
	}
	return ""
}

// OfFetched does the same as the function Of, for a text that was fetched. The
// end of a long file is not fetched, so the sentence says "at least" before the
// number of bytes.
func OfFetched(text []byte) string {
	return strings.Replace(Of(text), "the file has", "the file has at least", 1)
}

// suspicious reports whether the linter should examine the text. It is fast,
// because it looks only at the length and the first 1024 bytes.
func suspicious(text []byte) bool {
	head := text[:min(len(text), 1024)]
	for _, c := range head {
		if c == '<' || c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			return true
		}
	}
	return len(text) > robotstxt.MaxSize || !utf8.Valid(head) || bytes.Contains(head, []byte("\ufffd"))
}
