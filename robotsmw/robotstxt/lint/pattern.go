package lint

import (
	"slices"
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/match"
)

// checkPattern checks the pattern of a rule. name is the name of the field.
func (c *lineChecker) checkPattern(name, pattern string) {
	if pattern == "" {
		return
	}
	if isURL(pattern) {
		fix := ""
		if path := match.TrimAuthority(pattern); path != "" {
			fix = name + ": " + path
		}
		c.addValue(0, codeURL, Error, fix,
			"a rule must be a path, not a URL; this rule matches nothing")
		return
	}
	if blank := strings.IndexAny(pattern, " \t"); blank >= 0 {
		if paths := strings.Fields(pattern); len(paths) > 1 && areAllPaths(paths) {
			c.addValue(blank, codeSeveralPaths, Error, splitRule(name, paths),
				"a rule must have only one path; robots treat the white space as part of it")
			return
		}
	}
	if !match.CanMatch(pattern) {
		c.addNoMatch(name, pattern)
		return
	}
	c.checkRunTogether(name, pattern)
	if i := indexInnerDollar(pattern); i >= 0 {
		c.addValue(i, codeDollarInMiddle, Warning, "",
			"\"$\" matches the end only if it is the last character; here it is literal")
	}
	c.checkTrailingStar(name, pattern)
}

// isURL reports whether a pattern begins with a scheme.
func isURL(pattern string) bool {
	i := strings.Index(pattern, "://")
	return i > 0 && i < 6 && strings.IndexByte(pattern[:i], '/') < 0
}

func areAllPaths(words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return w[0] != '/' })
}

// splitRule returns a rule for each of several paths. It returns "" if a path
// has a colon, as in "/http: /", because that is another mistake, or if a path
// is "/", because its rule would apply to the whole site.
func splitRule(name string, paths []string) string {
	for _, path := range paths {
		if path == "/" || strings.IndexByte(path, ':') >= 0 {
			return ""
		}
	}
	return name + ": " + strings.Join(paths, "\n"+name+": ")
}

// addNoMatch adds the problem of a pattern that cannot match any target.
func (c *lineChecker) addNoMatch(name, pattern string) {
	if looksLikeRobot(pattern) {
		c.addValue(0, codeReversed, Error, "User-agent: "+pattern+"\nDisallow: /",
			"%q is a robot, not a path; this rule matches nothing", clip(pattern))
		return
	}
	c.addValue(0, codeNoLeadingSlash, Error, addSlash(name, pattern),
		"a path must begin with \"/\"; this rule matches nothing")
}

// checkTrailingStar reports stars at the end of a pattern. If the file has both
// kinds of rules, there is no fix, because a shorter pattern might not take
// precedence any more.
func (c *lineChecker) checkTrailingStar(name, pattern string) {
	trimmed := strings.TrimRight(pattern, "*")
	if trimmed == pattern || trimmed == "" {
		return
	}
	fix := ""
	if !c.hasBothKinds {
		fix = name + ": " + trimmed
	}
	c.addValue(len(trimmed), codeTrailingStar, Info, fix,
		"a final \"*\" affects only the length of the rule, because rules match prefixes")
}

// checkRunTogether reports two paths without white space between them. It
// checks the first "//" of the path.
func (c *lineChecker) checkRunTogether(name, pattern string) {
	path, _, _ := strings.Cut(pattern, "?")
	i := strings.Index(path, "//")
	if i < 0 || !separatesPaths(path, i) {
		return
	}
	fix := ""
	if strings.HasSuffix(path, "/") { // otherwise, as in "/a//b.html", it is probably a single path
		fix = name + ": " + path[:i+1] + "\n" + name + ": " + pattern[i+1:]
	}
	c.addValue(i, codeRunTogether, Warning, fix,
		"there seem to be two paths without a separator; this rule matches only paths with \"//\"")
}

// separatesPaths reports whether the "//" at path[i:] may separate two paths.
// It does not at the beginning or end of the path, after a colon as in
// "/http://example.com", or before another slash, a "*" or a "$".
func separatesPaths(path string, i int) bool {
	before, after := path[:i], path[i+len("//"):]
	isAtEnd := before == "" || after == ""
	if isAtEnd || strings.HasSuffix(before, ":") {
		return false
	}
	return strings.IndexByte("/*$", after[0]) < 0
}

// addSlash returns a rule with a slash before its pattern. It returns "" if it
// is not clear that this is what the author intended: ".css" may mean "/*.css",
// and "Disallow: /a" is another line.
func addSlash(name, pattern string) string {
	path := strings.TrimPrefix(pattern, "./")
	isPath := beginsWithAlnum(path) && !strings.Contains(path, ":")
	if isPath || strings.HasPrefix(path, "?") {
		return name + ": /" + path
	}
	return ""
}

// indexInnerDollar returns the index of the first "$" of a pattern. It returns
// -1 if there is none, if the "$" is the last byte, or if it begins a name, as
// in "/$metadata".
func indexInnerDollar(pattern string) int {
	i := strings.IndexByte(pattern, '$')
	if i == len(pattern)-1 {
		return -1
	}
	beginsName := i > 0 && pattern[i-1] == '/' && beginsWithAlnum(pattern[i+1:])
	if beginsName {
		return -1
	}
	return i
}

// beginsWithAlnum reports whether s begins with an ASCII letter or digit.
func beginsWithAlnum(s string) bool {
	if s == "" {
		return false
	}
	isLetter := 'a' <= s[0]|0x20 && s[0]|0x20 <= 'z'
	isDigit := '0' <= s[0] && s[0] <= '9'
	return isLetter || isDigit
}

// robotWords are typical of the names of robots.
var robotWords = []string{
	"bot", "spider", "crawl", "slurp", "scooter", "archiver", "fetcher",
	"teoma", "yandex", "wget", "curl",
}

func looksLikeRobot(s string) bool {
	if strings.ContainsAny(s, "/.*?=") {
		return false
	}
	lower := strings.ToLower(s)
	return slices.ContainsFunc(robotWords, func(word string) bool {
		return strings.Contains(lower, word)
	})
}
