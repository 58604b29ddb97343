package htmlmeta

import (
	"bytes"

	"golang.org/x/net/html"

	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

// A Scanner reads a page that arrives in pieces. The zero value is ready; its
// exported fields are set before the first Write. It keeps up to Window bytes
// of the page, until Finish.
//
// A Scanner is not safe for concurrent use.
type Scanner struct {
	Tokens   []string // the robot's product tokens; none: what is said to everybody
	HeadOnly bool     // only metas that a browser would put into the head
	Charset  string   // of the Content-Type; only the utf-16 ones matter. Empty: by the page's first bytes

	decoder  decoder
	pooled   *[]byte // what buf lies in; nil where it belongs to somebody else
	buf      []byte  // the page's beginning, decoded
	full     bool    // buf holds all of the window, or did
	finished bool
	found    robotsmeta.Directives

	// The search for tags that may speak.
	looked  int // buf[:looked] is searched
	suspect int // the last one found begins before it
	keep    int // and ends here
	again   int // how long buf must be for the next search

	// The work that asking between pieces makes.
	rework int // bytes read more than once
	tried  int // how long buf was when the tokenizer last found an unfinished token
	until  int // and up to where it looked
	retry  int // how long buf must be for the next try, once rework is spent

	// The tokenizer's state, at buf[pos:].
	pos       int
	line      int // line breaks in buf[:lineAt]
	lineAt    int
	templates int // how many <template> are open
	foreign   int // how many <svg> and <math> are open
	headDone  bool
}

// Write takes the next piece of the page. It returns len(p) and no error,
// whatever p holds. What exceeds the window, and what comes after Finish, is
// dropped.
func (s *Scanner) Write(p []byte) (int, error) {
	if s.finished || s.Done() {
		return len(p), nil
	}
	if need := len(s.buf) + len(p); s.pooled == nil || need > cap(*s.pooled) {
		s.pooled = grown(s.pooled, 2*need) // as much again may come
	}
	s.buf = s.decoder.append((*s.pooled)[:len(s.buf)], p, s.Charset, Window)
	*s.pooled = s.buf
	s.full = len(s.buf) >= Window
	if len(s.buf) >= s.again {
		s.search()
	}
	return len(p), nil
}

// Grow announces that the page has n bytes or so.
func (s *Scanner) Grow(n int) {
	if !s.finished && !s.Done() {
		s.pooled = grown(s.pooled, min(n, Window))
		s.buf = *s.pooled
	}
}

// Finish says that nothing more will be written. What is not needed of the page
// is dropped; Directives stays right.
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

// Bytes returns what was written so far, up to Window, in UTF-8 if Charset or
// the page's first bytes say that it is UTF-16. It holds until the next Write,
// and is to be asked for before Finish, which drops the page. It must not be
// changed.
func (s *Scanner) Bytes() []byte { return s.buf }

// Done reports that what is written from now on changes nothing: the window is
// full, or with HeadOnly the head has been seen to end.
func (s *Scanner) Done() bool { return s.full || s.HeadOnly && s.headDone }

// HeadDone reports whether the page's head has ended within what was written:
// <body> was seen, or another element or a text that makes a browser begin the
// body. It is to be asked before Finish.
func (s *Scanner) HeadDone() bool {
	if !s.headDone {
		s.tokenize(len(s.buf))
	}
	return s.headDone
}

// Directives returns what the page, as far as written, says. More may be added
// by what follows, nothing is taken back.
//
// Directives may be called after every piece. A page made to have that cost
// much, by a tag or a comment without an end, is looked at less often: what
// stands behind that is then told later, after Finish at the latest.
func (s *Scanner) Directives() robotsmeta.Directives {
	if !s.finished && (s.full || s.rework <= maxRework || len(s.buf) >= s.again) {
		s.search()
	}
	s.tokenize(s.suspect)
	return s.found
}

// maxRework is how many bytes of a page may be read more than once because
// directives are asked for between pieces.
const maxRework = 16 * Window

// tokenize reads the tokens of buf[pos:] that begin before end, and leaves pos
// behind the last one that is whole.
func (s *Scanner) tokenize(end int) {
	if s.pos >= end || len(s.buf) == s.tried && end <= s.until {
		return // there is nothing, or nothing new
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
	raw := false // the last token began an element whose content is text
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
				continue // pos stays before it until its content is whole
			}
		case html.EndTagToken:
			s.endTag(z)
		default: // a text or a comment; at the end of buf it may be cut short
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

// startTag takes note of a start tag, and reports whether text follows in which
// no tags are looked for.
func (s *Scanner) startTag(z *html.Tokenizer, start int, selfClosing bool) (raw bool) {
	b, attrs := z.TagName()
	switch name := string(b); name {
	case "meta":
		if attrs && s.templates == 0 {
			s.meta(z, start)
		}
		return false
	case "template":
		if s.foreign == 0 { // in <svg> it is an element like any other
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
		// In <svg> a <title> holds elements.
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

// meta reads the attributes of the <meta> that begins at buf[start].
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

// search looks in buf[looked:] for tags that may speak.
func (s *Scanner) search() {
	b := s.buf
	budget := len(b) // tag text read; a page whose tags overlap without end is left to the tokenizer
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
			// It may yet get its end, or be text in a script that hides
			// another: have all of it tokenized, and look again when there is
			// more; when there is as much again, lest a tag without an end be
			// read over and over.
			s.looked, s.suspect, s.keep, s.again = i, len(b), len(b), len(b)+max(4096, len(b)-i)
			s.rework += len(b) - i
			return
		}
	}
}

// mayMatter reports whether a name attribute, as written, may be a name that
// speaks.
func (s *Scanner) mayMatter(name []byte) bool {
	return bytes.IndexByte(name, '&') >= 0 || robotsmeta.MetaSpeaks(string(name), s.Tokens...)
}
