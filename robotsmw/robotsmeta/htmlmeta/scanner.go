package htmlmeta

import (
	"bytes"

	"golang.org/x/net/html"

	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

// A Scanner reads a page that arrives in pieces. The zero value is ready; its exported fields are set before the first
// Write. It keeps up to Window octets of the page.
//
// Write only stores: the work is done in Directives, once, and again only for what was written since. A Scanner is
// not safe for concurrent use.
type Scanner struct {
	Tokens   []string // the robot's product tokens; none: what is said to everybody
	HeadOnly bool     // only metas that a browser would put into the head
	Charset  string   // of the Content-Type; only the utf-16 ones matter. Empty: by the page's first octets

	decoder decoder
	buf     []byte // the page's beginning, decoded
	looked  int    // buf[:looked] is searched for tags that may speak
	suspect int    // the last that was found begins before it
	found   robotsmeta.Directives

	// The tokenizer's state, at buf[pos:].
	pos       int
	line      int // line breaks in buf[:lineAt]
	lineAt    int
	templates int // how many <template> are open
	foreign   int // how many <svg> and <math> are open
	headDone  bool
}

// Write takes the next piece of the page. It returns len(p) and no error, whatever p holds. What exceeds the window is
// dropped.
func (s *Scanner) Write(p []byte) (int, error) {
	n := len(p)
	if s.Done() {
		return n, nil
	}
	s.buf = s.decoder.append(s.buf, p, s.Charset, Window)
	return n, nil
}

// Grow makes room for n octets, so that writing them allocates nothing more.
func (s *Scanner) Grow(n int) {
	if n = min(n, Window); n > cap(s.buf) {
		s.buf = append(make([]byte, 0, n), s.buf...)
	}
}

// Done reports that nothing that may yet be written changes Directives: the window is full, or with HeadOnly the head
// has been seen to end.
func (s *Scanner) Done() bool { return len(s.buf) >= Window || s.HeadOnly && s.headDone }

// HeadDone reports whether the page's head has ended within what was written: <body> was seen, or another element or a
// text that makes a browser begin the body.
func (s *Scanner) HeadDone() bool {
	if !s.headDone {
		s.tokenize(len(s.buf))
	}
	return s.headDone
}

// Directives returns what the page, as far as written, says. More may be added by what follows, nothing is taken back.
func (s *Scanner) Directives() robotsmeta.Directives {
	s.search()
	s.tokenize(s.suspect)
	return s.found
}

// tokenize reads the tokens of buf[pos:] that begin before end, and leaves pos behind the last one that is whole.
func (s *Scanner) tokenize(end int) {
	if s.pos >= end {
		return
	}
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
				s.headDone = len(bytes.TrimLeft(z.Raw(), " \t\r\n\f")) > 0
			}
		}
		raw = false
		s.pos = at
	}
}

// startTag takes note of a start tag, and reports whether text follows in which no tags are looked for.
func (s *Scanner) startTag(z *html.Tokenizer, start int, selfClosing bool) (raw bool) {
	b, attrs := z.TagName()
	switch name := string(b); name {
	case "meta":
		if attrs && s.templates == 0 {
			s.meta(z, start)
		}
		return false
	case "template":
		s.templates++
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

// search looks in buf[looked:] for tags that may speak, and moves suspect behind the beginning of the last.
func (s *Scanner) search() {
	b := s.buf
	budget := len(b) // tag text read; a page whose tags overlap without end is left to the tokenizer
	for i := s.looked; ; i++ {
		j := bytes.IndexByte(b[i:], '<')
		if j < 0 {
			s.looked = len(b)
			return
		}
		i += j
		if len(b)-i < len("<meta ") {
			s.looked = i
			return
		}
		if b[i+1]|0x20 != 'm' || b[i+2]|0x20 != 'e' || b[i+3]|0x20 != 't' || b[i+4]|0x20 != 'a' {
			continue
		}
		name, size, verdict := metaName(b[i+5:])
		budget -= size
		switch {
		case verdict == tagCut || budget < 0:
			// It may yet get its end, or be text in a script that hides another: have all of it tokenized, and look
			// again when there is more.
			s.looked, s.suspect = i, len(b)
			return
		case verdict == tagNamed && s.mayMatter(name):
			s.suspect = i + 1
		}
	}
}

// mayMatter reports whether a name attribute, as written, may be a name that speaks.
func (s *Scanner) mayMatter(name []byte) bool {
	return bytes.IndexByte(name, '&') >= 0 || robotsmeta.MetaSpeaks(string(name), s.Tokens...)
}
