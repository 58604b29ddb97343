package politeness

import (
	"math"
	"net/http"
	"strings"
	"time"
)

// A quota is the pace that the quota fields of a response ask for. If they tell
// several quotas, the strictest counts.
type quota struct {
	pause  time.Duration // how long no request may start, because the quota is spent
	spread time.Duration // the interval between starts that makes the quota last until its renewal
	until  time.Duration // how long spread applies, counted from now
}

// quotaFields are the header fields that may contain a quota.
var quotaFields = [...]string{"Ratelimit", "Ratelimit-Policy", "Ratelimit-Remaining", "X-Ratelimit-Remaining", "X-Rate-Limit-Remaining"}

// tellsQuota reports whether a header has a field for quotaOf to read.
func tellsQuota(h http.Header) bool {
	if len(h) == 0 {
		return false
	}
	for _, name := range quotaFields {
		if len(h[name]) > 0 {
			return true
		}
	}
	return false
}

// quotaOf reads the quota fields of a response. others is the number of other
// requests in flight, which the server has presumably not counted yet. The
// argument "most" is a limit: longer times are cut to it.
func quotaOf(h http.Header, others int64, now time.Time, most time.Duration) quota {
	var q quota
	age := ageOf(h)
	q.readLimits(h, others, age, most)
	q.readPolicies(h, others, most)
	for _, names := range [...][3]string{
		{"Ratelimit-Remaining", "Ratelimit-Reset", ""}, // versions of the draft up to 06
		{"X-Ratelimit-Remaining", "X-Ratelimit-Reset", "X-Ratelimit-Reset-After"},
		{"X-Rate-Limit-Remaining", "X-Rate-Limit-Reset", ""},
	} {
		resets := h[names[2]]
		reset, ok := longestReset(resets, h, now)
		if !ok {
			resets = h[names[1]]
			reset, ok = longestReset(resets, h, now)
		}
		if limit, ok := leastOf(h["X-Ratelimit-Limit"]); ok && limit == 0 && reset == 0 {
			continue // some gateways send zeros if there is no limit
		}
		left, isTold := leastOf(h[names[0]])
		if !ok || !isTold || q.addEach(h[names[0]], resets, others, age, most, h, now) {
			continue
		}
		q.addAged(left-others, reset, age, most)
	}
	return q
}

// ageOf returns the age of a response that comes from a cache. Such a response
// tells what the quota was when the response was made. Without a usable Age
// field, the age is 0.
func ageOf(h http.Header) time.Duration {
	if lines := h["Age"]; len(lines) > 0 {
		if age, ok := parseSeconds(strings.Trim(lines[0], " \t")); ok {
			return age
		}
	}
	return 0
}

// addAged adds a quota from a response of this age. It adds nothing if the
// quota has been renewed since the response was made.
func (q *quota) addAged(left int64, reset, age, most time.Duration) {
	if reset >= age {
		q.add(left, min(reset-age, most))
	}
}

// addEach adds several quotas. Two fields list them in the same order, such as
// "0, 1500" and "1, 1419704". Here 0 requests are left for 1 s, and 1500 for
// 1419704 s. addEach returns false if each field has a single value, or if the
// values cannot be paired.
func (q *quota) addEach(lefts, resets []string, others int64, age, most time.Duration, h http.Header, now time.Time) bool {
	var read quota
	for i := 0; ; i++ {
		left, more := valueAt(lefts, i)
		reset, ok := valueAt(resets, i)
		switch {
		case more != ok:
			return false
		case !ok:
			q.addAll(read)
			return i > 1
		case i == maxQuotas:
			return false
		}
		n, isNumber := parseLeft(left)
		d, isReset := parseReset(reset, h, now)
		if !isNumber || !isReset {
			return false
		}
		read.addAged(n-others, d, age, most)
	}
}

// maxQuotas bounds the quotas that addEach reads from a field. For a field with
// more, addEach returns false.
const maxQuotas = 8

// valueAt returns the value at an index of a list field, without its
// parameters.
func valueAt(lines []string, at int) (value string, ok bool) {
	for _, line := range lines {
		for value := range strings.SplitSeq(line, ",") {
			if at == 0 {
				value, _, _ = strings.Cut(value, ";")
				return value, true
			}
			at--
		}
	}
	return "", false
}

// add adds a quota. left is how many requests are left, and reset is the time
// until the quota is renewed. Most servers count in whole seconds, and some
// round down. So add assumes that the renewal is a second later.
func (q *quota) add(left int64, reset time.Duration) {
	renewed := later(reset, time.Second)
	if left <= 0 {
		q.pause = max(q.pause, renewed)
		return
	}
	if spread := reset / time.Duration(left); spread > q.spread {
		q.spread, q.until = spread, renewed
	}
}

// addAll adds another quota: q gets the longer pause and the longer spread.
func (q *quota) addAll(other quota) {
	q.pause = max(q.pause, other.pause)
	if other.spread > q.spread {
		q.spread, q.until = other.spread, other.until
	}
}

// readLimits reads RateLimit. If an item does not say how soon its quota is
// renewed, the window of the policy with the same name counts instead.
func (q *quota) readLimits(h http.Header, others int64, age, most time.Duration) {
	var read quota
	for item := range limits(h["Ratelimit"]) {
		switch policy, ok := policyOf(h, item.name); {
		case item.bad:
			return
		case item.left < 0 || item.resets < 0 && (!ok || policy.window < 0):
			continue
		case ok && !policy.requests && item.left > 0:
			continue // the quota limits something other than requests, and is not spent
		case item.resets < 0:
			read.addAged(item.left-others, seconds(policy.window), age, most)
		default:
			read.addAged(item.left-others, seconds(item.resets), age, most)
		}
	}
	q.addAll(read)
}

// readPolicies reads RateLimit-Policy. A policy is used only if its unit is the
// request and RateLimit does not tell what is left of its quota. The quota is
// then spread evenly over the policy's window.
func (q *quota) readPolicies(h http.Header, others int64, most time.Duration) {
	var read quota
	for item := range limits(h["Ratelimit-Policy"]) {
		if item.bad {
			return
		}
		if item.quota >= 0 && item.window >= 0 && item.requests && !isTold(h, item.name) {
			read.add(item.quota-others, min(seconds(item.window), most))
		}
	}
	q.addAll(read)
}

// policyOf returns the last policy with this name, if RateLimit-Policy is
// well-formed.
func policyOf(h http.Header, name string) (found limit, ok bool) {
	for item := range limits(h["Ratelimit-Policy"]) {
		if item.bad {
			return limit{}, false
		}
		if item.name == name {
			found, ok = item, true
		}
	}
	return found, ok
}

// isTold reports whether RateLimit tells what is left of a policy's quota.
func isTold(h http.Header, name string) bool {
	told := false
	for item := range limits(h["Ratelimit"]) {
		if item.bad {
			return false
		}
		told = told || item.name == name && item.left >= 0
	}
	return told
}

// leastOf returns the least of the numbers in a field.
func leastOf(lines []string) (least int64, ok bool) {
	for _, line := range lines {
		for value := range strings.SplitSeq(line, ",") {
			value, _, _ = strings.Cut(value, ";")
			if n, isNumber := parseLeft(value); isNumber && (!ok || n < least) {
				least, ok = n, true
			}
		}
	}
	return least, ok
}

// parseLeft parses how many requests are left. It cuts off a fraction.
func parseLeft(value string) (int64, bool) {
	n, ok := parseNumber(value)
	return int64(min(n, 1<<53)), ok
}

// longestReset returns the longest of the times in a field.
func longestReset(lines []string, h http.Header, now time.Time) (longest time.Duration, ok bool) {
	for _, line := range lines {
		if d, isReset := parseReset(line, h, now); isReset {
			longest, ok = max(longest, d), true
			continue
		}
		for value := range strings.SplitSeq(line, ",") {
			value, _, _ = strings.Cut(value, ";")
			if d, isReset := parseReset(value, h, now); isReset {
				longest, ok = max(longest, d), true
			}
		}
	}
	return longest, ok
}

// parseReset parses a value of X-RateLimit-Reset or a similar field, which says
// when a quota is renewed. The value may be a number of seconds from now, a
// time in seconds or milliseconds since 1970, or a date. No quota lasts for 30
// years, so the size of a number tells which of these it is. Times are by the
// server's clock. For a time in the past, parseReset returns false.
func parseReset(value string, h http.Header, now time.Time) (time.Duration, bool) {
	const isTime, isMilliseconds = 1e9, 1e11
	n, ok := parseNumber(value)
	switch {
	case ok && n < isTime:
		return time.Duration(math.Ceil(n*1000)) * time.Millisecond, true
	case ok && n < isMilliseconds:
		n *= 1000
	case !ok:
		t, ok := parseDate(strings.Trim(value, " \t\""))
		if !ok {
			return 0, false
		}
		d := t.Sub(clockOf(h, now))
		return d, d >= 0
	}
	if n > 1e15 {
		return 0, false // more than 30,000 years from now
	}
	d := time.UnixMilli(int64(n)).Sub(clockOf(h, now))
	return d, d >= 0
}

// parseNumber parses a decimal number without a sign, perhaps in quotes.
func parseNumber(s string) (n float64, ok bool) {
	s = strings.Trim(s, " \t\"")
	scale := 0.0 // the weight of the next digit after the point; 0 means no point was read yet
	for i := range len(s) {
		switch c := s[i]; {
		case c == '.' && scale == 0 && i > 0 && i < len(s)-1:
			scale = 0.1
		case c < '0' || c > '9':
			return 0, false
		case scale > 0:
			n += float64(c-'0') * scale
			scale /= 10
		default:
			n = n*10 + float64(c-'0')
		}
	}
	return n, s != ""
}

// seconds returns n seconds, cut to the longest Duration of whole seconds.
func seconds(n int64) time.Duration {
	return time.Duration(min(n, int64(forever/time.Second))) * time.Second
}
