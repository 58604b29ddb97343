package evidence

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// robots returns an Observer that records what a Transport or Checker does. A
// decision is recorded only if it is a refusal.
func robots(q *queue) *robotsmw.Observer {
	state := func(f robotsmw.Fetch, from string) {
		next := f.Next
		if f.Cause == "" {
			next = time.Time{}
		}
		e := newEntry("robots", "robots_url", f.URL, "from", from, "status", f.Status, "renewed", f.Renewed, "redirects", f.Redirects,
			"sha256", f.SHA256, "fetched", f.Fetched, "expires", f.Expires, "cause", f.Cause, "next_try", next)
		e.about = f.URL
		q.put(e)
	}
	return &robotsmw.Observer{
		Decided: func(_ context.Context, d robotsmw.Decision) {
			if d.Allowed {
				return
			}
			about := ""
			if d.URL != nil {
				about = redacted(d.URL)
			}
			if q.isNew(fmt.Sprintf("refusal %q %q %q %v %v", about, d.SHA256(), d.RobotsURL, d.Reason, d.Fetched)) {
				q.put(newEntry("decision", "url", about, "decision", decisionText(&d)))
			}
		},
		Read: func(_ context.Context, sha256 string, text []byte) {
			if !q.isNew("file " + sha256) {
				return
			}
			if utf8.Valid(text) && controls(text) <= len(text)/16 {
				q.put(newEntry("file", "sha256", sha256, "size", len(text), "text", string(text)))
			} else {
				q.put(newEntry("file", "sha256", sha256, "size", len(text), "base64", asJSON(text))) // as JSON has []byte
			}
		},
		Asked: func(_ context.Context, robotsURL string, resp *http.Response, body []byte, err error) {
			q.put(asked(robotsURL, resp, body, err))
		},
		Fetched: func(_ context.Context, f robotsmw.Fetch) { state(f, "fetch") },
		Loaded:  func(_ context.Context, f robotsmw.Fetch) { state(f, "store") },
	}
}

// controls counts the control characters that take six bytes of JSON each.
func controls(text []byte) (n int) {
	for _, c := range text {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' {
			n++
		}
	}
	return n
}

func asked(robotsURL string, resp *http.Response, body []byte, err error) entry {
	now := time.Now()
	x := exchangeOf(resp, body, err, now)
	field := func(name string) string { return short(strings.Join(resp.Header[name], ", ")) }
	hash, failure := "", ""
	if x.whole {
		hash = fmt.Sprintf("%x", sha256.Sum256(body))
	}
	if err != nil {
		failure = short(err.Error())
	}
	var asks json.RawMessage // left out if there is no Retry-After, but not if that is 0
	if wait, ok := politeness.RetryAfter(resp.Header, now); ok {
		asks, _ = json.Marshal(seconds(wait))
	}
	e := newEntry("fetch", "robots_url", robotsURL, "url", x.url, "host", x.host, "conditional", isConditional(resp.Request), "user_agent", resp.Request.Header.Get("User-Agent"),
		"status", resp.StatusCode, "location", field("Location"), "retry_after", field("Retry-After"), "date", field("Date"), "content_type", field("Content-Type"),
		"asks", asks, "bytes", len(body), "sha256", hash, "error", failure)
	e.exchange = x
	return e
}

// longestText is the limit, in bytes, for what is recorded of a header field,
// of an error, or of the value of a user-agent line.
const longestText = 8 << 10

func short(text string) string { return text[:min(len(text), longestText)] }

const mostAgents = 16

func decisionText(d *robotsmw.Decision) json.RawMessage {
	b := append(make([]byte, 0, 1<<9), `{"allowed":`...)
	b = strconv.AppendBool(b, d.Allowed)
	b = appendMembers(b, "decided", d.Time, "reason", d.Reason.String())
	if d.Reason == robotsmw.ByRule {
		b = appendMembers(b, "rule", d.Kind.String()+": "+d.Rule, "line", d.Line)
	}
	b = appendMembers(b, "resolved", d.Resolved)
	if len(d.Group) > 0 {
		var agents []string
		var lines []int
		for _, agent := range d.Group[:min(len(d.Group), mostAgents)] {
			agents, lines = append(agents, short(agent.Value)), append(lines, agent.Line)
		}
		b = appendMembers(b, "group", asJSON(agents), "group_lines", asJSON(lines))
	}
	b = appendMembers(b, "crawl_delay_seconds", d.CrawlDelay, "robots_url", d.RobotsURL, "sha256", d.SHA256(), "status", d.Status,
		"fetched", d.Fetched, "expires", d.Expires, "stale", d.Stale, "cause", d.Cause, "failed_since", d.FailedSince, "next_try", d.NextTry)
	return append(b, '}')
}

// redacted returns a URL without its password. It escapes bytes that are not
// UTF-8, because JSON cannot contain them. Rules match an escaped byte and the
// byte itself in the same way.
func redacted(u *url.URL) string {
	text := u.Redacted()
	if utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		if _, size := utf8.DecodeRuneInString(text[i:]); r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, "%%%02X", text[i])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
