package robotstxt

import (
	"bytes"
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/match"
)

// MatchResolved is like [Rules.Match], but also matches the target after
// resolving its dot segments and merging its empty segments, because many
// servers return the page of /private/ for /x/%2e%2e/private/ and for
// //private/. Without this check, a link could lead a crawler to a page that
// the rules disallow.
//
// Dot segments are resolved according to RFC 3986 §5.2.4. Because the result
// may depend on whether dot segments or empty segments are removed first, both
// orders are matched.
//
// If the target is allowed, but one of its resolved forms is disallowed,
// MatchResolved returns the Match of that form, and the form itself, such as
// "/private/". Otherwise it returns the Match of the target, and resolved is
// "". It allocates memory only if a resolved form is disallowed, or if the
// target is longer than 256 bytes.
func (r *Rules) MatchResolved(target string) (m Match, resolved string) {
	m = r.Match(target)
	if !m.Allowed {
		return m, ""
	}
	path := match.TrimAuthority(target)
	if !mayNeedResolving(path) {
		return m, ""
	}
	if other, form := r.matchResolvedForms(path); form != "" {
		return other, form
	}
	return m, ""
}

// matchResolvedForms matches the resolved forms of a path with its query. It
// returns the first form that is disallowed, and its Match. If none is
// disallowed, form is "".
func (r *Rules) matchResolvedForms(path string) (m Match, form string) {
	query := ""
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		query = path[i:]
		path = path[:i]
	}
	if path == "" || path[0] != '/' {
		path = "/" + path
	}
	var stack [4][256]byte // avoids allocations for most paths
	resolvedFirst := appendMerged(stack[1][:0], match.AsString(appendResolved(stack[0][:0], path)))
	mergedFirst := appendResolved(stack[3][:0], match.AsString(appendMerged(stack[2][:0], path)))
	for _, buf := range [...][]byte{resolvedFirst, mergedFirst} {
		if string(buf) == path {
			continue
		}
		buf = append(buf, query...)
		m = r.Match(match.AsString(buf)) // a Match does not retain its target
		if !m.Allowed {
			return m, string(buf)
		}
	}
	return m, ""
}

// mayNeedResolving reports whether a path may have dot segments or empty
// segments. It is a fast check that has false positives, but no false
// negatives.
func mayNeedResolving(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	if !strings.HasPrefix(path, "/") {
		return true
	}
	return strings.Contains(path, "//") ||
		strings.Contains(path, "/.") ||
		strings.Contains(path, "/%")
}

// appendResolved appends a path with its dot segments resolved (RFC 3986
// §5.2.4). The path must begin with a slash.
func appendResolved(dst []byte, path string) []byte {
	start := len(dst)
	for path != "" {
		segment, rest, more := strings.Cut(path[1:], "/")
		dots := countDots(segment)
		switch dots {
		case 0:
			dst = append(dst, '/')
			dst = append(dst, segment...)
		case 2:
			parent := bytes.LastIndexByte(dst[start:], '/')
			dst = dst[:start+max(0, parent)]
		}
		if !more {
			if dots > 0 {
				dst = append(dst, '/')
			}
			return dst
		}
		path = path[len(path)-len(rest)-1:] // with the slash before the rest
	}
	return dst
}

// appendMerged appends a path with each run of slashes replaced by one slash.
func appendMerged(dst []byte, path string) []byte {
	for i := range len(path) {
		isRepeated := i > 0 && path[i] == '/' && path[i-1] == '/'
		if !isRepeated {
			dst = append(dst, path[i])
		}
	}
	return dst
}

// countDots returns 1 for the segment ".", 2 for "..", and 0 for any other
// segment. The dots may be percent-encoded.
func countDots(segment string) int {
	dots := 0
	for segment != "" {
		switch {
		case segment[0] == '.':
			segment = segment[1:]
		case beginsWithEncodedDot(segment):
			segment = segment[len("%2e"):]
		default:
			return 0
		}
		dots++
	}
	if dots > 2 {
		return 0
	}
	return dots
}

func beginsWithEncodedDot(s string) bool {
	return strings.HasPrefix(s, "%2e") || strings.HasPrefix(s, "%2E")
}
