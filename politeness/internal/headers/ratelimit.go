package headers

import (
	"net/http"
	"strings"
	"time"

	"github.com/goodbots/courtesy/internal/httptime"
)

// Asked has the waits and quotas in the header of a response. It is read before
// the Limiter's lock is taken, and only once.
type Asked struct {
	RetryAfter time.Duration // how long no request may start; 0 means none
	Quotas     []balance
}

// A balance is the number of requests that are left until a quota is renewed.
type balance struct {
	left  int64
	reset time.Duration // from now
}

// A Quota has the delays that follow from the balances of a response. If there
// are several balances, the strictest counts.
type Quota struct {
	Pause  time.Duration // how long no request may start, because the quota is spent
	Spread time.Duration // the interval between starts that makes the quota last until its renewal
	Until  time.Duration // how long Spread applies, counted from now
}

// Read reads the fields of a response that affect delays. No time is longer
// than longest. Of the fields for quotas it reads RateLimit and
// RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers-11, and the forms of
// its earlier versions), X-RateLimit-Remaining with X-RateLimit-Reset or
// -Reset-After, and X-Rate-Limit-Remaining. These fields can only slow requests
// down:
//
//   - A spent quota pauses the host until it is renewed, and one second more,
//     because most servers count in whole seconds.
//   - If some requests remain, they are spread over the time until the quota is
//     renewed. Requests in flight count as made.
//   - If RateLimit does not contain how much of a policy's quota remains, the
//     quota of the policy is spread over its window.
//   - A quota of something other than requests matters only when it is spent.
//   - Of several quotas the strictest counts. It holds until its time is over,
//     or until a later response contains a stricter one.
//   - If a Retry-After is obeyed, the quotas of its response are ignored.
//   - A malformed field is ignored, and so is one without a time. But a spent
//     quota with a window ("0;w=21600") pauses the host for the window at most.
//   - A response from a cache contains the quota at the time when the response
//     was made, which follows from Age. If the quota has been renewed since, it
//     is ignored.
func Read(h http.Header, now time.Time, longest time.Duration) (a Asked) {
	if len(h) == 0 {
		return Asked{}
	}
	wait, _ := RetryAfter(h, now)
	a.RetryAfter = min(wait, longest)
	r := quotaReader{age: parseAge(h), longest: longest}
	r.readLimits(Lines(h, "Ratelimit"), Lines(h, "Ratelimit-Policy"))
	for _, names := range [...][3]string{
		{"Ratelimit-Remaining", "Ratelimit-Reset", ""}, // versions of the draft up to 06
		{"X-Ratelimit-Remaining", "X-Ratelimit-Reset", "X-Ratelimit-Reset-After"},
		{"X-Rate-Limit-Remaining", "X-Rate-Limit-Reset", ""},
	} {
		lines := Lines(h, names[0])
		if lefts := splitValues(lines); len(lefts) > 0 {
			limit, ok := parseLeast(splitValues(Lines(h, "X-Ratelimit-Limit")))
			r.noLimit = ok && limit == 0
			r.clock = httptime.Clock(h.Get("Date"), now)
			resets, afters := Lines(h, names[1]), Lines(h, names[2])
			if !r.readRemaining(lefts, resets, afters) {
				r.readWindows(lines)
			}
		}
	}
	a.Quotas = r.quotas
	return a
}

// Quota returns the longest delays of the balances. others is the number of
// other requests in flight, which the server has presumably not counted yet.
// Quota assumes that each renewal is a second later, because most servers count
// in whole seconds, and some round down.
func (a Asked) Quota(others int64) (q Quota) {
	for _, b := range a.Quotas {
		left, renewed := b.left-others, min(b.reset, forever-time.Second)+time.Second
		if left <= 0 {
			q.Pause = max(q.Pause, renewed)
		} else if spread := b.reset / time.Duration(left); spread > q.Spread {
			q.Spread, q.Until = spread, renewed
		}
	}
	return q
}

// A quotaReader collects the balances in a header.
type quotaReader struct {
	clock   time.Time     // now, by the server's clock
	age     time.Duration // of a response from a cache
	longest time.Duration // longer times are cut to it
	noLimit bool          // X-RateLimit-Limit is 0, as some gateways send it if there is no limit
	quotas  []balance
}

// add adds a balance. It adds nothing if the quota has been renewed since the
// response was made.
func (r *quotaReader) add(left int64, reset time.Duration) {
	if reset >= r.age {
		r.quotas = append(r.quotas, balance{left, min(reset-r.age, r.longest)})
	}
}

// readLimits reads RateLimit and RateLimit-Policy. If an item of RateLimit has
// no time until its quota is renewed, the window of the last policy with the
// same name counts instead. If RateLimit does not contain what is left of a
// policy, the policy is used only if its unit is the request. Its quota is then
// spread evenly over its window.
func (r *quotaReader) readLimits(limits, policies []string) {
	if len(limits) == 0 && len(policies) == 0 {
		return
	}
	named := make(map[string]limit)
	hasBalance := make(map[string]bool) // the names of items in RateLimit that have a number left
	all := parseLimits(policies)
	for _, policy := range all {
		named[policy.name] = policy
	}
	for _, item := range parseLimits(limits) {
		policy, ok := named[item.name]
		if item.resets < 0 && ok {
			item.resets = policy.window
		}
		if item.left >= 0 {
			hasBalance[item.name] = true
		}
		if item.left < 0 || item.resets < 0 || ok && !policy.requests && item.left > 0 {
			continue // no quota, or one of something other than requests that is not spent
		}
		r.add(item.left, seconds(item.resets))
	}
	for _, policy := range all {
		if policy.quota >= 0 && policy.window >= 0 && policy.requests && !hasBalance[policy.name] {
			r.quotas = append(r.quotas, balance{policy.quota, min(seconds(policy.window), r.longest)})
		}
	}
}

// readRemaining reads how many requests are left, and when the quota is
// renewed. If a line of afters has a time, those of resets do not count. Two
// fields with equally many values contain several quotas: in "0, 1500" and "1,
// 1419704", 0 requests are left for 1 s, and 1500 for 1419704 s. readRemaining
// returns false if neither field has a time.
func (r *quotaReader) readRemaining(lefts, resets, afters []string) (hasTime bool) {
	reset, ok := r.longestReset(afters)
	if ok {
		resets = afters
	} else if reset, ok = r.longestReset(resets); !ok {
		return false
	}
	least, ok := parseLeast(lefts)
	if !ok || r.noLimit && reset == 0 {
		return true
	}
	times := splitValues(resets)
	if n := len(lefts); n < 2 || n > maxQuotas || n != len(times) {
		r.add(least, reset)
		return true
	}
	before := r.quotas
	for i, value := range lefts {
		left, isNumber := parseLeft(value)
		d, isReset := r.parseReset(times[i])
		if !isNumber || !isReset {
			r.quotas = before
			r.add(least, reset)
			return true
		}
		r.add(left, d)
	}
	return true
}

// readWindows reads spent quotas without a time, such as Docker's "0;w=21600":
// they are renewed at the latest when a whole window is over. How much of the
// window is over is not known, so what is left of a quota is not spread.
func (r *quotaReader) readWindows(lines []string) {
	for _, line := range lines {
		for value := range strings.SplitSeq(line, ",") {
			number, params, _ := strings.Cut(value, ";")
			left, isNumber := parseLeft(number)
			window, hasWindow := parseWindow(params)
			if isNumber && left == 0 && hasWindow {
				r.add(0, window)
			}
		}
	}
}

// parseWindow returns the parameter w, which is a number of seconds.
func parseWindow(params string) (time.Duration, bool) {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(param, "=")
		if strings.Trim(name, " \t") != "w" {
			continue
		}
		n, ok := httptime.ParseNumber(strings.Trim(value, " \t\""))
		return seconds(int64(min(n, 1<<53))), ok
	}
	return 0, false
}

// maxQuotas bounds the quotas that readRemaining reads from two fields. If they
// have more values, the least number left and the longest time count.
const maxQuotas = 8

// splitValues returns the values of a list field, without their parameters.
func splitValues(lines []string) (values []string) {
	for _, line := range lines {
		for value := range strings.SplitSeq(line, ",") {
			value, _, _ = strings.Cut(value, ";")
			values = append(values, value)
		}
	}
	return values
}

// parseAge returns the age of a response that comes from a cache. Such a
// response contains the quota at the time when it was made. Without a usable
// Age field, the age is 0.
func parseAge(h http.Header) time.Duration {
	if lines := Lines(h, "Age"); len(lines) > 0 {
		if age, ok := httptime.ParseNumber(strings.Trim(lines[0], " \t")); ok {
			return seconds(int64(min(age, 1<<53)))
		}
	}
	return 0
}

// parseLeast returns the least of those values that are numbers.
func parseLeast(values []string) (least int64, ok bool) {
	for _, value := range values {
		if n, isNumber := parseLeft(value); isNumber && (!ok || n < least) {
			least, ok = n, true
		}
	}
	return least, ok
}

// parseLeft parses how many requests are left. It cuts off a fraction.
func parseLeft(value string) (int64, bool) {
	n, ok := httptime.ParseNumber(strings.Trim(value, " \t\""))
	return int64(min(n, 1<<53)), ok
}

// longestReset returns the longest of the times in a field.
func (r *quotaReader) longestReset(lines []string) (longest time.Duration, ok bool) {
	for _, line := range lines {
		if d, isReset := r.parseReset(line); isReset {
			longest, ok = max(longest, d), true
			continue
		}
		for _, value := range splitValues([]string{line}) {
			if d, isReset := r.parseReset(value); isReset {
				longest, ok = max(longest, d), true
			}
		}
	}
	return longest, ok
}

// parseReset is httptime.ParseReset by the server's clock.
func (r *quotaReader) parseReset(value string) (time.Duration, bool) {
	return httptime.ParseReset(value, r.clock)
}

// seconds returns n seconds, cut to the longest Duration of whole seconds.
func seconds(n int64) time.Duration {
	return time.Duration(min(n, int64(forever/time.Second))) * time.Second
}
