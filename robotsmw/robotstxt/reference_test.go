package robotstxt

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// The reference implementation is a simple, slow matcher that follows RFC 9309
// §2.2.2 and §2.2.3 and the documentation of the package literally. Tests and
// fuzz targets compare package match with it.

type referenceRule struct {
	allow   bool
	line    int
	pattern string
}

// referenceRules returns the rules for a robot, in order.
func referenceRules(f *File, tokens ...string) (rules []referenceRule) {
	for _, name := range append(slices.Clone(tokens), "*") {
		found := false
		for _, group := range referenceGroups(f, name) {
			found = true
			for _, r := range group {
				if r.Field == syntax.Allow || r.Field == syntax.Disallow {
					rules = append(rules, referenceRule{
						allow:   r.Field == syntax.Allow,
						line:    int(r.Line),
						pattern: f.syntax.Value(&r),
					})
				}
			}
		}
		if found {
			break
		}
	}
	return rules
}

// referenceGroups returns the groups that name a robot.
func referenceGroups(f *File, name string) (groups [][]syntax.Record) {
	for all := f.syntax.Groups(); all.Next(); {
		names := func(r syntax.Record) bool {
			return r.Field == syntax.UserAgent && f.syntax.NamesToken(&r, syntax.NewToken(name))
		}
		if slices.ContainsFunc(all.Group, names) {
			groups = append(groups, all.Group)
		}
	}
	return groups
}

// referenceMatch returns the rule that decides about a target. ok is false if
// no rule matches.
func referenceMatch(rules []referenceRule, target string) (best referenceRule, ok bool) {
	canon, query := referenceTarget(target)
	longest := -1
	for _, r := range rules {
		pattern := referencePattern(r.pattern)
		if r.pattern == "" || !referenceMatches(pattern, canon, query) {
			continue
		}
		n := referenceLength(pattern)
		isEqualAllow := n == longest && r.allow && !best.allow
		if n > longest || isEqualAllow {
			longest = n
			best = r
			ok = true
		}
	}
	return best, ok
}

// referenceTarget returns the normalized form of a target, and the index at
// which its query begins.
func referenceTarget(target string) (canon string, query int) {
	target, _, _ = strings.Cut(target, "#")
	if scheme, rest, ok := strings.Cut(target, "://"); ok && !strings.ContainsAny(scheme, "/?") {
		target = rest[indexOr(rest, "/?", len(rest)):]
	}
	if !strings.HasPrefix(target, "/") {
		target = "/" + target
	}
	query = -1
	for target != "" {
		written, value, escaped := referenceByte(target)
		target = target[len(written):]
		if written == "?" && query < 0 {
			query = len(canon)
		}
		canon += referenceForm(value, escaped, query >= 0)
	}
	if query < 0 {
		query = len(canon)
	}
	return canon, query
}

// indexOr is strings.IndexAny, but returns none if there is no such character.
func indexOr(s, chars string, none int) int {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return i
	}
	return none
}

// referenceByte returns the first byte or escape of s, and the byte that it
// stands for.
func referenceByte(s string) (written string, value byte, escaped bool) {
	const digits = "0123456789abcdef"
	if s[0] == '%' && len(s) >= 3 {
		hi := strings.IndexByte(digits, strings.ToLower(s[1:2])[0])
		lo := strings.IndexByte(digits, strings.ToLower(s[2:3])[0])
		if hi >= 0 && lo >= 0 && s[1] < 0x80 && s[2] < 0x80 {
			return s[:3], byte(hi<<4 | lo), true
		}
	}
	return s[:1], s[0], false
}

// referenceForm returns the normalized form of a byte.
func referenceForm(value byte, escaped, inQuery bool) string {
	printable := value > ' ' && value < 0x7f
	reserved := "/?#%"
	if inQuery {
		reserved = "#%"
	}
	isReserved := escaped && strings.IndexByte(reserved, value) >= 0
	if printable && !isReserved {
		return string(rune(value))
	}
	return fmt.Sprintf("%%%02X", value)
}

// A referenceElement is a part of a pattern: "*", the "$" at its end, or a
// literal byte.
type referenceElement struct {
	star, end bool
	inPath    string // the normalized byte in the path of a target
	inQuery   string // the normalized byte in the query of a target
}

// referencePattern splits a pattern into its elements.
func referencePattern(pattern string) (elements []referenceElement) {
	afterStar := false
	inQuery := false
	for pattern != "" {
		written, value, escaped := referenceByte(pattern)
		pattern = pattern[len(written):]
		switch {
		case written == "*":
			afterStar = true
			elements = append(elements, referenceElement{star: true})
			continue
		case written == "$" && pattern == "":
			elements = append(elements, referenceElement{end: true})
			continue
		case written == "?":
			inQuery = true
		}
		e := referenceElement{
			inPath:  referenceForm(value, escaped, inQuery),
			inQuery: referenceForm(value, escaped, inQuery),
		}
		if afterStar {
			e.inQuery = referenceForm(value, escaped, true)
		}
		elements = append(elements, e)
	}
	return elements
}

// referenceLength returns the length of a pattern in the normalized form.
func referenceLength(pattern []referenceElement) (n int) {
	for _, e := range pattern {
		if e.star || e.end {
			n++
		}
		n += len(e.inPath)
	}
	return n
}

// referenceMatches reports whether a pattern matches. It reads the pattern
// element by element. After each element, ends contains each index of the
// target at which a match of the elements so far can end. query is the index at
// which the query begins.
func referenceMatches(pattern []referenceElement, target string, query int) bool {
	ends := []int{0}
	for _, e := range pattern {
		var next []int
		for _, at := range ends {
			literal := e.inPath
			if at > query {
				literal = e.inQuery
			}
			switch {
			case e.star:
				// The positions after the first end include those after all
				// others.
				if at == ends[0] {
					for to := at; to <= len(target); to++ {
						next = append(next, to)
					}
				}
			case e.end:
				if at == len(target) {
					next = append(next, at)
				}
			case strings.HasPrefix(target[at:], literal):
				next = append(next, at+len(literal))
			}
		}
		ends = next
	}
	return len(ends) > 0
}

// googleMatches has the lengths of the longest patterns that match a target.
type googleMatches struct{ allow, disallow int }

// referenceGoogle is a simple, slow version of the Google dialect, written from
// its description.
func referenceGoogle(body, token, url string) bool {
	var own, global googleMatches // of the groups that name the robot, and of those for "*"
	hasOwnGroup := false
	inOwn := false    // whether the current group names the robot
	inGlobal := false // whether the current group is for "*"
	hasRule := false  // whether the current group has a rule
	path := referenceGooglePath(url)
	for _, line := range referenceLines(body) {
		key, value, ok := referenceGoogleField(line)
		if !ok {
			continue
		}
		isKey := func(prefixes ...string) bool {
			return slices.ContainsFunc(prefixes, func(p string) bool {
				return strings.HasPrefix(strings.ToLower(key), p)
			})
		}
		if isKey("user-agent", "useragent", "user agent") {
			if hasRule {
				inOwn = false
				inGlobal = false
				hasRule = false
			}
			name := referenceGoogleName(value)
			switch {
			case name == "*":
				inGlobal = true
			case token != "" && strings.EqualFold(name, token):
				hasOwnGroup = true
				inOwn = true
			}
			continue
		}
		if !inOwn && !inGlobal {
			continue
		}
		matches := &global
		if inOwn {
			matches = &own
		}
		pattern := referenceGooglePattern(value)
		switch {
		case isKey("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"):
			hasRule = true
			if referenceMatchesBytes(pattern, path) {
				matches.disallow = max(matches.disallow, len(pattern))
			}
		case isKey("allow"):
			hasRule = true
			if !referenceMatchesBytes(pattern, path) {
				pattern = referenceIndexDirectory(pattern)
			}
			if referenceMatchesBytes(pattern, path) {
				matches.allow = max(matches.allow, len(pattern))
			}
		}
	}
	if hasOwnGroup {
		return own.allow >= own.disallow
	}
	return global.allow >= global.disallow
}

// referenceLines splits a body, without its byte order mark, into lines.
func referenceLines(body string) []string {
	for _, bom := range []string{"\xef\xbb\xbf", "\xef\xbb", "\xef"} {
		if rest, ok := strings.CutPrefix(body, bom); ok {
			body = rest
			break
		}
	}
	return strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(body), "\n")
}

// referenceGoogleField returns the name and the value of a line as Google's
// parser reads them. ok is false if the line has no name.
func referenceGoogleField(line string) (key, value string, ok bool) {
	const space = " \t\v\f"
	line = line[:min(len(line), 16663)]
	line, _, _ = strings.Cut(line, "\x00")
	line, _, _ = strings.Cut(line, "#")
	line = strings.Trim(line, space)
	key, value, ok = strings.Cut(line, ":")
	if !ok {
		words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
		if len(words) != 2 {
			return "", "", false
		}
		key = words[0]
		value = words[1]
	}
	key = strings.Trim(key, space)
	return key, strings.Trim(value, space), key != ""
}

var (
	googleWildcard = regexp.MustCompile(`^\*([ \t\v\f]|$)`)
	googleName     = regexp.MustCompile(`^[a-zA-Z_-]*`)
)

// referenceGoogleName returns the name in the value of a user-agent line as
// Google's parser reads it, which is "*" for all robots.
func referenceGoogleName(value string) string {
	if googleWildcard.MatchString(value) {
		return "*"
	}
	return googleName.FindString(value)
}

// referenceIndexDirectory returns the pattern for the directory of an index
// page, or the pattern itself if it is not for an index page.
func referenceIndexDirectory(pattern string) string {
	i := strings.LastIndex(pattern, "/")
	if i < 0 || !strings.HasPrefix(pattern[i:], "/index.htm") {
		return pattern
	}
	return pattern[:i+1] + "$"
}

// referenceGooglePattern returns a pattern as Google's parser normalizes it.
func referenceGooglePattern(pattern string) (escaped string) {
	for pattern != "" {
		written, value, isEscape := referenceByte(pattern)
		pattern = pattern[len(written):]
		if isEscape || value >= 0x80 {
			written = fmt.Sprintf("%%%02X", value)
		}
		escaped += written
	}
	return escaped
}

// referenceGooglePath returns the path and query of a URL as Google's parser
// finds them.
func referenceGooglePath(url string) string {
	url = strings.TrimPrefix(url, "//")
	authority := 0
	scheme := strings.Index(url, "://")
	if scheme >= 0 && indexOr(url, "/?;", len(url)) >= scheme {
		authority = scheme + len("://")
	}
	i := strings.IndexAny(url[authority:], "/?;")
	if i < 0 || strings.Contains(url[:authority+i], "#") {
		return "/"
	}
	path, _, _ := strings.Cut(url[authority+i:], "#")
	if path[0] != '/' {
		path = "/" + path
	}
	return path
}

// referenceMatchesBytes is like referenceMatches for a pattern in which only
// "*" and a final "$" are special.
func referenceMatchesBytes(pattern, path string) bool {
	var elements []referenceElement
	for i := range len(pattern) {
		char := pattern[i : i+1]
		end := char == "$" && i == len(pattern)-1
		elements = append(elements, referenceElement{
			star:    char == "*",
			end:     end,
			inPath:  char,
			inQuery: char,
		})
	}
	return referenceMatches(elements, path, len(path))
}
