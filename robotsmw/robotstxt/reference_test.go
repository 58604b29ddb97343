package robotstxt

import (
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

func referenceMatch(rules []referenceRule, target string) (best referenceRule, ok bool) {
	canon, query := referenceTarget(target)
	longest := -1
	for _, r := range rules {
		pattern := referencePattern(r.pattern)
		if r.pattern == "" || !referenceMatches(pattern, canon, query) {
			continue
		}
		if n := referenceLength(pattern); n > longest || n == longest && r.allow && !best.allow {
			longest = n
			best = r
			ok = true
		}
	}
	return best, ok
}

// referenceTarget returns a target in the form that is compared, and where the
// target's query begins.
func referenceTarget(target string) (canon string, query int) {
	target, _, _ = strings.Cut(target, "#")
	if scheme, rest, ok := strings.Cut(target, "://"); ok && !strings.ContainsAny(scheme, "/?") {
		target = rest[min(len(rest), max(0, indexOr(rest, "/?", len(rest)))):]
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
	reserved := strings.IndexByte("/?#%", value) >= 0
	if inQuery && (value == '/' || value == '?') {
		reserved = false
	}
	if printable && (!escaped || !reserved) {
		return string(rune(value))
	}
	return "%" + string("0123456789ABCDEF"[value>>4]) + string("0123456789ABCDEF"[value&15])
}

// A referenceElement is a part of a pattern: "*", the "$" at its end, or a
// literal byte. inPath is the byte's form before the query begins, and inQuery
// is its form after that.
type referenceElement struct {
	star, end       bool
	inPath, inQuery string
}

func referencePattern(pattern string) (elements []referenceElement) {
	star, inQuery := false, false
	for pattern != "" {
		written, value, escaped := referenceByte(pattern)
		pattern = pattern[len(written):]
		switch {
		case written == "*":
			star = true
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
		if star {
			e.inQuery = referenceForm(value, escaped, true)
		}
		elements = append(elements, e)
	}
	return elements
}

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

// referenceGoogle is a simple, slow version of the Google dialect, written from
// its description.
func referenceGoogle(body, token, url string) bool {
	for _, n := range []int{3, 2, 1} {
		if bom := "\xef\xbb\xbf"[:n]; strings.HasPrefix(body, bom) {
			body = body[n:]
			break
		}
	}
	type best struct{ allow, disallow int }
	verdicts := map[bool]*best{true: {}, false: {}} // [true] is for the groups that name the robot, [false] for the groups of "*"
	var ever, own, global, ruled bool
	path := referenceGooglePath(url)
	for _, line := range strings.Split(strings.ReplaceAll(strings.ReplaceAll(body, "\r\n", "\n"), "\r", "\n"), "\n") {
		line = line[:min(len(line), 16663)]
		line, _, _ = strings.Cut(line, "\x00")
		line, _, _ = strings.Cut(line, "#")
		line = strings.Trim(line, " \t\v\f")
		key, value, ok := strings.Cut(line, ":")
		if words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' }); !ok && len(words) == 2 {
			key = words[0]
			value = words[1]
			ok = true
		}
		key, value = strings.ToLower(strings.Trim(key, " \t\v\f")), strings.Trim(value, " \t\v\f")
		if !ok || key == "" {
			continue
		}
		begins := func(names ...string) bool {
			return slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(key, n) })
		}
		group := verdicts[own]
		switch {
		case begins("user-agent", "useragent", "user agent"):
			if ruled {
				own = false
				global = false
				ruled = false
			}
			if value == "*" || len(value) > 1 && value[0] == '*' && strings.IndexByte(" \t\v\f", value[1]) >= 0 {
				global = true
				continue
			}
			n := 0
			for n < len(value) && (value[n] == '-' || value[n] == '_' || 'a' <= value[n]|0x20 && value[n]|0x20 <= 'z') {
				n++
			}
			if token != "" && strings.EqualFold(value[:n], token) {
				ever, own = true, true
			}
		case begins("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"):
			if own || global {
				ruled = true
				if pattern := referenceGooglePattern(value); referenceMatchesBytes(pattern, path) {
					group.disallow = max(group.disallow, len(pattern))
				}
			}
		case begins("allow"):
			if own || global {
				ruled = true
				pattern := referenceGooglePattern(value)
				if i := strings.LastIndex(
					pattern,
					"/",
				); i >= 0 && !referenceMatchesBytes(pattern, path) && strings.HasPrefix(pattern[i:], "/index.htm") {
					pattern = pattern[:i+1] + "$"
				}
				if referenceMatchesBytes(pattern, path) {
					group.allow = max(group.allow, len(pattern))
				}
			}
		}
	}
	return verdicts[ever].allow >= verdicts[ever].disallow
}

func referenceGooglePattern(pattern string) (escaped string) {
	for pattern != "" {
		written, value, isEscape := referenceByte(pattern)
		pattern = pattern[len(written):]
		if isEscape || value >= 0x80 {
			written = "%" + string("0123456789ABCDEF"[value>>4]) + string("0123456789ABCDEF"[value&15])
		}
		escaped += written
	}
	return escaped
}

// referenceGooglePath returns the path and query of a URL as Google's parser
// finds them.
func referenceGooglePath(url string) string {
	rest := strings.TrimPrefix(url, "//")
	early := indexOr(rest, "/?;", len(rest)+1)
	if i := strings.Index(rest, "://"); i >= 0 && early >= i {
		rest = rest[i+3:]
	}
	path := indexOr(rest, "/?;", -1)
	hash := strings.IndexByte(strings.TrimPrefix(url, "//"), '#')
	if path < 0 || hash >= 0 && hash < len(strings.TrimPrefix(url, "//"))-len(rest)+path {
		return "/"
	}
	rest, _, _ = strings.Cut(rest[path:], "#")
	if rest[0] != '/' {
		rest = "/" + rest
	}
	return rest
}

// referenceMatchesBytes does the same as referenceMatches, for a pattern in
// which only "*" and a final "$" are special.
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
