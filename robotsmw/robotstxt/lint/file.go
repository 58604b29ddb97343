package lint

import (
	"bytes"
	"slices"
	"strings"
	"unicode"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// checkFile checks the bytes of the file, and reports whether its lines are
// worth checking.
func checkFile(r *report, body []byte) (readable bool) {
	if len(body) > syntax.MaxSize {
		cut := len(syntax.Truncate(body))
		r.add(0, 0, codeTooLarge, Error, "",
			"the file has %d bytes, of which %d count: line %d and all after it are lost", len(body), cut, 1+countLines(body[:cut]))
		body = body[:cut]
	}
	switch {
	case bytes.HasPrefix(body, []byte("\xff\xfe")), bytes.HasPrefix(body, []byte("\xfe\xff")), looksLikeUTF16(body):
		r.add(1, 1, codeUTF16, Error, "", "the file is in UTF-16; robots read UTF-8")
		return false
	case looksBinary(body):
		r.add(1, 1, codeBinary, Error, "", "the file is not text")
		return false
	}
	isHTML := checkHTML(r, body)
	if n := len(body) - len(syntax.TrimBOM(body)); n > 0 {
		r.add(1, 1, codeBOM, Info, "", "the file begins with a byte order mark, which some robots take for a part of the first line")
	}
	checkLineEnds(r, body)
	checkBytes(r, string(syntax.TrimBOM(body)))
	if strings.ContainsFunc(string(body), unicode.IsUpper) && !strings.ContainsFunc(string(body), unicode.IsLower) && bytes.IndexByte(body, '/') >= 0 {
		r.add(0, 0, codeAllCapitals, Warning, "", "the file is all capitals; paths have regard to case, so /TMP/ does not match /tmp/")
	}
	return !isHTML
}

// looksLikeUTF16 reports whether a body begins like ASCII text in UTF-16: of
// the first four bytes, every other one is NUL.
func looksLikeUTF16(body []byte) bool {
	if len(body) < 4 {
		return false
	}
	a, b, c, d := body[0], body[1], body[2], body[3]
	return a|c == 0 && b != 0 && d != 0 || b|d == 0 && a != 0 && c != 0
}

// looksBinary reports whether the first 1,024 bytes have at least four control
// characters, and more than a twentieth of these bytes are control characters.
// In random or compressed data, about a tenth of the bytes are control
// characters. NUL bytes at the end do not count, because text that is padded
// with NUL is still text.
//
// If binary data was converted to UTF-8, much of it has become U+FFFD. So
// looksBinary also returns true if there are at least four U+FFFD, and they
// make up more than a quarter of the bytes.
func looksBinary(body []byte) bool {
	head := bytes.TrimRight(body[:min(len(body), 1024)], "\x00")
	controls := 0
	for _, c := range head {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\v' && c != '\f' {
			controls++
		}
	}
	replaced := bytes.Count(head, []byte("\ufffd")) * len("\ufffd")
	return controls >= 4 && controls*20 > len(head) || replaced >= 4*len("\ufffd") && replaced*4 > len(head)
}

// checkHTML reports whether the file is a page of HTML or XML. If it is,
// checkHTML adds a problem. Robots look for rules in the lines of such a page,
// but the linter does not.
func checkHTML(r *report, body []byte) (isHTML bool) {
	head := strings.ToLower(string(bytes.TrimSpace(syntax.TrimBOM(body[:min(len(body), 4096)]))))
	// A robots.txt may begin with a tag too, for example if PHP has written a
	// warning before the rules.
	beginsWithTag := strings.HasPrefix(head, "<!--") || len(head) > 1 && head[0] == '<' && 'a' <= head[1] && head[1] <= 'z'
	if !beginsPage(head) && (!beginsWithTag || namesRobots(body)) {
		return false
	}
	kind := "HTML"
	if strings.HasPrefix(head, "<?xml") && !strings.Contains(head, "<html") {
		kind = "XML"
	}
	said := head
	if _, title, ok := strings.Cut(head, "<title"); ok { // scripts have words such as "error" too
		said, _, _ = strings.Cut(title, "</title")
	}
	for _, sign := range []string{"404", "not found", "403", "forbidden", "error", "does not exist"} {
		if strings.Contains(said, sign) {
			r.add(1, 1, codeHTMLError, Error, "", "this is an %s error page; answer with status 404 if there is no robots.txt", kind)
			return true
		}
	}
	r.add(1, 1, codeHTML, Error, "", "this is an %s page; robots.txt is plain text", kind)
	return true
}

// beginsPage reports whether a text, in lower case, begins with something that
// only HTML or XML pages begin with.
func beginsPage(head string) bool {
	for _, start := range []string{"<!doctype html", "<html", "<head", "<body", "<title", "<?xml", "<script"} {
		if strings.HasPrefix(head, start) {
			return true
		}
	}
	return false
}

// namesRobots reports whether the file has a user-agent line.
func namesRobots(body []byte) bool {
	file := syntax.Parse(body, syntax.RFC9309)
	return slices.ContainsFunc(file.Records, func(r syntax.Record) bool { return r.Field == syntax.UserAgent })
}

func checkLineEnds(r *report, body []byte) {
	crlf := bytes.Count(body, []byte("\r\n"))
	lf, cr := bytes.Count(body, []byte("\n"))-crlf, bytes.Count(body, []byte("\r"))-crlf
	switch {
	case min(crlf, lf) > 0, min(crlf, cr) > 0, min(lf, cr) > 0:
		r.add(0, 0, codeMixedLineEnds, Warning, "", "%d lines end with LF, %d with CR LF, %d with CR", lf, crlf, cr)
	case crlf > 0:
		r.add(0, 0, codeCRLF, Info, "", "lines end with CR LF, which is as good as LF")
	case cr > 0:
		r.add(0, 0, codeBareCR, Warning, "", "lines end with CR alone; some robots take the file for one line")
	}
}

func checkBytes(r *report, text string) {
	for lines := syntax.NewLineReader(text); lines.Next(); {
		line := lines.Line.In(text)
		if i := strings.IndexByte(line, 0); i >= 0 {
			r.add(lines.Number, i+1, codeNUL, Warning, "", "a NUL byte: to some robots the line ends here")
		}
		if i := strings.IndexByte(strings.ToValidUTF8(line, "\n"), '\n'); i >= 0 {
			r.add(lines.Number, i+1, codeBadUTF8, Warning, "", "byte 0x%02X is not UTF-8; robots compare it as %%%02X", line[i], line[i])
		}
	}
}

func countLines(body []byte) int {
	return bytes.Count(body, []byte("\n")) + bytes.Count(body, []byte("\r")) - bytes.Count(body, []byte("\r\n"))
}
