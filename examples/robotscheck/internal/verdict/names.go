package verdict

import (
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// Judge returns the verdict on a target, as robotsmw.Checker would. Servers may
// take an allowed target for another name that is disallowed. Then that name
// decides.
func Judge(rules *robotstxt.Rules, target string) Verdict {
	m := rules.Match(target)
	if m.Allowed {
		for _, name := range otherNames(target) {
			if other := rules.Match(name); !other.Allowed {
				v := Of(other)
				v.Resolved = name
				return v
			}
		}
	}
	return Of(m)
}

// otherNames returns the names that servers may take a target for. One is its
// path with dot segments resolved (RFC 3986 §5.2.4) and then empty segments
// removed. The other is the same in the other order.
func otherNames(target string) (names []string) {
	path := pathOf(target)
	if !strings.Contains(path, "//") && !strings.Contains(path, "/.") && !strings.Contains(path, "/%") {
		return nil // as for nearly all targets
	}
	query := ""
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path, query = path[:i], path[i:]
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	for _, name := range []string{merged(resolved(path)), resolved(merged(path))} {
		if name != path {
			names = append(names, name+query)
		}
	}
	return names
}

// pathOf returns the path and query of a target.
func pathOf(target string) string {
	scheme, rest, ok := strings.Cut(target, "://")
	if !ok || scheme == "" || strings.ContainsAny(scheme, "/?#") {
		return target
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		return rest[i:]
	}
	return ""
}

// merged returns a path without its empty segments.
func merged(path string) string {
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	return path
}

// resolved returns a path without its dot segments. The path begins with a
// slash.
func resolved(path string) string {
	var out []string
	segments := strings.Split(path[1:], "/")
	for i, segment := range segments {
		isLast := i == len(segments)-1
		switch strings.ReplaceAll(strings.ToLower(segment), "%2e", ".") {
		case ".":
		case "..":
			out = out[:max(0, len(out)-1)]
		default:
			out = append(out, segment)
			continue
		}
		if isLast {
			out = append(out, "")
		}
	}
	return "/" + strings.Join(out, "/")
}
