package htmlmeta

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"

	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

// A Scanner scans a page that arrives in pieces. It buffers up to [Window]
// bytes of the page until Finish is called. The zero value is ready to use. The
// exported fields must not be modified after the first Write.
//
// A Scanner is not safe for concurrent use.
type Scanner struct {
	Tokens   []string // the product tokens of the robot; may be empty
	HeadOnly bool     // ignore meta elements that a browser would not put into the head
	Charset  string   // the charset parameter of the Content-Type; "" if unknown

	decoder    decoder
	pooled     *[]byte // the pooled buffer of buf; nil if buf belongs to the caller
	buf        []byte  // the first bytes of the page, decoded
	full       bool    // whether buf has Window bytes
	finished   bool
	directives robotsmeta.Directives
	scanned    int // length of buf at the latest scan
	searched   int // buf[:searched] has been searched for meta elements of interest
	metaEnd    int // all meta elements of interest in buf[:searched] begin in buf[:metaEnd]
	rescanned  int // total number of bytes that have been scanned more than once

	// The state of the tokenizer.
	pos       int // the tokenizer continues at buf[pos]
	line      int // number of newlines in buf[:linePos]
	linePos   int
	templates int // number of open <template> elements
	foreign   int // number of open <svg> and <math> elements
	headDone  bool
}

// Write adds a piece of the page. It ignores bytes beyond the window, and all
// bytes if Done reports true or Finish has been called. It always returns
// len(p) and a nil error.
func (s *Scanner) Write(p []byte) (int, error) {
	if s.finished || s.Done() {
		return len(p), nil
	}
	piece := s.decoder.decode(p, s.Charset)
	need := len(s.buf) + len(piece)
	if s.pooled == nil || need > cap(*s.pooled) {
		s.pooled = grow(s.pooled, 2*need) // more pieces may follow
	}
	piece = piece[:min(len(piece), Window-len(s.buf))]
	s.buf = append((*s.pooled)[:len(s.buf)], piece...)
	*s.pooled = s.buf
	s.full = len(s.buf) >= Window
	if s.mayScan() {
		s.search() // while the piece is in the cache of the processor
	}
	return len(p), nil
}

// Finish ends the page and releases the buffer. Directives may still be called
// afterwards.
func (s *Scanner) Finish() {
	if s.finished {
		return
	}
	s.scan()
	s.finished = true
	if s.pooled != nil {
		release(s.pooled)
		s.pooled = nil
		s.buf = nil
	}
}

// Bytes returns the first Window bytes of the data that has been written,
// converted to UTF-8 if the page is in UTF-16. The result must not be modified,
// and is valid until the next call of Write or Finish.
func (s *Scanner) Bytes() []byte { return s.buf }

// Done reports whether further writes have no effect, because the window is
// full, or because HeadOnly is set and the head has ended.
func (s *Scanner) Done() bool { return s.full || s.HeadOnly && s.headDone }

// HeadDone reports whether the head of the page has ended, at <body> or at
// another element or text that begins the body in a browser. It must not be
// called after Finish.
func (s *Scanner) HeadDone() bool {
	if !s.headDone && s.mayScan() {
		s.tokenize(len(s.buf), false)
	}
	return s.headDone
}

// Directives returns the directives in the part of the page that has been
// written. Further writes may add directives, but do not remove any.
//
// Directives may be called after each Write. To limit the cost of malicious
// pages, it may omit directives until the window is full or Finish is called.
func (s *Scanner) Directives() robotsmeta.Directives {
	if s.mayScan() {
		s.scan()
	}
	return s.directives
}

// maxRescanned is the maximum of Scanner.rescanned, which increases if
// Directives or HeadDone is called while a tag or comment is incomplete.
const maxRescanned = 16 * Window

// mayScan reports whether the page may be scanned before it is complete.
func (s *Scanner) mayScan() bool { return s.full || s.rescanned <= maxRescanned }

// scan updates s.directives for the current buf.
func (s *Scanner) scan() {
	if s.scanned >= len(s.buf) {
		return
	}
	s.scanned = len(s.buf)
	s.search()
	s.tokenize(s.metaEnd, false)
	if s.full && !s.hasWholeHead() {
		s.directives = s.directives.WithTruncated()
	}
}

// hasWholeHead reports whether the head ends in buf.
func (s *Scanner) hasWholeHead() bool {
	if !s.headDone {
		s.tokenize(len(s.buf), true)
	}
	return s.headDone
}

// search searches buf[searched:] for meta elements of interest, which are those
// that robotsmeta.ParseMeta interprets, and updates metaEnd. It may also find
// text that resembles a meta element, such as a string in a script. Most pages
// have no meta elements of interest, and therefore need not be tokenized.
func (s *Scanner) search() {
	// If many tags begin inside other tags, parsing their attributes could take
	// quadratic time. When the budget is spent, the rest is left to the
	// tokenizer.
	budget := len(s.buf)
	i := s.searched
	for {
		i = indexM(s.buf, i)
		if len(s.buf)-i < len("<meta ") {
			s.searched = i
			return
		}
		if !beginsMeta(s.buf[i:]) {
			i++
			continue
		}
		name, length, ok := findName(s.buf[i+len("<meta"):])
		if ok && s.mayBeOfInterest(name) {
			s.metaEnd = i + 1
		}
		budget -= length
		if !ok || budget < 0 {
			// The rest of an incomplete tag may be in the next piece. If it is
			// text of a script, other tags may begin inside it.
			s.searched = i
			s.metaEnd = len(s.buf)
			s.rescanned += len(s.buf) - i
			return
		}
		i++
	}
}

// beginsMeta reports whether b, which begins with "<", begins with a meta tag.
// b must have at least len("<meta ") bytes.
func beginsMeta(b []byte) bool {
	if !strings.EqualFold(string(b[1:len("<meta")]), "meta") {
		return false
	}
	c := b[len("<meta")]
	return isSpace(c) || c == '/'
}

// mayBeOfInterest reports whether robotsmeta.ParseMeta may interpret a meta
// element with the given name. The name may contain character references, which
// have not been decoded.
func (s *Scanner) mayBeOfInterest(name []byte) bool {
	if len(name) == 0 {
		return false
	}
	return bytes.IndexByte(name, '&') >= 0 || robotsmeta.IsMetaName(string(name), s.Tokens...)
}

// tokenize processes the tokens that begin in buf[pos:end], and sets pos to the
// end of the last complete token. If headOnly is set, it stops at the end of
// the head.
func (s *Scanner) tokenize(end int, headOnly bool) {
	if s.pos >= end {
		return
	}
	defer func() {
		if s.pos < end {
			s.rescanned += len(s.buf) - s.pos
		}
	}()
	z := html.NewTokenizer(bytes.NewReader(s.buf[s.pos:]))
	tokenEnd := s.pos
	inRawText := false // whether the previous token began an element that contains only text
	headOnly = headOnly || s.HeadOnly
	for tokenEnd < end {
		if headOnly && s.headDone {
			return
		}
		kind := z.Next()
		if kind == html.ErrorToken {
			return
		}
		start := tokenEnd
		tokenEnd += len(z.Raw())
		switch kind {
		case html.StartTagToken, html.SelfClosingTagToken:
			inRawText = s.startTag(z, start, kind == html.SelfClosingTagToken)
			if inRawText {
				continue // if the content is incomplete, tokenizing must resume before the tag
			}
		case html.EndTagToken:
			s.endTag(z)
		default: // text, a comment or a doctype
			mayBeIncomplete := tokenEnd >= len(s.buf)
			if mayBeIncomplete {
				return
			}
			if kind == html.TextToken && !inRawText && s.templates == 0 {
				s.addText(z.Raw(), start)
			}
		}
		inRawText = false
		s.pos = tokenEnd
	}
}

// addText processes text that begins at buf[start]. Text other than white space
// ends the head.
func (s *Scanner) addText(text []byte, start int) {
	if start == 0 {
		text = bytes.TrimPrefix(text, []byte("\ufeff")) // byte order mark
	}
	if len(bytes.TrimLeft(text, space)) > 0 {
		s.headDone = true
	}
}

// startTag processes a start tag that begins at buf[start]. It reports whether
// the element contains only text.
func (s *Scanner) startTag(z *html.Tokenizer, start int, selfClosing bool) (isRawText bool) {
	nameBytes, hasAttributes := z.TagName()
	name := string(nameBytes)
	switch name {
	case "meta":
		if hasAttributes && s.templates == 0 {
			s.addMeta(z, start)
		}
		return false
	case "template":
		if s.foreign == 0 { // in <svg> and <math>, <template> is not special
			s.templates++
		}
		return false
	case "noscript":
		z.NextIsNotRawText()
		return false
	case "html", "head", "base", "basefont", "bgsound", "link":
		return false
	case "svg", "math":
		if !selfClosing {
			s.foreign++
		}
	case "script", "style", "title", "noframes":
		// These may be in the head.
	default:
		s.endHead()
	}
	if s.foreign > 0 {
		// In <svg> and <math>, even <title> and <style> contain elements.
		z.NextIsNotRawText()
		s.endHead()
		return false
	}
	return isRawTextElement(name)
}

// isRawTextElement reports whether the content of an element is text, in which
// tags have no meaning.
func isRawTextElement(name string) bool {
	switch name {
	case "script", "style", "title", "noframes",
		"textarea", "xmp", "iframe", "noembed", "plaintext":
		return true
	}
	return false
}

func (s *Scanner) endTag(z *html.Tokenizer) {
	name, _ := z.TagName()
	switch string(name) {
	case "template":
		s.templates = max(0, s.templates-1)
	case "svg", "math":
		s.foreign = max(0, s.foreign-1)
	case "body", "html", "br":
		s.endHead()
	}
}

func (s *Scanner) endHead() {
	if s.templates == 0 {
		s.headDone = true
	}
}

// addMeta adds the directives of a meta element that begins at buf[start].
func (s *Scanner) addMeta(z *html.Tokenizer, start int) {
	var name, content string
	more := true
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch string(key) {
		case "name":
			name = string(value)
		case "content":
			content = string(value)
		}
	}
	if !robotsmeta.IsMetaName(name, s.Tokens...) {
		return
	}
	s.line += bytes.Count(s.buf[s.linePos:start], []byte{'\n'})
	s.linePos = start
	s.directives = s.directives.Union(robotsmeta.ParseMeta(name, content, s.line+1, s.Tokens...))
}
