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

// A Detect recognizes responses of bot protection, as refusal.OfPage does. Nil
// is refusal.OfPage.
type Detect func(resp *http.Response, begin []byte) (r refusal.Refusal, ok bool)

// cause describes a response of bot protection, such as "AWS WAF: challenge
// (202, x-amzn-waf-action: challenge)", or of a proxy. It returns "" if the
// site itself seems to have responded, or if the status alone decides. begin is
// the part of the body that was read.
//
// RFC 9309 does not mention bot protection. Its response does not indicate
// whether the site has rules, so the file is unreachable (RFC 9309 §2.3.1.4),
// and not missing.
func (detect Detect) cause(resp *http.Response, begin []byte) string {
	if detect == nil {
		detect = refusal.OfPage
	}
	if cause := proxyError(resp); cause != "" {
		return cause
	}
	text := bytes.TrimLeft(begin, "\ufeff \t\r\n\f\v")
	html := bytes.HasPrefix(text, []byte("<"))
	r, found := detect(resp, begin)
	isLegal := r.Kind == refusal.Legal && resp.StatusCode == http.StatusUnavailableForLegalReasons
	isRateLimit := r.Kind == refusal.RateLimit && httpstatus.IsThrottled(resp.StatusCode)
	switch {
	case found && (isLegal || isRateLimit):
		return "" // the status decides: see robotsmw.Reason
	case found && !r.Sure && (resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone):
		return "" // a guess from the page's marks does not outweigh such a status
	case found && (r.Sure || !isSuccess(resp) || html || len(text) == 0): // a guess does not count if the status is 2xx and the text may be rules
		return fmt.Sprintf("%s: %s (%s)", cmp.Or(r.By, "the server"), r.Kind, r.Evidence)
	case resp.StatusCode == http.StatusPartialContent:
		return "status 206 Partial Content, although no range was requested"
	case resp.StatusCode == http.StatusAccepted && (html || strings.Contains(strings.ToLower(resp.Header.Get("Content-Type")), "html")):
		return "status 202 Accepted with an HTML page, which is typical of a challenge"
	}
	return ""
}

func isSuccess(resp *http.Response) bool { return resp.StatusCode >= 200 && resp.StatusCode <= 299 }
