package lint

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// checkFile checks the file as a whole, and reports whether it is text that may
// be a robots.txt file.
func checkFile(r *report, body []byte) (isText bool) {
	if len(body) > syntax.MaxSize {
		cut := len(syntax.Truncate(body))
		r.add(0, 0, codeTooLarge, Error, "",
			"the file has %d bytes, of which only %d are parsed: line %d and all later lines are ignored",
			len(body), cut, 1+countLines(body[:cut]))
		body = body[:cut]
	}
	if looksLikeUTF16(body) {
		r.add(1, 1, codeUTF16, Error, "", "the file is in UTF-16; robots expect UTF-8")
		return false
	}
	if looksBinary(body) {
		r.add(1, 1, codeBinary, Error, "", "the file is not text")
		return false
	}
	isHTML := checkHTML(r, body)
	if n := len(body) - len(syntax.TrimBOM(body)); n > 0 {
		r.add(1, 1, codeBOM, Info, "",
			"the file begins with a byte order mark, which some robots treat as part of the first line")
	}
	checkLineEnds(r, body)
	checkBytes(r, string(syntax.TrimBOM(body)))
	if isAllCapitals(string(body)) && bytes.IndexByte(body, '/') >= 0 {
		r.add(0, 0, codeAllCapitals, Warning, "",
			"the file is in upper case; paths are case-sensitive, so /TMP/ does not match /tmp/")
	}
	return !isHTML
}

func isAllCapitals(text string) bool {
	hasUpper := strings.ContainsFunc(text, unicode.IsUpper)
	hasLower := strings.ContainsFunc(text, unicode.IsLower)
	return hasUpper && !hasLower
}

// looksLikeUTF16 reports whether a body begins with a byte order mark of
// UTF-16, or with two ASCII characters in UTF-16.
func looksLikeUTF16(body []byte) bool {
	if bytes.HasPrefix(body, []byte("\xff\xfe")) || bytes.HasPrefix(body, []byte("\xfe\xff")) {
		return true
	}
	if len(body) < 4 {
		return false
	}
	isNUL := func(i int) bool { return body[i] == 0 }
	isBigEndian := isNUL(0) && !isNUL(1) && isNUL(2) && !isNUL(3)
	isLittleEndian := !isNUL(0) && isNUL(1) && !isNUL(2) && isNUL(3)
	return isBigEndian || isLittleEndian
}

// looksBinary reports whether the first 1,024 bytes contain many control
// characters or U+FFFD. In random or compressed data, about a tenth of the
// bytes are control characters. If such data has been converted to UTF-8, much
// of it has become U+FFFD. NUL bytes at the end are ignored, because some text
// files are padded with them.
func looksBinary(body []byte) bool {
	const minCount = 4
	head := bytes.TrimRight(body[:min(len(body), 1024)], "\x00")
	controls := 0
	for _, c := range head {
		if isControl(c) {
			controls++
		}
	}
	if controls >= minCount && controls > len(head)/20 {
		return true
	}
	replacements := bytes.Count(head, []byte("\ufffd"))
	return replacements >= minCount && replacements*len("\ufffd") > len(head)/4
}

// isControl reports whether a byte is a control character other than white
// space.
func isControl(c byte) bool {
	switch c {
	case '\t', '\n', '\r', '\v', '\f':
		return false
	}
	return c < ' '
}

// errorWords are typical of error pages, in lower case.
var errorWords = []string{"404", "not found", "403", "forbidden", "error", "does not exist"}

// checkHTML adds a problem if the file is an HTML or XML page, and reports
// whether it is. Robots parse the lines of such a page, but the linter does
// not.
func checkHTML(r *report, body []byte) (isHTML bool) {
	begin := syntax.TrimBOM(body[:min(len(body), 4096)])
	head := strings.ToLower(string(bytes.TrimSpace(begin)))
	if !beginsPage(head) && !beginsUnknownPage(head, body) {
		return false
	}
	kind := "HTML"
	if strings.HasPrefix(head, "<?xml") && !strings.Contains(head, "<html") {
		kind = "XML"
	}
	text := head
	if _, title, ok := strings.Cut(head, "<title"); ok { // elsewhere, words may be part of scripts
		text, _, _ = strings.Cut(title, "</title")
	}
	containsWord := func(word string) bool { return strings.Contains(text, word) }
	if slices.ContainsFunc(errorWords, containsWord) {
		r.add(1, 1, codeHTMLError, Error, "",
			"the file is an %s error page; if there is no robots.txt, the server should respond with status 404",
			kind)
	} else {
		r.add(1, 1, codeHTML, Error, "",
			"the file is an %s page; robots.txt must be plain text", kind)
	}
	return true
}

// beginsUnknownPage reports whether a file begins with any tag and has no
// user-agent line. A robots.txt file with a user-agent line may begin with a
// tag too, for example because of a PHP warning.
func beginsUnknownPage(head string, body []byte) bool {
	beginsWithElement := len(head) > 1 && head[0] == '<' && 'a' <= head[1] && head[1] <= 'z'
	if !beginsWithElement && !strings.HasPrefix(head, "<!--") {
		return false
	}
	return !hasUserAgent(body)
}

// beginsPage reports whether a text, in lower case, begins like an HTML or XML
// page.
func beginsPage(head string) bool {
	return slices.ContainsFunc(pageStarts, func(start string) bool {
		return strings.HasPrefix(head, start)
	})
}

var pageStarts = []string{
	"<!doctype html", "<html", "<head", "<body", "<title", "<?xml", "<script",
}

// hasUserAgent reports whether the file has a user-agent line.
func hasUserAgent(body []byte) bool {
	file := syntax.Parse(body, syntax.RFC9309)
	return slices.ContainsFunc(file.Records, func(r syntax.Record) bool {
		return r.Field == syntax.UserAgent
	})
}

func checkLineEnds(r *report, body []byte) {
	crlf := bytes.Count(body, []byte("\r\n"))
	lf := bytes.Count(body, []byte("\n")) - crlf
	cr := bytes.Count(body, []byte("\r")) - crlf
	isMixed := min(crlf, lf) > 0 || min(crlf, cr) > 0 || min(lf, cr) > 0
	switch {
	case isMixed:
		r.add(0, 0, codeMixedLineEnds, Warning, "",
			"%d lines end with LF, %d with CR LF, %d with CR", lf, crlf, cr)
	case crlf > 0:
		r.add(0, 0, codeCRLF, Info, "", "lines end with CR LF, which robots treat like LF")
	case cr > 0:
		r.add(0, 0, codeBareCR, Warning, "",
			"lines end with CR only; some robots treat the file as a single line")
	}
}

// checkBytes checks for NUL bytes and invalid UTF-8.
func checkBytes(r *report, text string) {
	lines := syntax.NewLineReader(text)
	for lines.Next() {
		line := lines.Line.In(text)
		if i := strings.IndexByte(line, 0); i >= 0 {
			r.add(lines.Number, i+1, codeNUL, Warning, "",
				"NUL byte; some robots ignore the rest of the line")
		}
		if i := invalidUTF8(line); i >= 0 {
			r.add(lines.Number, i+1, codeBadUTF8, Warning, "",
				"byte 0x%02X is not valid UTF-8; robots treat it as %%%02X", line[i], line[i])
		}
	}
}

// invalidUTF8 returns the index of the first byte of s that is not valid UTF-8,
// or -1 if there is none.
func invalidUTF8(s string) int {
	for i, r := range s {
		if r != utf8.RuneError {
			continue
		}
		if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
			return i
		}
	}
	return -1
}

func countLines(body []byte) int {
	lf := bytes.Count(body, []byte("\n"))
	cr := bytes.Count(body, []byte("\r"))
	crlf := bytes.Count(body, []byte("\r\n"))
	return lf + cr - crlf
}
