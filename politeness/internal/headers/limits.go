package headers

import (
	"strconv"
	"strings"

	"github.com/goodbots/courtesy/politeness/structured"
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
}

// parseLimits reads a field whose value is a List of Items (RFC 9651 §3.1). A
// malformed field has no limits. Before version 08 of the draft, the value was
// a Dictionary of numbers: "limit=100, remaining=50, reset=5". This is one
// limit without a name.
func parseLimits(lines []string) (limits []limit) {
	items, ok := structured.List(lines, maxField)
	if !ok {
		return oldLimit(lines)
	}
	for _, item := range items {
		// A name is a String, or a Token in versions of the draft before 10.
		l := limit{
			name:     strings.Trim(item.Value, `"`),
			left:     -1,
			resets:   -1,
			quota:    -1,
			window:   -1,
			requests: true,
		}
		if !isName(item.Value) {
			return nil
		}
		for _, p := range item.Params {
			n, ok := parseInteger(p.Value)
			switch p.Key {
			case "r":
				l.left = n
			case "t":
				l.resets = n
			case "q":
				l.quota = n
			case "w":
				l.window = n
			case "qu":
				l.requests, ok = p.Value == `"requests"` || p.Value == `"request"`, true
			default:
				ok = true
			}
			if !ok {
				return nil
			}
		}
		limits = append(limits, l)
	}
	return limits
}

func oldLimit(lines []string) []limit {
	members, ok := structured.Dictionary(lines, maxField)
	old := limit{left: -1, resets: -1, quota: -1, window: -1, requests: true}
	for _, m := range members {
		n, isInteger := parseInteger(m.Value)
		ok = ok && isInteger
		switch m.Key {
		case "remaining":
			old.left = n
		case "reset":
			old.resets = n
		}
	}
	if !ok {
		return nil
	}
	return []limit{old}
}

// parseInteger parses a serialized Integer that is not negative.
func parseInteger(bare string) (int64, bool) {
	n, err := strconv.ParseInt(bare, 10, 64)
	return n, err == nil && n >= 0
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// isName reports whether the value of an item is a string or a token.
func isName(value string) bool {
	if value == "" {
		return false
	}
	return value[0] == '"' || value[0] == '*' || isLetter(value[0])
}
