package htmlmeta

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"

	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

// A Scanner reads a page that arrives in pieces. The zero value is ready to
// use. Set the exported fields before the first Write. Until Finish is called,
// a Scanner keeps up to Window bytes of the page.
//
// A Scanner is not safe for concurrent use.
type Scanner struct {
	Tokens   []string // the robot's product tokens; if none, only directives for everybody count
	HeadOnly bool     // whether a meta counts only if a browser would put it into the head
	Charset  string   // the charset of the Content-Type, if known; only UTF-16 matters

	decoder  decoder
	pooled   *[]byte // the buffer that holds buf; nil if buf is the caller's
	buf      []byte  // the page's beginning, decoded
	full     bool    // whether buf has Window bytes
	finished bool
	found    robotsmeta.Directives
	examined int // how long buf was when it was examined
	looked   int // buf[:looked] was searched for tags that may speak to robots
	suspect  int // these tags begin in buf[:suspect]
	rework   int // how many bytes were read more than once

	// The state of the tokenizer, which goes on at buf[pos:].
	pos       int
	line      int // how many line breaks are in buf[:lineAt]
	lineAt    int
	templates int // how many <template> are open
	foreign   int // how many <svg> and <math> are open
	headDone  bool
}

// Write adds the next piece of the page. It always returns len(p) and no error.
// It ignores bytes beyond the window. Once Done reports true, and after Finish,
// it ignores every piece.
func (s *Scanner) Write(p []byte) (int, error) {
	if s.finished || s.Done() {
		return len(p), nil
	}
	piece := s.decoder.decode(p, s.Charset)
	if need := len(s.buf) + len(piece); s.pooled == nil || need > cap(*s.pooled) {
		s.pooled = grown(s.pooled, 2*need) // twice the need, because more pieces may follow
	}
	s.buf = append((*s.pooled)[:len(s.buf)], piece[:min(len(piece), Window-len(s.buf))]...)
	*s.pooled = s.buf
	s.full = len(s.buf) >= Window
	if s.mayExamine() {
		s.search() // now, while the piece is in the processor's cache
	}
	return len(p), nil
}

// Finish ends the page, and drops it. Directives still returns what it says.
func (s *Scanner) Finish() {
	if s.finished {
		return
	}
	s.examine()
	s.finished = true
	if s.pooled != nil {
		release(s.pooled)
		s.pooled, s.buf = nil, nil
	}
}

// Bytes returns the part of the page that was written, up to Window bytes. The
// result is decoded to UTF-8 if Charset or the page's first bytes say that the
// page is UTF-16. The result is valid until the next Write or Finish, and must
// not be changed. Call Bytes before Finish, which drops the page.
func (s *Scanner) Bytes() []byte { return s.buf }

// Done reports whether further pieces would change nothing: the window is full,
// or HeadOnly is set and the head has ended.
func (s *Scanner) Done() bool { return s.full || s.HeadOnly && s.headDone }

// HeadDone reports whether the page's head has ended in the pieces that were
// written. The head ends at <body>, or at another element or text that makes a
// browser begin the body. Call HeadDone before Finish.
func (s *Scanner) HeadDone() bool {
	if !s.headDone && s.mayExamine() {
		s.tokenize(len(s.buf), false)
	}
	return s.headDone
}

// Directives returns what the page says in the pieces that were written. Later
// pieces may add to the result, but take nothing back.
//
// Directives may be called after every piece. But if a tag or a comment without
// an end makes these calls expensive, the rest of the page is examined when it
// ends, or fills the window.
func (s *Scanner) Directives() robotsmeta.Directives {
	if s.mayExamine() {
		s.examine()
	}
	return s.found
}

// maxRework is how many bytes of a page may be read again because Directives or
// HeadDone is called between pieces.
const maxRework = 16 * Window

func (s *Scanner) mayExamine() bool { return s.full || s.rework <= maxRework }

// examine reads the metas in the part of the page that has come.
func (s *Scanner) examine() {
	if s.examined < len(s.buf) {
		s.examined = len(s.buf)
		s.search()
		s.tokenize(s.suspect, false)
		s.checkHead()
	}
}

// checkHead marks the directives as truncated if the window ends before the
// head does, because metas of the head may follow.
func (s *Scanner) checkHead() {
	if !s.full {
		return
	}
	if !s.headDone {
		s.tokenize(len(s.buf), true)
	}
	if !s.headDone {
		s.found = s.found.WithTruncated()
	}
}

// search looks in buf[looked:] for tags that may speak to robots, and sets
// suspect. It finds more tags than it must: in scripts, for example. Most
// pages have none, and are not tokenized.
func (s *Scanner) search() {
	b := s.buf
	// budget is how many bytes of tags may still be read. It runs out if too
	// many tags begin inside other tags. Then the tokenizer reads the page
	// instead.
	budget := len(b)
	for i := s.looked; ; i++ {
		i = nextM(b, i)
		if len(b)-i < len("<meta ") {
			s.looked = i
			return
		}
		if !strings.EqualFold(string(b[i+1:i+5]), "meta") || !isSpace(b[i+5]) && b[i+5] != '/' {
			continue
		}
		name, read, ok := nameIn(b[i+5:])
		if len(name) > 0 && ok && s.mayMatter(name) {
			s.suspect = i + 1
		}
		if budget -= read; !ok || budget < 0 {
			// A tag without an end may get its end in a later piece. Or it may
			// be text in a script, and a real tag may begin inside it.
			s.looked, s.suspect = i, len(b)
			s.rework += len(b) - i
			return
		}
	}
}

// mayMatter reports whether a meta with this name may speak to robots. The
// escapes in the name are not decoded yet.
func (s *Scanner) mayMatter(name []byte) bool {
	return bytes.IndexByte(name, '&') >= 0 || robotsmeta.MetaSpeaks(string(name), s.Tokens...)
}

// tokenize reads the tokens that begin in buf[pos:end]. It sets pos to the
// place after the last complete token. With headOnly, it reads none after the
// head.
func (s *Scanner) tokenize(end int, headOnly bool) {
	if s.pos >= end {
		return
	}
	defer func() {
		if s.pos < end {
			s.rework += len(s.buf) - s.pos
		}
	}()
	z := html.NewTokenizer(bytes.NewReader(s.buf[s.pos:]))
	at := s.pos
	raw := false // whether the previous token began an element whose content is text
	headOnly = headOnly || s.HeadOnly
	for at < end && !(headOnly && s.headDone) {
		kind := z.Next()
		if kind == html.ErrorToken {
			return
		}
		start := at
		at += len(z.Raw())
		switch kind {
		case html.StartTagToken, html.SelfClosingTagToken:
			raw = s.startTag(z, start, kind == html.SelfClosingTagToken)
			if raw {
				continue // pos stays before the element until its content is complete
			}
		case html.EndTagToken:
			s.endTag(z)
		default: // a text, comment or doctype; the end of buf may cut it short
			if at >= len(s.buf) {
				return
			}
			if kind == html.TextToken && !raw && s.templates == 0 {
				s.text(z.Raw(), start)
			}
		}
		raw = false
		s.pos = at
	}
}

// text handles a text that begins at buf[start]. Any text but white space ends
// the head.
func (s *Scanner) text(text []byte, start int) {
	if start == 0 {
		text = bytes.TrimPrefix(text, []byte("\ufeff")) // the byte order mark
	}
	if len(bytes.TrimLeft(text, space)) > 0 {
		s.headDone = true
	}
}

// startTag handles a start tag. It reports whether the element's content is
// text, in which no tags count.
func (s *Scanner) startTag(z *html.Tokenizer, start int, selfClosing bool) (raw bool) {
	b, attrs := z.TagName()
	switch name := string(b); name {
	case "meta":
		if attrs && s.templates == 0 {
			s.meta(z, start)
		}
		return false
	case "template":
		if s.foreign == 0 { // in <svg>, <template> has no special meaning
			s.templates++
		}
		return false
	case "svg", "math":
		if !selfClosing {
			s.foreign++
		}
	case "noscript":
		z.NextIsNotRawText()
		return false
	case "script", "style", "title", "noframes":
		raw = true
	case "textarea", "xmp", "iframe", "noembed", "plaintext":
		raw = true
		s.bodyBegins()
	case "html", "head", "base", "basefont", "bgsound", "link":
		return false
	default:
		s.bodyBegins()
	}
	if s.foreign > 0 {
		// In <svg> and <math>, even a <title> contains elements.
		z.NextIsNotRawText()
		s.bodyBegins()
		return false
	}
	return raw
}

func (s *Scanner) endTag(z *html.Tokenizer) {
	b, _ := z.TagName()
	switch string(b) {
	case "template":
		s.templates = max(0, s.templates-1)
	case "svg", "math":
		s.foreign = max(0, s.foreign-1)
	case "body", "html", "br":
		s.bodyBegins()
	}
}

func (s *Scanner) bodyBegins() {
	if s.templates == 0 {
		s.headDone = true
	}
}

// meta reads the <meta> that begins at buf[start] and adds its directives to
// s.found.
func (s *Scanner) meta(z *html.Tokenizer, start int) {
	var name, content string
	for more := true; more; {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch string(key) {
		case "name":
			name = string(value)
		case "content":
			content = string(value)
		}
	}
	if !robotsmeta.MetaSpeaks(name, s.Tokens...) {
		return
	}
	s.line += bytes.Count(s.buf[s.lineAt:start], []byte{'\n'})
	s.lineAt = start
	s.found = s.found.Union(robotsmeta.ParseMeta(name, content, s.line+1, s.Tokens...))
}
