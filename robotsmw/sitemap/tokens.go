package sitemap

import (
	"bufio"
	"bytes"
	"strings"
)

// A tokenizer takes markup apart, which need not be well-formed.
type tokenizer struct {
	text    *bufio.Reader
	charset string // as the XML declaration names it
	handler handler
}

// A handler receives what a tokenizer finds. Comments, declarations and
// instructions are left out.
type handler interface {
	addText(text []byte)  // a piece of text, undecoded
	startCDATA()          // the next pieces are in a CDATA section
	endCDATA()            // the pieces since startCDATA end with endOfCDATA
	tag(tag []byte) error // without its angle brackets
	inField() bool        // whether the text around is needed
}

const (
	endOfCDATA = "]]>"

	// maxTag is how many bytes a tag may have.
	maxTag = 64 << 10
)

// read reads until the end of the text. The error is never nil.
func (t *tokenizer) read() error {
	for {
		text, err := t.text.ReadSlice('<')
		if err != nil {
			t.handler.addText(text)
			if err == bufio.ErrBufferFull {
				continue
			}
			return err
		}
		t.handler.addText(text[:len(text)-1])
		if err := t.parseMarkup(); err != nil {
			return err
		}
	}
}

// parseMarkup reads what follows a "<": a comment, a CDATA section, an
// instruction, a declaration or a tag. If it is none of these, the "<" is text.
func (t *tokenizer) parseMarkup() error {
	const cdata = "![CDATA["
	next, _ := t.text.Peek(len(cdata))
	switch {
	case bytes.HasPrefix(next, []byte("!--")):
		return t.skip("-->")
	case string(next) == cdata:
		t.text.Discard(len(cdata))
		return t.readCDATA()
	case bytes.HasPrefix(next, []byte("?")):
		return t.readInstruction()
	case bytes.HasPrefix(next, []byte("!")) && !t.handler.inField():
		return t.skipDeclaration()
	case len(next) > 0 && (next[0] == '/' || isNameStart(next[0])):
		return t.readTag()
	}
	t.handler.addText([]byte("<"))
	return nil
}

// skip skips the text up to and including end.
func (t *tokenizer) skip(end string) error { return t.until(end, func([]byte) {}) }

// until passes the text up to and including end to use, in pieces.
func (t *tokenizer) until(end string, use func([]byte)) error {
	last := end[len(end)-1]
	var tail []byte // the last bytes of the pieces so far
	for {
		piece, err := t.text.ReadSlice(last)
		use(piece)
		tail = append(tail, piece[max(len(piece)-len(end), 0):]...)
		tail = tail[max(len(tail)-len(end), 0):]
		if err != nil && err != bufio.ErrBufferFull {
			return err
		}
		if string(tail) == end {
			return nil
		}
	}
}

func (t *tokenizer) readCDATA() error {
	t.handler.startCDATA()
	if err := t.until(endOfCDATA, t.handler.addText); err != nil {
		return err
	}
	t.handler.endCDATA()
	return nil
}

// readInstruction reads a processing instruction. That of the first line
// declares the charset.
func (t *tokenizer) readInstruction() error {
	var text []byte
	err := t.until("?>", func(piece []byte) {
		if len(text) < maxTag {
			text = append(text, piece...)
		}
	})
	if bytes.HasPrefix(text, []byte("?xml")) {
		t.charset = attribute(string(text), "encoding")
	}
	return err
}

// skipDeclaration skips a DOCTYPE, with the subset that it may contain.
func (t *tokenizer) skipDeclaration() error {
	for nesting := 0; ; {
		c, err := t.text.ReadByte()
		if err != nil {
			return err
		}
		switch {
		case c == '[':
			nesting++
		case c == ']' && nesting > 0:
			nesting--
		case c == '>' && nesting == 0:
			return nil
		}
	}
}

// readTag reads a tag, without its "<". A "<" within means that there is no
// tag: in "a<b</loc>", "<b" is text. A quote that is not closed ends with the
// tag.
func (t *tokenizer) readTag() error {
	var tag []byte
	var quote byte // the quote that is open
	afterEqual := false
	for {
		c, err := t.text.ReadByte()
		if err != nil {
			return err
		}
		if c == '<' {
			t.text.UnreadByte()
			return t.brokenTag(tag)
		}
		if c == '>' && quote == 0 {
			return t.handler.tag(tag)
		}
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && afterEqual && (c == '"' || c == '\''):
			quote = c
		}
		if c > ' ' {
			afterEqual = c == '='
		}
		if len(tag) == maxTag {
			return nil // no tag is that long; the text after it is ignored until the next "<"
		}
		tag = append(tag, c)
	}
}

// brokenTag handles what looked like a tag, up to the next "<".
func (t *tokenizer) brokenTag(text []byte) error {
	if tag, rest, ok := bytes.Cut(text, []byte(">")); ok {
		if err := t.handler.tag(tag); err != nil {
			return err
		}
		t.handler.addText(rest)
		return nil
	}
	t.handler.addText([]byte("<"))
	t.handler.addText(text)
	return nil
}

func isNameStart(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c >= 0x80 }

func isNameByte(c byte) bool {
	return isNameStart(c) || '0' <= c && c <= '9' || c == '-' || c == '.' || c == ':'
}

// attribute returns the value of an attribute in a tag, or "".
func attribute(tag, wanted string) string {
	rest := tag
	for {
		before, after, found := strings.Cut(rest, "=")
		if !found {
			return ""
		}
		fields := strings.Fields(before)
		isWanted := len(fields) > 0 && strings.EqualFold(fields[len(fields)-1], wanted)
		after = strings.TrimLeft(after, " \t\r\n")
		if after == "" {
			return ""
		}
		value := ""
		if quote := after[:1]; quote == `"` || quote == "'" {
			value, rest, _ = strings.Cut(after[1:], quote)
		} else {
			end := strings.IndexAny(after+" ", " \t\r\n/?")
			value, rest = after[:end], after[end:]
		}
		if isWanted {
			return value
		}
	}
}
