package robots

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/lint"
)

// A Doubtful names a doubtful robots.txt and says why it is doubtful. Commands
// that read several robots.txt files print the name, so that users know which
// file is meant.
type Doubtful struct {
	Source string `json:"source"`
	Doubt  string `json:"doubt"`
}

func (d Doubtful) String() string {
	return "doubtful: " + command.Printable(d.Source) + ": " + command.Printable(d.Doubt)
}

// Doubt returns a sentence that says why verdicts by a robots.txt are doubtful,
// or "" if they are not. The file may be longer than the 500 KiB that robots
// read, or not meant for robots at all. If nothing is wrong, the check is fast.
func Doubt(text []byte) string {
	if !suspicious(text) {
		return ""
	}
	return message(text, "too-large", "binary", "utf-16", "html", "html-error-page")
}

// DoubtOfFetched does the same as Doubt, for a text that was fetched. The end
// of a long file is not fetched, so the sentence says "at least" before the
// number of bytes.
func DoubtOfFetched(text []byte) string { return atLeast(Doubt(text)) }

func atLeast(message string) string {
	return strings.Replace(message, "the file has", "the file has at least", 1)
}

// DoubtOfPage returns a sentence that says that a page is not text, or "" if it
// is text. It recognizes types as browsers do.
func DoubtOfPage(text []byte) string {
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
