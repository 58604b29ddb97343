package fetch

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/goodbots/courtesy/internal/httpstatus"
	"github.com/goodbots/courtesy/politeness/refusal"
)

// A Detect recognizes responses of bot protection, as refusal.OfPage does. A
// nil Detect means refusal.OfPage.
type Detect func(resp *http.Response, begin []byte) (r refusal.Refusal, ok bool)

// cause describes a response of bot protection, such as "AWS WAF: challenge
// (202, x-amzn-waf-action: challenge)", or of a proxy. It returns "" if the
// site itself seems to have responded, or if the status alone decides. begin is
// the part of the body that was read.
//
// RFC 9309 does not mention bot protection. A response of bot protection does
// not indicate whether the site has rules, so the file is unreachable (RFC 9309
// §2.3.1.4), and not missing.
func (detect Detect) cause(resp *http.Response, begin []byte) string {
	if detect == nil {
		detect = refusal.OfPage
	}
	if cause := proxyError(resp); cause != "" {
		return cause
	}
	text := bytes.TrimLeft(begin, "\ufeff \t\r\n\f\v")
	html := bytes.HasPrefix(text, []byte("<"))
	mayBeRules := isSuccess(resp) && !html && len(text) > 0
	r, found := detect(resp, begin)
	if found {
		if statusDecides(resp, r) {
			return ""
		}
		if r.Sure || !mayBeRules {
			return fmt.Sprintf("%s: %s (%s)", cmp.Or(r.By, "the server"), r.Kind, r.Evidence)
		}
	}
	switch resp.StatusCode {
	case http.StatusPartialContent:
		return "status 206 Partial Content, although no range was requested"
	case http.StatusAccepted:
		contentType := strings.ToLower(resp.Header.Get("Content-Type"))
		if html || strings.Contains(contentType, "html") {
			return "status 202 Accepted with an HTML page, which is typical of a challenge"
		}
	}
	return ""
}

// statusDecides reports whether the status of a response has a meaning that a
// refusal does not change: 451 and 429 as described at robotsmw.Reason, and 404
// and 410 unless the refusal is sure.
func statusDecides(resp *http.Response, r refusal.Refusal) bool {
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusGone:
		return !r.Sure
	case http.StatusUnavailableForLegalReasons:
		return r.Kind == refusal.Legal
	}
	return r.Kind == refusal.RateLimit && httpstatus.IsThrottled(resp.StatusCode)
}

func isSuccess(resp *http.Response) bool { return resp.StatusCode >= 200 && resp.StatusCode <= 299 }
