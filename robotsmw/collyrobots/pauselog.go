package collyrobots

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// longPause is the minimum length of a pause that is logged.
const longPause = time.Minute

// pauseReasons are the reasons for which a host is paused. A request may also
// have to wait for other requests to the host, which is not a pause.
var pauseReasons = []politeness.Reason{
	politeness.ReasonBackOff,
	politeness.ReasonCrawlDelay,
	politeness.ReasonRateLimit,
	politeness.ReasonBudget,
	unreachable,
}

const unreachable politeness.Reason = "robots.txt is unreachable"

// maxPausedHosts is the maximum number of hosts in Extension.paused.
const maxPausedHosts = 10_000

// logPause logs a long pause once. It is called when a request begins to wait
// for its host. The pause began at the time since, or earlier.
func (x *Extension) logPause(u *url.URL, since, until time.Time, reason politeness.Reason) {
	if until.Sub(since).Round(time.Second) < longPause || !slices.Contains(pauseReasons, reason) {
		return
	}
	now := time.Now()
	host := u.Hostname()
	x.mu.Lock()
	logged := now.Before(x.paused[host])
	if !logged {
		maps.DeleteFunc(x.paused, func(_ string, end time.Time) bool { return now.After(end) })
		if len(x.paused) >= maxPausedHosts {
			clear(x.paused) // some pauses will be logged again
		}
		x.paused[strings.Clone(host)] = until // host is a part of the URL
	}
	x.mu.Unlock()
	if !logged {
		x.opts.Logger.Info("collyrobots: a host is paused; its requests wait",
			"host", host, "reason", string(reason), "until", until)
	}
}
