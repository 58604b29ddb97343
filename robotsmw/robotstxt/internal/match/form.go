package match

import "github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"

// AppendTarget appends the part of a target that rules match, in the form that
// a dialect compares. The target is an absolute URL, or a path with its query.
func AppendTarget(dst []byte, target string, dialect syntax.Dialect) []byte {
	switch dialect {
	case syntax.Google:
		return appendGoogleTarget(dst, target)
	case syntax.Koster1996:
		return appendKosterTarget(dst, target)
	}
	return appendTarget(dst, pathAndQuery(target))
}

// AppendPattern appends a pattern in the form that a dialect compares.
func AppendPattern(dst []byte, pattern string, dialect syntax.Dialect) []byte {
	switch dialect {
	case syntax.Google:
		return appendGooglePattern(dst, pattern)
	case syntax.Koster1996:
		return appendKosterPath(dst, pattern)
	}
	return appendPattern(dst, pattern)
}
