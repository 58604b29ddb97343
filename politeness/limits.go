package politeness

import (
	"iter"
	"strings"
)

// A limit is an item of RateLimit or RateLimit-Policy
// (draft-ietf-httpapi-ratelimit-headers-11). A missing number is -1.
type limit struct {
	name     string // as written, but without quotes
	left     int64  // r: how many units of the quota are left
	resets   int64  // t: seconds until the quota is renewed
	quota    int64  // q: units for each window
	window   int64  // w: seconds
	requests bool   // qu: the unit is a request
	bad      bool   // the field is malformed, and all of it is ignored
}

// maxLimits is the greatest length of a field in bytes. A longer one counts as
// malformed.
const maxLimits = 4 << 10

// limits parses a field whose value is a List of Items (RFC 9651 §3.1). If the
// field is malformed, the last limit that is yielded is marked as bad. Before
// version 08 of the draft, a line had another form: "limit=100, remaining=50,
// reset=5". Such a line is one limit without a name.
//
// An item is yielded as soon as it is parsed, and nothing is stored, because
// limits() runs for each response.
func limits(lines []string) iter.Seq[limit] {
	return func(yield func(limit) bool) {
		size := 0
		for _, line := range lines {
			if size += len(line); size > maxLimits {
				yield(limit{bad: true})
				return
			}
			if old, ok := parseOld(line); ok {
				if !yield(old) {
					return
				}
				continue
			}
			r := fieldReader{rest: strings.Trim(line, " \t")}
			for r.rest != "" {
				item := r.limit()
				r.skipSpace()
				if r.rest != "" && (!r.skip(',') || r.isAtEnd()) {
					item.bad = true
				}
				if item.bad = item.bad || r.bad; !yield(item) || item.bad {
					return
				}
			}
		}
	}
}

// parseOld parses a line in the old form, a Dictionary of Integers. It returns
// false if the line has another form.
func parseOld(line string) (limit, bool) {
	old := limit{left: -1, resets: -1, quota: -1, window: -1, requests: true}
	r := fieldReader{rest: strings.Trim(line, " \t")}
	for {
		key := r.key()
		if r.bad || !r.skip('=') {
			return limit{}, false
		}
		n, isInteger := r.bareItem()
		r.parameters(&limit{})
		switch {
		case r.bad || !isInteger || n < 0:
			return limit{}, false
		case key == "remaining":
			old.left = n
		case key == "reset":
			old.resets = n
		}
		r.skipSpace()
		if r.rest == "" {
			return old, true
		}
		if !r.skip(',') || r.isAtEnd() {
			return limit{}, false
		}
	}
}

// A fieldReader holds the part of a Structured Field that is not read yet. Each
// method takes from the front of that part what the method's name says. A
// method that finds a mistake sets bad to true.
type fieldReader struct {
	rest string
	bad  bool
}

// limit takes an Item (RFC 9651 §4.2.3). Its value is the limit's name: a
// String, or a Token in versions of the draft before 10.
func (r *fieldReader) limit() limit {
	item := limit{left: -1, resets: -1, quota: -1, window: -1, requests: true}
	before := r.rest
	if r.rest == "" || r.rest[0] != '"' && r.rest[0] != '*' && !isAlpha(r.rest[0]) {
		r.bad = true
		return item
	}
	r.bareItem()
	item.name = strings.Trim(before[:len(before)-len(r.rest)], `"`)
	r.parameters(&item)
	return item
}

// parameters takes an Item's parameters (RFC 9651 §4.2.3.2). If a parameter is
// repeated, the last one counts.
func (r *fieldReader) parameters(item *limit) {
	for !r.bad && r.skip(';') {
		r.rest = strings.TrimLeft(r.rest, " ")
		key := r.key()
		var n int64
		var isInteger bool
		var text string
		if r.skip('=') {
			before := r.rest
			n, isInteger = r.bareItem()
			text = before[:len(before)-len(r.rest)]
		}
		var number *int64
		switch key {
		case "r":
			number = &item.left
		case "t":
			number = &item.resets
		case "q":
			number = &item.quota
		case "w":
			number = &item.window
		case "qu":
			item.requests = text == `"requests"` || text == `"request"`
		}
		if number != nil {
			if *number = n; !isInteger || n < 0 {
				r.bad = true
			}
		}
	}
}

func (r *fieldReader) skip(c byte) bool {
	if r.rest == "" || r.rest[0] != c {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

// skipSpace takes optional white space.
func (r *fieldReader) skipSpace() { r.rest = strings.TrimLeft(r.rest, " \t") }

// isAtEnd takes the white space after a comma, and reports whether nothing
// follows. A comma at the end makes the field malformed.
func (r *fieldReader) isAtEnd() bool {
	r.skipSpace()
	return r.rest == ""
}

// span takes the leading bytes that the function accepts.
func (r *fieldReader) span(is func(byte) bool) string {
	n := 0
	for n < len(r.rest) && is(r.rest[n]) {
		n++
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

// key takes a key (RFC 9651 §4.2.3.3).
func (r *fieldReader) key() string {
	if r.rest == "" || r.rest[0] != '*' && !isLower(r.rest[0]) {
		r.bad = true
		return ""
	}
	return r.span(func(c byte) bool { return isLower(c) || isDigit(c) || strings.IndexByte("_-.*", c) >= 0 })
}

// bareItem takes a bare item (RFC 9651 §4.2.3.1). It returns a value only for
// an Integer.
func (r *fieldReader) bareItem() (n int64, isInteger bool) {
	if r.rest == "" {
		r.bad = true
		return 0, false
	}
	switch c := r.rest[0]; {
	case c == '-' || isDigit(c):
		return r.number()
	case c == '*' || isAlpha(c):
		r.span(func(c byte) bool {
			return isAlpha(c) || isDigit(c) || strings.IndexByte("!#$%&'*+-.^_`|~:/", c) >= 0
		})
	case c == '"':
		r.quoted('\\')
	case c == ':':
		r.rest = r.rest[1:]
		r.span(func(c byte) bool { return isAlpha(c) || isDigit(c) || strings.IndexByte("+/=", c) >= 0 })
		r.bad = r.bad || !r.skip(':')
	case c == '?':
		r.rest = r.rest[1:]
		r.bad = r.bad || !r.skip('0') && !r.skip('1')
	case c == '@':
		r.rest = r.rest[1:]
		if _, isInteger := r.number(); !isInteger {
			r.bad = true
		}
	case c == '%':
		r.rest = r.rest[1:]
		r.quoted(0)
	default:
		r.bad = true
	}
	return 0, false
}

// number takes an Integer or a Decimal (RFC 9651 §4.2.4). n is its integer
// part.
func (r *fieldReader) number() (n int64, isInteger bool) {
	negative := r.skip('-')
	whole := r.span(isDigit)
	fraction := ""
	if isInteger = !r.skip('.'); !isInteger {
		fraction = r.span(isDigit)
	}
	if whole == "" || len(whole) > 15 || !isInteger && (len(whole) > 12 || fraction == "" || len(fraction) > 3) {
		r.bad = true
		return 0, false
	}
	for i := range len(whole) {
		n = n*10 + int64(whole[i]-'0')
	}
	if negative {
		n = -n
	}
	return n, isInteger
}

// quoted takes a text in quotes: a String (RFC 9651 §4.2.5), or the part of a
// Display String after "%". escape is the escape character of a String, or 0
// for a Display String.
func (r *fieldReader) quoted(escape byte) {
	if !r.skip('"') {
		r.bad = true
		return
	}
	for i := 0; i < len(r.rest); i++ {
		switch c := r.rest[i]; {
		case c == '"':
			r.rest = r.rest[i+1:]
			return
		case c == escape:
			i++
			if i == len(r.rest) || r.rest[i] != '"' && r.rest[i] != '\\' {
				r.bad = true
				return
			}
		case c < ' ' || c > '~':
			r.bad = true
			return
		}
	}
	r.bad = true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isAlpha(c byte) bool { return isLower(c | 0x20) }
