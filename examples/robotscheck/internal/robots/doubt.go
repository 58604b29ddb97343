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
// isFetched says whether only the beginning of a long file is at hand.
func Doubt(text []byte, isFetched bool) string {
	if !suspicious(text) {
		return ""
	}
	return message(Problems(text, isFetched), "too-large", "binary", "utf-16", "html", "html-error-page")
}

// Problems returns what the linter finds in a robots.txt. The end of a long
// file is not fetched, so if isFetched is true, the linter's message says "at
// least" before the number of bytes.
func Problems(text []byte, isFetched bool) []lint.Problem {
	problems := lint.Check(text)
	for i := range problems {
		if isFetched && problems[i].Code == "too-large" {
			problems[i].Message = strings.Replace(problems[i].Message, "the file has", "the file has at least", 1)
		}
	}
	return problems
}

// DoubtOfPage returns a sentence that says that a page is not text, or "" if it
// is text. It recognizes types as browsers do.
func DoubtOfPage(text []byte) string {
	text = text[:min(len(text), 512)]
	switch kind := http.DetectContentType(text); {
	case strings.HasPrefix(kind, "text/"), message(lint.Check(text), "utf-16") != "":
		return ""
	case kind == "application/octet-stream":
		return "the page is not text"
	default:
		return "the page is not text but " + kind
	}
}

func message(problems []lint.Problem, codes ...string) string {
	for _, p := range problems {
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
