package robotstxt

import (
	"slices"
	"strings"
)

// The twin is the matcher as one would write it with no thought of speed: it follows RFC 9309 §2.2.2 and §2.2.3
// and package doc word by word. Tests and fuzz targets hold the compiled matcher to it.

// A twinRule is a rule as the file has it.
type twinRule struct {
	allow   bool
	line    int
	pattern string
}

// twinRules collects the rules for a robot.
func twinRules(f *File, tokens ...string) (rules []twinRule) {
	for _, name := range append(slices.Clone(tokens), "*") {
		found := false
		for group := range f.groupsFor(newToken(name)) {
			found = true
			for _, r := range group {
				if r.field == fieldAllow || r.field == fieldDisallow {
					rules = append(rules, twinRule{r.field == fieldAllow, int(r.line), f.value(&r)})
				}
			}
		}
		if found {
			break
		}
	}
	return rules
}

// twinMatch returns the rule that decides, and whether there is one.
func twinMatch(rules []twinRule, target string) (best twinRule, ok bool) {
	octets, query := twinTarget(target)
	longest := -1
	for _, r := range rules {
		pattern := twinPattern(r.pattern)
		if r.pattern == "" || !twinMatches(pattern, octets, query) {
			continue
		}
		if n := twinLength(pattern); n > longest || n == longest && r.allow && !best.allow {
			longest, best, ok = n, r, true
		}
	}
	return best, ok
}

// twinTarget returns a target in the form that is compared, and where its query begins.
func twinTarget(target string) (octets string, query int) {
	target, _, _ = strings.Cut(target, "#")
	if scheme, rest, ok := strings.Cut(target, "://"); ok && !strings.ContainsAny(scheme, "/?") {
		target = rest[min(len(rest), max(0, indexOr(rest, "/?", len(rest)))):]
	}
	if !strings.HasPrefix(target, "/") {
		target = "/" + target
	}
	query = -1
	for target != "" {
		written, value, escaped := twinOctet(target)
		target = target[len(written):]
		if written == "?" && query < 0 {
			query = len(octets)
		}
		octets += twinForm(value, escaped, query >= 0)
	}
	if query < 0 {
		query = len(octets)
	}
	return octets, query
}

func indexOr(s, chars string, none int) int {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return i
	}
	return none
}

// twinOctet returns what s begins with: one octet or one escape.
func twinOctet(s string) (written string, value byte, escaped bool) {
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

// twinForm returns the one way in which an octet is written.
func twinForm(value byte, escaped, inQuery bool) string {
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

// A twinElement is a part of a pattern: "*", the "$" at its end, or a literal. inPath is a literal as it is
// compared before the query begins, inQuery as it is compared after.
type twinElement struct {
	star, end       bool
	inPath, inQuery string
}

func twinPattern(pattern string) (elements []twinElement) {
	star, inQuery := false, false
	for pattern != "" {
		written, value, escaped := twinOctet(pattern)
		pattern = pattern[len(written):]
		switch {
		case written == "*":
			star = true
			elements = append(elements, twinElement{star: true})
			continue
		case written == "$" && pattern == "":
			elements = append(elements, twinElement{end: true})
			continue
		case written == "?":
			inQuery = true
		}
		e := twinElement{inPath: twinForm(value, escaped, inQuery), inQuery: twinForm(value, escaped, inQuery)}
		if star {
			e.inQuery = twinForm(value, escaped, true)
		}
		elements = append(elements, e)
	}
	return elements
}

// twinLength counts a pattern's octets.
func twinLength(pattern []twinElement) (n int) {
	for _, e := range pattern {
		if e.star || e.end {
			n++
		}
		n += len(e.inPath)
	}
	return n
}

// twinMatches walks through a pattern with every place of the target where the part read so far may end.
func twinMatches(pattern []twinElement, target string, query int) bool {
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
