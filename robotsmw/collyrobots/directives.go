package collyrobots

import (
	"net/http"
	"strings"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/internal/httputil"
	"github.com/goodbots/courtesy/politeness/refusal"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta/htmlmeta"
)

// Directives returns the directives of a page for this crawler: those of its
// X-Robots-Tag header and, in HTML, of its robots meta elements. The State is
// PageComplete even if the body was truncated to MaxBodySize, because colly
// does not report that. If the response is from bot protection, such as a
// challenge, the field Refusal describes it. If Refusal.Sure is true, the
// response is certainly from bot protection, and the other fields are zero.
// Sure is true for every 429, 430 and 451, unless a rule of Options.Refusals
// that is not Sure and has no Text matches the response.
func (x *Extension) Directives(page *colly.Response) robotsmw.Page {
	response := httpResponse(page)
	state := examinedState(page)
	var protection refusal.Refusal
	if state == robotsmw.PageComplete {
		protection = x.detectInPage(response, page.Body)
	} else {
		protection = x.detect(response)
	}
	if protection.Sure {
		return robotsmw.Page{Refusal: protection}
	}
	result := robotsmw.Page{
		Directives: robotsmeta.ParseHeader(response.Header, x.tokens...),
		State:      state,
		Refusal:    protection,
	}
	if state == robotsmw.PageComplete {
		result.Directives = result.Union(htmlmeta.Scan(page.Body, x.tokens...))
	}
	return result
}

// examinedState returns how much of a page can be examined.
func examinedState(page *colly.Response) robotsmw.PageState {
	switch {
	case !isHTML(page):
		return robotsmw.PageHeaderOnly
	case isEncoded(page):
		return robotsmw.PageNotExamined
	}
	return robotsmw.PageComplete
}

// detect reports whether a response is from bot protection, according to its
// status and header. If it is not, Kind is zero.
func (x *Extension) detect(response *http.Response) refusal.Refusal {
	r, _ := x.opts.Refusals.Of(response)
	return r
}

// detectInPage is like detect, but also searches the body. The result of detect
// takes precedence, unless only the body identifies bot protection, or
// identifies it with certainty.
func (x *Extension) detectInPage(response *http.Response, body []byte) refusal.Refusal {
	inPage, ok := x.opts.Refusals.OfPage(response, body)
	if !ok {
		return refusal.Refusal{} // detect would return the same, because OfPage also examines the header
	}
	inHeader := x.detect(response)
	if inHeader.Sure || inHeader.Kind != 0 && !inPage.Sure {
		return inHeader
	}
	return inPage
}

// httpResponse returns a page's status and header as a response of net/http.
func httpResponse(page *colly.Response) *http.Response {
	response := &http.Response{StatusCode: page.StatusCode}
	if page.Headers != nil {
		response.Header = *page.Headers
	}
	return response
}

// Indexable reports whether a page may be indexed. It returns false if the page
// has a noindex directive, or if the response is certainly from bot protection
// and not the page, which includes every 429: see Directives.
func (x *Extension) Indexable(page *colly.Response) bool {
	result := x.Directives(page)
	return !result.NoIndex() && !result.Refusal.Sure
}

// isHTML reports whether page has a body that may be HTML. The result is the
// same as that of a robotsmw.Transport for the response, and does not depend on
// the content of the body.
func isHTML(page *colly.Response) bool {
	return len(page.Body) > 0 && httputil.MayBeHTML(page.StatusCode, httpResponse(page).Header)
}

// isEncoded reports whether the body has a coding that colly has not decoded.
func isEncoded(page *colly.Response) bool {
	if page.Headers == nil || len((*page.Headers)["Content-Encoding"]) == 0 {
		return false // the usual case
	}
	coding := strings.ToLower(page.Headers.Get("Content-Encoding"))
	return coding != "" && coding != "identity" && !strings.Contains(coding, "gzip")
}

// exposeDirectives adds the directives of the stored page to the header of a
// 304, because colly's callbacks receive only the header of a response and not
// its context.
func exposeDirectives(resp *http.Response) {
	if resp.StatusCode != http.StatusNotModified {
		return
	}
	for rule := range robotsmw.PageDirectives(resp).Rules() {
		if rule.Known {
			resp.Header.Add("X-Robots-Tag", strings.TrimSuffix(rule.Name+": "+rule.Value, ": "))
		}
	}
}
