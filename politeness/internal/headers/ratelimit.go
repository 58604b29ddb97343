package headers

import (
	"net/http"
	"strings"
	"time"

	"github.com/goodbots/courtesy/internal/httptime"
)

// A balance is the number of requests that are left until a quota is renewed.
type balance struct {
	left  int64
	reset time.Duration // from now
}

// A quotaReader collects the balances in a header.
type quotaReader struct {
	clock   time.Time     // now, by the server's clock
	age     time.Duration // of a response from a cache
	noLimit bool          // X-RateLimit-Limit is 0, as some gateways send it if there is no limit
	quotas  []balance
}

// add adds a balance. It adds nothing if the quota has been renewed since the
// response was made.
func (r *quotaReader) add(left int64, reset time.Duration) {
	if reset >= r.age {
		r.quotas = append(r.quotas, balance{left, reset - r.age})
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
		isOther := ok && !policy.requests // a quota of something other than requests
		if item.left < 0 || item.resets < 0 {
			continue // not a quota with a time
		}
		if isOther && item.left > 0 {
			continue
		}
		r.add(item.left, seconds(item.resets))
	}
	for _, policy := range all {
		isComplete := policy.quota >= 0 && policy.window >= 0
		if isComplete && policy.requests && !hasBalance[policy.name] {
			r.quotas = append(r.quotas, balance{
				left:  policy.quota,
				reset: seconds(policy.window),
			})
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
	return time.Duration(min(n, int64(unlimited/time.Second))) * time.Second
}
