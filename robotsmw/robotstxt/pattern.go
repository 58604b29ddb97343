package robotstxt

import "strings"

// A pattern is matched from the target's first octet. "*" stands for any octets, also for none, and "$", as the
// last octet, for the end of the target; all others are literal (RFC 9309 §2.2.3). In memory a pattern has the
// form of escape.go, in which its length is what the rule of the most specific match counts (§2.2.2): an escape
// that remains one is three octets, everything else is one.

// isCanonical reports whether a pattern is in that form as it is written, as nearly all are.
func isCanonical(pattern string) bool {
	for i := range len(pattern) {
		if c := pattern[i]; !isPlain(c) && (!isPrintable(c) || c == '%' || c == '$' && i < len(pattern)-1) {
			return false
		}
	}
	return true
}

// appendPattern appends a pattern in that form.
//
// Whether "%2F" is the same as "/" depends on where it is compared, in the path or in the query. Behind a "?" of
// the pattern that is the query, and before any "*" it is the path; between the two it is left open.
func appendPattern(dst []byte, pattern string) []byte {
	inQuery, wild := false, false
	for i := 0; i < len(pattern); i++ {
		if c, ok := escapeAt(pattern, i); ok {
			i += 2
			if (c == '/' || c == '?') && wild && !inQuery {
				dst = append(dst, eitherEscape, upperhex[c>>4], upperhex[c&15])
			} else {
				dst = appendOctet(dst, c, true, inQuery)
			}
			continue
		}
		switch c := pattern[i]; {
		case c == '*':
			dst, wild = append(dst, c), true
		case c == '$' && i == len(pattern)-1:
			dst = append(dst, c)
		default:
			dst = appendOctet(dst, c, false, inQuery)
			inQuery = inQuery || c == '?'
		}
	}
	return dst
}

// canMatch reports whether a pattern can match anything: every target begins with "/".
func canMatch(pattern string) bool {
	return pattern != "" && (pattern[0] == '/' || pattern[0] == '*')
}

// literalPart returns what a pattern without a wildcard that matters comes down to: a "*" at its end changes
// nothing but its length. ok is false for a pattern that does need its wildcards.
func literalPart(pattern string) (literal string, ok bool) {
	for pattern != "" && pattern[len(pattern)-1] == '*' {
		pattern = pattern[:len(pattern)-1]
	}
	return pattern, strings.IndexByte(pattern, '*') < 0
}

// matches reports whether a pattern matches the target; both are in the form of escape.go.
//
// The pieces between the wildcards are looked for from left to right, each at the first place after the one
// before. Taking the first place never rules out a match, because all that remains can only gain room, so nothing
// is ever tried twice: the work is in proportion to the lengths of the target and the pattern.
func (s *search) matches(pattern string) bool {
	if strings.IndexByte(pattern, eitherEscape) >= 0 {
		return s.matchesEither(pattern)
	}
	piece, pattern, more := strings.Cut(pattern, "*")
	if !more {
		if exact, ok := strings.CutSuffix(piece, "$"); ok {
			return s.target == exact
		}
		return strings.HasPrefix(s.target, piece)
	}
	if !strings.HasPrefix(s.target, piece) {
		return false
	}
	target := s.target[len(piece):]
	for {
		star := strings.IndexByte(pattern, '*')
		if star < 0 {
			break
		}
		at := strings.Index(target, pattern[:star])
		if at < 0 {
			return false
		}
		pattern, target = pattern[star+1:], target[at+star:]
	}
	if n := len(pattern); n > 0 && pattern[n-1] == '$' {
		return strings.HasSuffix(target, pattern[:n-1])
	}
	return strings.Contains(target, pattern)
}

// matchesEither is matches for a pattern with an eitherEscape. There are so few of them that it has to be right, not
// fast: a piece may cost its length times the target's. What it costs is spent.
func (s *search) matchesEither(pattern string) bool {
	query := strings.IndexByte(s.target, '?')
	if query < 0 {
		query = len(s.target)
	}
	at := 0
	for first := true; ; first = false {
		piece, rest, more := strings.Cut(pattern, "*")
		exact, anchored := strings.CutSuffix(piece, "$")
		if anchored = anchored && !more; anchored {
			piece = exact
		}
		last := len(s.target)
		if first {
			last = 0
		}
		end := -1
		for ; at <= last && (end < 0 || anchored && end < len(s.target)); at++ {
			if end = s.endOfPiece(piece, at, query); s.left < 0 {
				return false
			}
		}
		switch {
		case end < 0, anchored && end < len(s.target):
			return false
		case !more:
			return true
		}
		at, pattern = end, rest
	}
}

// endOfPiece returns where a piece of a pattern ends that stands at target[at:], or -1 if it does not stand there.
func (s *search) endOfPiece(piece string, at, query int) int {
	for i := 0; i < len(piece); i++ {
		c := piece[i]
		if c == eitherEscape {
			c = '%'
			if at > query {
				c = unhex(piece[i+1])<<4 | unhex(piece[i+2])
				i += 2
			}
		}
		s.left--
		if at >= len(s.target) || s.target[at] != c {
			return -1
		}
		at++
	}
	return at
}
