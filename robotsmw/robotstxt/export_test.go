package robotstxt

import (
	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/match"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// These names are for the tests in package robotstxt_test.

var SharedDir = sharedDir

// GooglePath returns the path of a URL in the form in which the Google dialect
// compares paths.
func GooglePath(url string) string { return string(match.AppendTarget(nil, url, syntax.Google)) }
