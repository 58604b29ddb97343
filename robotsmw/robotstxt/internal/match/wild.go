package match

import (
	"slices"
	"strings"
)

// matchesWild reports whether a pattern with wildcards matches a target in
// canonical form.
func matchesWild(pattern, target string) bool {
	if strings.IndexByte(pattern, eitherEscape) >= 0 {
		return matchesEither(pattern, target)
	}
	return matches(pattern, target)
}

// matches reports whether a pattern without an eitherEscape matches a target.
//
// It takes the pieces between the wildcards from left to right. For each piece,
// it looks for the first occurrence after the previous piece. The first
// occurrence is always right, because it leaves the most room for the later
// pieces. So no piece is tried again, and the work is in proportion to the
// lengths of the target and the pattern.
func matches(pattern, target string) bool {
	piece, pattern, more := strings.Cut(pattern, "*")
	if !more {
		if exact, ok := strings.CutSuffix(piece, "$"); ok {
			return target == exact
		}
		return strings.HasPrefix(target, piece)
	}
	if !strings.HasPrefix(target, piece) {
		return false
	}
	target = target[len(piece):]
	if n := len(pattern); n > 0 && pattern[n-1] == '$' {
		last := strings.LastIndexByte(pattern, '*') + 1
		end := pattern[last : n-1]
		if !strings.HasSuffix(target, end) {
			return false
		}
		target, pattern = target[:len(target)-len(end)], pattern[:last]
	}
	for {
		star := strings.IndexByte(pattern, '*')
		if star < 0 {
			return strings.Contains(target, pattern)
		}
		at := strings.Index(target, pattern[:star])
		if at < 0 {
			return false
		}
		pattern, target = pattern[star+1:], target[at+star:]
	}
}

// matchesEither does the same as matches(), for a pattern with an eitherEscape.
// It takes about as long. A piece of the pattern has one spelling if it begins
// in the path, and another if it begins in the query. Some pieces begin in the
// path and end in the query. Such a piece contains the "?". Any eitherEscape in
// the piece comes before this "?", so the spelling for the path is right.
func matchesEither(pattern, target string) bool {
	var buf [stackBuffer]byte
	spellings := buf[:0]
	if need := 2 * len(pattern); need > stackBuffer {
		pooled := buffers.Get().(*[]byte)
		defer buffers.Put(pooled)
		*pooled = slices.Grow((*pooled)[:0], need)
		spellings = *pooled
	}
	spellings = appendEither(spellings, pattern, false)
	inPath := AsString(spellings)
	spellings = appendEither(spellings, pattern, true)
	inQuery := AsString(spellings[len(inPath):])

	query := strings.IndexByte(target, '?') // where the "?" is; the spelling for the path is used up to the "?" itself
	if query < 0 {
		query = len(target)
	}
	first, inPath, _ := strings.Cut(inPath, "*") // up to the first "*", both spellings are the same
	_, inQuery, _ = strings.Cut(inQuery, "*")
	if !strings.HasPrefix(target, first) {
		return false
	}
	at := len(first)
	for {
		var a, b string
		var more bool
		a, inPath, more = strings.Cut(inPath, "*")
		b, inQuery, _ = strings.Cut(inQuery, "*")
		if !more && strings.HasSuffix(a, "$") {
			a, b = a[:len(a)-1], b[:len(b)-1]
			i, j := len(target)-len(a), len(target)-len(b)
			return i >= at && i <= query && target[i:] == a || j >= at && j > query && target[j:] == b
		}
		if at = indexEither(target, a, b, at, query); at < 0 || !more {
			return at >= 0
		}
	}
}

// indexEither looks for the first occurrence of a piece in target[at:]. It
// returns the end of the piece in target, or -1. inPath and inQuery are the
// piece's two spellings. query is where the target's query begins.
func indexEither(target, inPath, inQuery string, at, query int) int {
	if at <= query {
		if i := strings.Index(target[at:min(query+len(inPath), len(target))], inPath); i >= 0 {
			return at + i + len(inPath)
		}
		at = query + 1
	}
	if at <= len(target) {
		if i := strings.Index(target[at:], inQuery); i >= 0 {
			return at + i + len(inQuery)
		}
	}
	return -1
}

// appendEither appends a pattern in one of its two spellings.
func appendEither(dst []byte, pattern string, inQuery bool) []byte {
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c != eitherEscape:
			dst = append(dst, c)
		case inQuery:
			dst = append(dst, unhex(pattern[i+1])<<4|unhex(pattern[i+2]))
			i += 2
		default:
			dst = append(dst, '%')
		}
	}
	return dst
}
