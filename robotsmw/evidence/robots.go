package evidence

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash/maphash"
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
// decision is recorded only if it is a refusal, or would be one without DryRun.
func robots(q *queue) *robotsmw.Observer {
	return &robotsmw.Observer{
		Decided: func(_ context.Context, d robotsmw.Decision) {
			if !d.Allowed || d.DryRun {
				refused(q, &d)
			}
		},
		Read: func(_ context.Context, sha256 string, text []byte) { read(q, sha256, text) },
		Asked: func(_ context.Context, robotsURL string, resp *http.Response, body []byte, err error) {
			asked(q, robotsURL, resp, body, err)
		},
		Fetched:  func(_ context.Context, f robotsmw.Fetch) { q.tell(kindRobots, f.URL, fetchText(f, "fetch")) },
		Recalled: func(_ context.Context, f robotsmw.Fetch) { q.tell(kindRobots, f.URL, fetchText(f, "store")) },
	}
}

var seed = maphash.MakeSeed()

// The function "refused" adds a refusal to the record, or a decision that would
// be a refusal without DryRun. It does nothing if the queue remembers an equal
// decision.
func refused(q *queue, d *robotsmw.Decision) {
	now := time.Now()
	buf := buffers.Get().(*[]byte)
	b := begin((*buf)[:0], kindDecision, now)
	from := len(b)
	if d.URL != nil {
		b = appendText(b, "url", redacted(d.URL))
	}
	to := len(b)
	b = appendDecision(b, d)
	var h maphash.Hash
	h.SetSeed(seed)
	h.Write(b[from:to])
	h.WriteString(d.SHA256() + d.RobotsURL + d.Reason.String() + d.Fetched.String())
	if q.isNewRefusal(h.Sum64()) {
		q.put(entry{kind: kindDecision, time: now}, b)
	}
	*buf = b
	buffers.Put(buf)
}

// The function "read" adds the text of a robots.txt to the record, unless the
// queue remembers that this text was written.
func read(q *queue, sha256 string, text []byte) {
	var hash [64]byte
	copy(hash[:], sha256)
	if !q.isNew(hash) {
		return
	}
	now := time.Now()
	b := begin(make([]byte, 0, len(text)+len(text)/8+300), kindFile, now)
	b = appendText(b, "sha256", sha256)
	b = appendNumber(b, "size", int64(len(text)))
	switch {
	case len(text) == 0:
	case utf8.Valid(text) && controls(text) <= len(text)/16:
		b = appendQuoted(appendMember(b, "text"), text)
	default:
		b = append(appendMember(b, "base64"), '"')
		b = append(base64.StdEncoding.AppendEncode(b, text), '"')
	}
	q.put(entry{kind: kindFile, time: now}, b)
}

// The function "controls" counts the control characters that take six bytes of
// JSON each.
func controls(text []byte) (n int) {
	for _, c := range text {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' {
			n++
		}
	}
	return n
}

func asked(q *queue, robotsURL string, resp *http.Response, body []byte, err error) {
	now := time.Now()
	req := resp.Request
	x := exchangeOf(resp, body, err, now)
	b := begin(nil, kindFetch, now)
	b = appendText(b, "robots_url", robotsURL)
	b = appendText(b, "url", x.url)
	b = appendText(b, "host", x.host)
	b = appendTrue(b, "conditional", req.Header.Get("If-None-Match") != "" || req.Header.Get("If-Modified-Since") != "")
	b = appendText(b, "user_agent", req.Header.Get("User-Agent"))
	b = appendNumber(b, "status", int64(resp.StatusCode))
	for _, f := range [...]struct{ member, name string }{
		{"location", "Location"}, {"retry_after", "Retry-After"}, {"date", "Date"}, {"content_type", "Content-Type"},
	} {
		b = appendText(b, f.member, short(strings.Join(resp.Header[f.name], ", ")))
	}
	if wait, ok := politeness.RetryAfter(resp.Header, now); ok {
		b = appendSeconds(b, "asks", wait)
	}
	b = appendNumber(b, "bytes", int64(len(body)))
	if x.whole {
		sum := sha256.Sum256(body)
		b = append(appendMember(b, "sha256"), '"')
		b = append(hex.AppendEncode(b, sum[:]), '"')
	}
	if err != nil {
		b = appendText(b, "error", short(err.Error()))
	}
	q.put(entry{kind: kindFetch, time: now, exchange: x}, b)
}

// longestText is the limit, in bytes, for what is recorded of a header field,
// of an error, or of the value of a user-agent line.
const longestText = 8 << 10

func short(text string) string {
	if len(text) <= longestText {
		return text
	}
	return text[:longestText]
}

func fetchText(f robotsmw.Fetch, from string) []byte {
	b := appendText(nil, "robots_url", f.URL)
	b = appendText(b, "from", from)
	b = appendNumber(b, "status", int64(f.Status))
	b = appendTrue(b, "renewed", f.Renewed)
	b = appendNumber(b, "redirects", int64(f.Redirects))
	b = appendText(b, "sha256", f.SHA256)
	b = appendTime(b, "fetched", f.Fetched)
	b = appendTime(b, "expires", f.Expires)
	b = appendText(b, "cause", f.Cause)
	if f.Cause != "" {
		b = appendTime(b, "next_try", f.Next)
	}
	return b
}

const mostAgents = 16

func appendDecision(b []byte, d *robotsmw.Decision) []byte {
	b = append(appendMember(b, "decision"), `{"allowed":`...)
	b = strconv.AppendBool(b, d.Allowed)
	b = appendTime(b, "decided", d.Time)
	b = appendTrue(b, "dry_run", d.DryRun)
	b = appendPlain(b, "reason", d.Reason.String())
	if d.Reason == robotsmw.ByRule {
		b = append(append(appendMember(b, "rule"), '"'), d.Kind.String()...)
		b = append(appendEscaped(append(b, ": "...), d.Rule), '"')
		b = appendNumber(b, "line", int64(d.Line))
	}
	b = appendText(b, "resolved", d.Resolved)
	if group := d.Group[:min(len(d.Group), mostAgents)]; len(group) > 0 {
		b = append(appendMember(b, "group"), '[')
		for i, agent := range group {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendQuoted(b, short(agent.Value))
		}
		b = append(appendMember(append(b, ']'), "group_lines"), '[')
		for i, agent := range group {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, int64(agent.Line), 10)
		}
		b = append(b, ']')
	}
	b = appendWait(b, "crawl_delay_seconds", d.CrawlDelay)
	b = appendText(b, "robots_url", d.RobotsURL)
	b = appendPlain(b, "sha256", d.SHA256())
	b = appendNumber(b, "status", int64(d.Status))
	b = appendTime(b, "fetched", d.Fetched)
	b = appendTime(b, "expires", d.Expires)
	b = appendTrue(b, "stale", d.Stale)
	b = appendText(b, "cause", d.Cause)
	b = appendTime(b, "failed_since", d.FailedSince)
	b = appendTime(b, "next_try", d.NextTry)
	return append(b, '}')
}

// redacted returns a URL without its password. It escapes bytes that are not
// UTF-8, because JSON cannot contain them. Rules match an escaped byte and the
// byte itself in the same way.
func redacted(u *url.URL) string {
	text := ""
	if u.User == nil {
		text = u.String()
	} else {
		text = u.Redacted()
	}
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
