package sitemap

import (
	"bufio"
	"bytes"
	"strings"
)

// A tokenizer splits markup, which need not be well-formed, into tags and text.
type tokenizer struct {
	text    *bufio.Reader
	charset string // the charset in the XML declaration
	handler handler
}

// A handler receives the tags and the text. It does not receive comments,
// declarations and processing instructions.
type handler interface {
	addText(text []byte)  // adds a piece of text, which has not been decoded
	startCDATA()          // the next pieces of text are in a CDATA section
	endCDATA()            // the text since startCDATA ends with endOfCDATA
	tag(tag []byte) error // a tag without its angle brackets
	inField() bool        // whether the handler needs the current text
}

const (
	endOfCDATA = "]]>"
	maxTag     = 64 << 10 // maximum size of a tag in bytes
)

// read processes the whole text. It returns io.EOF at the end of the text, and
// never nil.
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

// parseMarkup processes a comment, CDATA section, instruction, declaration or
// tag whose "<" has been read. If there is none of these, the "<" is text.
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

// until calls use for each piece of the text up to and including end.
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

// readInstruction processes a processing instruction, such as the XML
// declaration, which contains the charset.
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

// skipDeclaration skips a declaration, such as a DOCTYPE with its subset.
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

// readTag processes a tag whose "<" has been read. If another "<" follows
// before the end of the tag, there is no tag: in "a<b</loc>", "<b" is text.
func (t *tokenizer) readTag() error {
	var tag []byte
	var quote byte // the open quote, or 0
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
			return nil // the text until the next "<" is ignored
		}
		tag = append(tag, c)
	}
}

// brokenTag processes text that begins like a tag but is followed by another
// "<". If the text contains a ">", which must be in a quoted value without a
// closing quote, the part before the ">" is a tag.
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

// attribute returns the value of the attribute with the wanted name in a tag,
// or "" if there is none.
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
			value = after[:end]
			rest = after[end:]
		}
		if isWanted {
			return value
		}
	}
}
