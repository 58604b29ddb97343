package robotstxt

import (
	"bytes"
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/match"
)

// MatchResolved judges the target as Match does, and also the other names of
// the target. Some servers treat one path like another: they answer
// /x/%2e%2e/private/ and //private/ with the page of /private/. So a target has
// two other names. For the first name, the dot segments of its path are
// resolved (RFC 3986 §5.2.4), and then the empty segments are merged. For the
// second name, these two steps are in reverse order. Package robotsmw judges
// all of them.
//
// If the target itself is allowed, but one of these names is disallowed,
// MatchResolved returns the answer for that name, and the name itself. For
// example, the name is "/private/" if the target is "/x/../private/". In all
// other cases, MatchResolved returns Match's answer and "". MatchResolved
// allocates more memory than Match in two cases only: if one of these names is
// disallowed, or if the target is longer than 256 bytes.
func (r *Rules) MatchResolved(target string) (m Match, resolved string) {
	if m = r.Match(target); m.Allowed {
		if path := match.AfterAuthority(target); mayHaveOtherNames(path) {
			if other, name := r.matchOtherNames(path); name != "" {
				return other, name
			}
		}
	}
	return m, ""
}

// matchOtherNames judges the other names of a path with its query. It returns
// the answer for the first name that is disallowed, and this name. If no name
// is disallowed, it returns "" as the name.
func (r *Rules) matchOtherNames(path string) (m Match, name string) {
	query := ""
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path, query = path[:i], path[i:]
	}
	if path == "" || path[0] != '/' {
		path = "/" + path
	}
	var buf [4][256]byte
	resolved := appendMerged(buf[0][:0], match.AsString(appendResolved(buf[1][:0], path)))
	merged := appendResolved(buf[2][:0], match.AsString(appendMerged(buf[3][:0], path)))
	for _, other := range [...][]byte{resolved, merged} {
		if string(other) == path {
			continue
		}
		other = append(other, query...)
		if m = r.Match(match.AsString(other)); !m.Allowed { // the Match keeps no part of the buffer
			return m, string(other)
		}
	}
	return m, ""
}

// mayHaveOtherNames returns true for every path that has other names, and for
// some that have none.
func mayHaveOtherNames(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	return !strings.HasPrefix(path, "/") || strings.Contains(path, "//") || strings.Contains(path, "/.") || strings.Contains(path, "/%")
}

// appendResolved appends a path with its dot segments resolved (RFC 3986
// §5.2.4). path must begin with a slash.
func appendResolved(dst []byte, path string) []byte {
	start := len(dst)
	for path != "" {
		segment, rest, more := strings.Cut(path[1:], "/")
		switch dots(segment) {
		case 0:
			dst = append(append(dst, '/'), segment...)
		case 2:
			dst = dst[:start+max(0, bytes.LastIndexByte(dst[start:], '/'))]
		}
		if !more {
			if dots(segment) > 0 {
				dst = append(dst, '/')
			}
			return dst
		}
		path = path[len(path)-len(rest)-1:]
	}
	return dst
}

func appendMerged(dst []byte, path string) []byte {
	for i := range len(path) {
		if path[i] != '/' || i == 0 || path[i-1] != '/' {
			dst = append(dst, path[i])
		}
	}
	return dst
}

// dots returns 1 for the segment ".", 2 for "..", and 0 for any other segment.
// The dots may be escaped.
func dots(segment string) int {
	n := 0
	for ; segment != ""; n++ {
		switch {
		case n == 2:
			return 0
		case segment[0] == '.':
			segment = segment[1:]
		case len(segment) >= 3 && segment[:2] == "%2" && segment[2]|0x20 == 'e':
			segment = segment[3:]
		default:
			return 0
		}
	}
	return n
}
