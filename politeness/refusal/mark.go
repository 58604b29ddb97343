package refusal

import (
	"bytes"
	"strings"
)

// A mark is a text that the pages of a wall contain.
type mark struct {
	text string
	rare int // the index in text of the byte that is rarest in HTML
}

// frequentBytes has the bytes that are frequent in HTML, in order: the most
// frequent byte comes first.
const frequentBytes = ` etaoinsr</>"=ldhcumpg-.fybvw:kA0123456789;,_#CSx`

// marks returns a mark for each text.
func marks(texts ...string) (all []mark) {
	for _, text := range texts {
		m := mark{text: text}
		rarest := -1
		for i := range len(text) {
			rank := strings.IndexByte(frequentBytes, text[i])
			if rank < 0 {
				rank = len(frequentBytes)
			}
			if rank > rarest {
				m.rare, rarest = i, rank
			}
		}
		all = append(all, m)
	}
	return all
}

// isIn reports whether text contains the mark. It searches for the mark's
// rarest byte first. For a mark that begins with "<", this is about ten times
// as fast as bytes.Contains, because "<" is common in HTML.
func (m mark) isIn(text []byte) bool {
	for at := m.rare; at < len(text); at++ {
		next := bytes.IndexByte(text[at:], m.text[m.rare])
		if next < 0 {
			return false
		}
		at += next
		if begin := text[at-m.rare:]; len(begin) >= len(m.text) && string(begin[:len(m.text)]) == m.text {
			return true
		}
	}
	return false
}
