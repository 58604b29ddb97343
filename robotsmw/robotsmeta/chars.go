package robotsmeta

const space = " \t\r\n\f"

// classes says for each byte what it separates or ends.
var classes = func() (e [256]uint8) {
	for _, c := range []byte(space) {
		e[c] = partsWords
	}
	e[','], e[';'], e[':'] = partsItems, partsItems, endsName
	return e
}()

const (
	partsWords = 1 << iota
	partsItems
	endsName // ends the name of a robot or of a directive
)

func isSpace(c byte) bool { return classes[c]&partsWords != 0 }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
