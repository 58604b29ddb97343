package audit

import "strings"

// otherNames returns the names that servers may serve a target by besides its
// own: with dot segments resolved (RFC 3986 §5.2.4) and then empty ones merged,
// and in the other order. A crawler of this module is bound by all of them.
func otherNames(target string) (names []string) {
	path, query := pathOf(target), ""
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path, query = path[:i], path[i:]
	}
	if path == "" || path[0] != '/' {
		path = "/" + path
	}
	for _, name := range []string{merged(resolved(path)), resolved(merged(path))} {
		if name != path {
			names = append(names, name+query)
		}
	}
	return names
}

// merged is a path without its empty segments.
func merged(path string) string {
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	return path
}

// resolved is a path without its dot segments.
func resolved(path string) string {
	var out []string
	segments := strings.Split(path[1:], "/")
	for i, segment := range segments {
		isLast := i == len(segments)-1
		switch strings.ReplaceAll(strings.ToLower(segment), "%2e", ".") {
		case ".":
			if isLast {
				out = append(out, "")
			}
		case "..":
			out = out[:max(0, len(out)-1)]
			if isLast {
				out = append(out, "")
			}
		default:
			out = append(out, segment)
		}
	}
	return "/" + strings.Join(out, "/")
}
