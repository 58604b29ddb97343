package match

import "github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"

// AppendTarget appends the normalized form of a target in the given dialect.
// The target is an absolute URL, or a path with an optional query. Only its
// path and query, which are what rules match, are appended.
func AppendTarget(dst []byte, target string, dialect syntax.Dialect) []byte {
	switch dialect {
	case syntax.Google:
		return appendGoogleTarget(dst, target)
	case syntax.Koster1996:
		return appendKosterTarget(dst, target)
	}
	return appendTarget(dst, pathAndQuery(target))
}

// AppendPattern appends the normalized form of a pattern in the given dialect.
func AppendPattern(dst []byte, pattern string, dialect syntax.Dialect) []byte {
	switch dialect {
	case syntax.Google:
		return appendGooglePattern(dst, pattern)
	case syntax.Koster1996:
		return appendKosterPath(dst, pattern)
	}
	return appendPattern(dst, pattern)
}
