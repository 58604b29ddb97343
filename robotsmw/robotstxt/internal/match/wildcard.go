package match

import (
	"slices"
	"strings"
)

// matchesWildcard reports whether a normalized pattern matches a normalized
// target.
func matchesWildcard(pattern, target string) bool {
	if strings.IndexByte(pattern, eitherPercent) >= 0 {
		return matchesEither(pattern, target)
	}
	return matches(pattern, target)
}

// matches reports whether a pattern without eitherPercent matches a target.
//
// It finds the segments between the stars from left to right, each at its first
// occurrence after the previous one. Because the first occurrence leaves the
// longest rest for the remaining segments, no backtracking is needed, and the
// time is proportional to the lengths of the target and the pattern.
func matches(pattern, target string) bool {
	prefix, pattern, hasStar := strings.Cut(pattern, "*")
	if !hasStar {
		if exact, ok := strings.CutSuffix(prefix, "$"); ok {
			return target == exact
		}
		return strings.HasPrefix(target, prefix)
	}
	if !strings.HasPrefix(target, prefix) {
		return false
	}
	target = target[len(prefix):]
	if n := len(pattern); n > 0 && pattern[n-1] == '$' {
		last := strings.LastIndexByte(pattern, '*') + 1
		suffix := pattern[last : n-1]
		if !strings.HasSuffix(target, suffix) {
			return false
		}
		target = target[:len(target)-len(suffix)]
		pattern = pattern[:last]
	}
	for {
		star := strings.IndexByte(pattern, '*')
		if star < 0 {
			return strings.Contains(target, pattern)
		}
		i := strings.Index(target, pattern[:star])
		if i < 0 {
			return false
		}
		target = target[i+star:]
		pattern = pattern[star+1:]
	}
}

// matchesEither is like matches, but for patterns with eitherPercent. The
// pattern is expanded twice, for the path and for the query. Each segment is
// compared as expanded for the part of the target in which it begins. If a
// segment begins in the path and extends into the query, it contains the "?",
// and every eitherPercent precedes that "?".
func matchesEither(pattern, target string) bool {
	var stack [stackSize]byte
	buf := stack[:0]
	if need := 2 * len(pattern); need > stackSize {
		pooled := buffers.Get().(*[]byte)
		defer buffers.Put(pooled)
		*pooled = slices.Grow((*pooled)[:0], need)
		buf = *pooled
	}
	buf = appendExpanded(buf, pattern, false)
	forPath := AsString(buf)
	buf = appendExpanded(buf, pattern, true)
	forQuery := AsString(buf[len(forPath):])

	// No eitherPercent precedes the first star, so both expansions have the
	// same prefix.
	prefix, forPath, _ := strings.Cut(forPath, "*")
	_, forQuery, _ = strings.Cut(forQuery, "*")
	if !strings.HasPrefix(target, prefix) {
		return false
	}
	t := splitTarget{text: target, query: strings.IndexByte(target, '?')}
	if t.query < 0 {
		t.query = len(target)
	}
	pos := len(prefix)
	for {
		var s eitherSegment
		var hasStar bool
		s.forPath, forPath, hasStar = strings.Cut(forPath, "*")
		s.forQuery, forQuery, _ = strings.Cut(forQuery, "*")
		if !hasStar && strings.HasSuffix(s.forPath, "$") {
			s.forPath = strings.TrimSuffix(s.forPath, "$")
			s.forQuery = strings.TrimSuffix(s.forQuery, "$")
			return t.endsWith(s, pos)
		}
		pos = t.find(s, pos)
		if pos < 0 {
			return false
		}
		if !hasStar {
			return true
		}
	}
}

// An eitherSegment is a part of a pattern between stars, expanded for the path
// and for the query of a target.
type eitherSegment struct{ forPath, forQuery string }

// A splitTarget is a target and the position of its "?". A segment that begins
// at the "?" is compared as in the path.
type splitTarget struct {
	text  string
	query int // len(text) if there is no query
}

// find returns the end of the first occurrence of a segment at or after pos, or
// -1.
func (t splitTarget) find(s eitherSegment, pos int) int {
	if pos <= t.query {
		// the end of the last segment that begins in the path
		end := min(t.query+len(s.forPath), len(t.text))
		if i := strings.Index(t.text[pos:end], s.forPath); i >= 0 {
			return pos + i + len(s.forPath)
		}
		pos = t.query + 1
	}
	if pos > len(t.text) {
		return -1
	}
	if i := strings.Index(t.text[pos:], s.forQuery); i >= 0 {
		return pos + i + len(s.forQuery)
	}
	return -1
}

// endsWith reports whether the target ends with a segment that begins at or
// after pos.
func (t splitTarget) endsWith(s eitherSegment, pos int) bool {
	start := len(t.text) - len(s.forPath)
	beginsInPath := pos <= start && start <= t.query
	if beginsInPath && t.text[start:] == s.forPath {
		return true
	}
	start = len(t.text) - len(s.forQuery)
	return start >= max(pos, t.query+1) && t.text[start:] == s.forQuery
}

// appendExpanded appends a pattern in which each eitherPercent is replaced for
// the path or for the query.
func appendExpanded(dst []byte, pattern string, inQuery bool) []byte {
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c != eitherPercent:
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
