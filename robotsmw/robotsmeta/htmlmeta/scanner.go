package htmlmeta

import (
	"bytes"

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

	// The search for tags that may speak to robots.
	looked  int // buf[:looked] was searched
	suspect int // the tags that may speak to robots begin in buf[:suspect]
	keep    int // Finish keeps at most buf[:keep], which contains these tags
	again   int // how long buf must be before the next search

	// Work that is repeated because Directives or HeadDone is called between
	// pieces.
	rework int // how many bytes were read more than once
	tried  int // how long buf was when the tokenizer found the latest unfinished token
	until  int // the argument of tokenize() when it found that token
	retry  int // how long buf must be for the next attempt if rework > maxRework

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
	if need := len(s.buf) + len(p); s.pooled == nil || need > cap(*s.pooled) {
		s.pooled = grown(s.pooled, 2*need) // twice the need, because more pieces may follow
	}
	s.buf = s.decoder.append((*s.pooled)[:len(s.buf)], p, s.Charset, Window)
	*s.pooled = s.buf
	s.full = len(s.buf) >= Window
	if len(s.buf) >= s.again {
		s.search()
	}
	return len(p), nil
}

// Grow announces that the page has about n bytes.
func (s *Scanner) Grow(n int) {
	if !s.finished && !s.Done() {
		s.pooled = grown(s.pooled, min(n, Window))
		s.buf = *s.pooled
	}
}

// Finish ends the page. It drops the parts of the page that Directives does not
// need.
func (s *Scanner) Finish() {
	if s.finished {
		return
	}
	s.search()
	s.finished = true
	if s.pooled == nil {
		return
	}
	var rest []byte
	if s.pos < s.suspect && !(s.HeadOnly && s.headDone) {
		rest = append(rest, s.buf[:s.keep]...)
	}
	release(s.pooled)
	s.pooled, s.buf = nil, rest
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
	if !s.headDone {
		s.tokenize(len(s.buf))
	}
	return s.headDone
}

// Directives returns what the page says in the pieces that were written. Later
// pieces may add to the result, but take nothing back.
//
// Directives may be called after every piece. But if a tag or a comment without
// an end makes these calls expensive, the page is examined less often. Then the
// directives after this tag or comment are reported later, at the latest after
// Finish.
func (s *Scanner) Directives() robotsmeta.Directives {
	if !s.finished && (s.full || s.rework <= maxRework || len(s.buf) >= s.again) {
		s.search()
	}
	s.tokenize(s.suspect)
	return s.found
}

// maxRework is how many bytes of a page may be read again because Directives or
// HeadDone is called between pieces. Beyond this limit, the page is examined
// less often.
const maxRework = 16 * Window

// tokenize reads the tokens that begin in buf[pos:end]. It sets pos to the
// place after the last complete token. It has many branches, one for each state
// of the HTML tokenizer that matters here.
func (s *Scanner) tokenize(end int) {
	if s.pos >= end || len(s.buf) == s.tried && end <= s.until {
		return // nothing to read, or nothing new
	}
	if !s.finished && !s.full && s.rework > maxRework && len(s.buf) < s.retry {
		return
	}
	defer func() {
		if unread := len(s.buf) - s.pos; s.pos < end {
			s.rework += unread
			s.tried, s.until, s.retry = len(s.buf), end, len(s.buf)+unread
		}
	}()
	z := html.NewTokenizer(bytes.NewReader(s.buf[s.pos:]))
	at := s.pos
	raw := false // whether the previous token began an element whose content is text
	for at < end && !(s.HeadOnly && s.headDone) {
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
			if kind == html.TextToken && !raw && s.templates == 0 && !s.headDone {
				text := z.Raw()
				if start == 0 {
					text = bytes.TrimPrefix(text, []byte("\ufeff")) // the byte order mark
				}
				s.headDone = len(bytes.TrimLeft(text, " \t\r\n\f")) > 0
			}
		}
		raw = false
		s.pos = at
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

// search looks in buf[looked:] for tags that may speak to robots.
func (s *Scanner) search() {
	b := s.buf
	// budget is how many bytes of tags may still be read. It runs out if too
	// many tags begin inside other tags. Then the tokenizer reads the page
	// instead.
	budget := len(b)
	for i := s.looked; ; i++ {
		i = nextM(b, i)
		if len(b)-i < len("<meta ") {
			s.looked, s.again = i, len(b)+4096
			return
		}
		if b[i+2]|' ' != 'e' || b[i+3]|' ' != 't' || b[i+4]|' ' != 'a' || !isSpace(b[i+5]) && b[i+5] != '/' {
			continue
		}
		t := tagReader{b: b[i+5:]}
		key, value, state := t.next()
		for state == tagMore && !isNameKey(key) {
			key, value, state = t.next()
		}
		if state == tagMore && s.mayMatter(value) {
			for state == tagMore {
				_, _, state = t.next()
			}
			s.suspect, s.keep = i+1, max(s.keep, i+5+t.i)
		}
		budget -= t.i
		if state == tagCut || budget < 0 {
			// A tag without an end may get its end in a later piece. Or it may
			// be text in a script, and a real tag may begin inside it. In both
			// cases the tokenizer reads all of buf, as it does if the budget
			// has run out. The next search waits for new bytes: for at least
			// 4096, and for at least the length of b[i:], which begins with the
			// tag. So a tag without an end is not read over and over.
			s.looked, s.suspect, s.keep, s.again = i, len(b), len(b), len(b)+max(4096, len(b)-i)
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
