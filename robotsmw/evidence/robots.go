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

// robotsObserver returns an Observer that records the robots.txt fetches and
// the decisions of a Transport or Checker. Only a decision that disallows a URL
// gets its own line, because a request line contains the decision that allowed
// the request.
func robotsObserver(q *queue) *robotsmw.Observer {
	putState := func(f robotsmw.Fetch, from string) {
		next := f.Next
		if f.Cause == "" {
			next = time.Time{}
		}
		e := newEntry("robots",
			"robots_url", f.URL,
			"from", from,
			"status", f.Status,
			"renewed", f.Renewed,
			"redirects", f.Redirects,
			"sha256", f.SHA256,
			"fetched", f.Fetched,
			"expires", f.Expires,
			"cause", f.Cause,
			"next_try", next,
		)
		e.robots = f.URL
		q.put(e)
	}
	return &robotsmw.Observer{
		Decided: func(_ context.Context, d robotsmw.Decision) {
			if d.Allowed {
				return
			}
			url := ""
			if d.URL != nil {
				url = redacted(d.URL)
			}
			key := fmt.Sprintf("decision %q %q %q %v %v",
				url, d.SHA256(), d.RobotsURL, d.Reason, d.Fetched)
			if q.isNew(key) {
				q.put(newEntry("decision", "url", url, "decision", decisionText(&d)))
			}
		},
		Read: func(_ context.Context, sha256 string, text []byte) {
			if !q.isNew("file " + sha256) {
				return
			}
			isText := utf8.Valid(text) && countControls(text) <= len(text)/16
			if isText {
				q.put(newEntry("file", "sha256", sha256, "size", len(text), "text", string(text)))
			} else {
				q.put(newEntry("file",
					"sha256", sha256,
					"size", len(text),
					"base64", asJSON(text), // encoding/json encodes a []byte in base64
				))
			}
		},
		Asked: func(_ context.Context, robotsURL string, resp *http.Response, body []byte, err error) {
			q.put(fetchLine(robotsURL, resp, body, err))
		},
		Fetched: func(_ context.Context, f robotsmw.Fetch) { putState(f, "fetch") },
		Loaded:  func(_ context.Context, f robotsmw.Fetch) { putState(f, "store") },
	}
}

// countControls counts the control characters other than tabs and line breaks.
// In JSON, most of them need an escape of six bytes.
func countControls(text []byte) int {
	n := 0
	for _, c := range text {
		switch c {
		case '\n', '\r', '\t':
			continue
		}
		if c < ' ' {
			n++
		}
	}
	return n
}

// fetchLine returns the fetch line of a request for a robots.txt. body is the
// part of the response's body that was read, and err is the error of the
// request or of reading the body.
func fetchLine(robotsURL string, resp *http.Response, body []byte, err error) entry {
	now := time.Now()
	x := newExchange(resp, body, err, now)
	field := func(name string) string { return shorten(strings.Join(resp.Header[name], ", ")) }
	hash := ""
	failure := ""
	if x.whole {
		hash = fmt.Sprintf("%x", sha256.Sum256(body))
	}
	if err != nil {
		failure = shorten(err.Error())
	}
	var retryAfter json.RawMessage // nil if there is no valid Retry-After
	if wait, ok := politeness.RetryAfter(resp.Header, now); ok {
		retryAfter, _ = json.Marshal(seconds(wait))
	}
	e := newEntry("fetch",
		"robots_url", robotsURL,
		"url", x.url,
		"host", x.host,
		"conditional", isConditional(resp.Request),
		"user_agent", resp.Request.Header.Get("User-Agent"),
		"status", resp.StatusCode,
		"location", field("Location"),
		"retry_after", field("Retry-After"),
		"date", field("Date"),
		"content_type", field("Content-Type"),
		"asks", retryAfter,
		"bytes", len(body),
		"sha256", hash,
		"error", failure,
	)
	e.exchange = x
	return e
}

// maxTextBytes is the maximum number of bytes that are recorded of a header
// field, an error, or the value of a user-agent line.
const maxTextBytes = 8 << 10

// shorten returns the first maxTextBytes bytes of a text, or all of a shorter
// text.
func shorten(text string) string { return text[:min(len(text), maxTextBytes)] }

// maxAgents is the maximum number of user-agent lines of a group that are
// recorded.
const maxAgents = 16

// decisionText returns the JSON form of a decision in a record.
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
		for _, agent := range d.Group[:min(len(d.Group), maxAgents)] {
			agents = append(agents, shorten(agent.Value))
			lines = append(lines, agent.Line)
		}
		b = appendMembers(b, "group", asJSON(agents), "group_lines", asJSON(lines))
	}
	b = appendMembers(b,
		"crawl_delay_seconds", d.CrawlDelay,
		"robots_url", d.RobotsURL,
		"sha256", d.SHA256(),
		"status", d.Status,
		"fetched", d.Fetched,
		"expires", d.Expires,
		"stale", d.Stale,
		"cause", d.Cause,
		"failed_since", d.FailedSince,
		"next_try", d.NextTry,
	)
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
