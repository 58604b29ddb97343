package match

import "github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"

// AppendTarget appends the part of a target that rules match, in the form that
// a dialect compares. The target is an absolute URL, or a path with its query.
func AppendTarget(dst []byte, target string, dialect syntax.Dialect) []byte {
	if dialect == syntax.Google {
		return appendGoogleTarget(dst, target)
	}
	return appendTarget(dst, pathAndQuery(target))
}

// AppendPattern appends a pattern in the form that a dialect compares.
func AppendPattern(dst []byte, pattern string, dialect syntax.Dialect) []byte {
	if dialect == syntax.Google {
		return appendGooglePattern(dst, pattern)
	}
	return appendPattern(dst, pattern)
}
