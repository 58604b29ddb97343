package htmlmeta

import "bytes"

type tagVerdict uint8

const (
	tagPlain tagVerdict = iota // ends without a name attribute, or is another element
	tagNamed                   // has one
	tagCut                     // the text ends first
)

// metaName reads b, what follows "<meta", up to the first name attribute or the tag's end, by the rules of the
// tokenizer (WHATWG HTML §13.2.5.32 to 40). value is the attribute's text as written, size what was read.
func metaName(b []byte) (value []byte, size int, verdict tagVerdict) {
	i := 0
	skipSpace := func() {
		for i < len(b) && isSpace(b[i]) {
			i++
		}
	}
	if c := b[0]; !isSpace(c) && c != '/' && c != '>' { // <metadata>
		return nil, 1, tagPlain
	}
	for {
		skipSpace()
		if i == len(b) {
			return nil, i, tagCut
		}
		if b[i] == '>' {
			return nil, i, tagPlain
		}
		start := i
		if b[i] == '=' {
			i++
		}
		for i < len(b) && b[i] != '=' && b[i] != '/' && b[i] != '>' && !isSpace(b[i]) {
			i++
		}
		key := b[start:i]
		skipSpace()
		if i == len(b) {
			return nil, i, tagCut
		}
		from, to := i, i
		switch b[i] {
		case '/':
			i++
		case '=':
			i++
			skipSpace()
			if i == len(b) {
				return nil, i, tagCut
			}
			if quote := b[i]; quote == '"' || quote == '\'' {
				i++
				n := bytes.IndexByte(b[i:], quote)
				if n < 0 {
					return nil, len(b), tagCut
				}
				from, to = i, i+n
				i = to + 1
			} else {
				from = i
				for i < len(b) && b[i] != '>' && !isSpace(b[i]) {
					i++
				}
				to = i
				if i == len(b) {
					return nil, i, tagCut
				}
			}
		}
		if len(key) == 4 && key[0]|0x20 == 'n' && key[1]|0x20 == 'a' && key[2]|0x20 == 'm' && key[3]|0x20 == 'e' {
			return b[from:to], i, tagNamed
		}
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }
