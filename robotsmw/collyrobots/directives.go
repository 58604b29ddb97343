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

// Directives returns what a page says about itself to this crawler: its
// X-Robots-Tag and, in HTML, its robots metas. It treats colly's body as the
// complete page, because it cannot see whether MaxBodySize has cut that body.
// If the answer is not the page but a refusal, such as the challenge of a wall,
// the field Refusal says so.
func (x *Extension) Directives(page *colly.Response) robotsmw.Page {
	response := httpResponse(page)
	refused, _ := refusal.Of(response)
	if refused.Sure {
		return robotsmw.Page{Refusal: refused}
	}
	result := robotsmw.Page{
		Directives: robotsmeta.ParseHeader(response.Header, x.tokens...),
		State:      robotsmw.PageHeaderOnly,
		Refusal:    refused,
	}
	if !isHTML(page) {
		return result
	}
	if isEncoded(page) {
		result.State = robotsmw.PageNotExamined
		return result
	}
	result.Directives = result.Union(htmlmeta.Scan(page.Body, x.tokens...))
	result.State = robotsmw.PageComplete
	if refused.Kind == 0 {
		result.Refusal, _ = refusal.OfPage(&http.Response{StatusCode: page.StatusCode}, page.Body)
	}
	return result
}

// httpResponse returns a page's status and header as a response of net/http.
func httpResponse(page *colly.Response) *http.Response {
	response := &http.Response{StatusCode: page.StatusCode}
	if page.Headers != nil {
		response.Header = *page.Headers
	}
	return response
}

// Indexable reports whether a page may be kept. It returns false if the page
// says noindex, or if the answer is surely a refusal and not the page.
func (x *Extension) Indexable(page *colly.Response) bool {
	result := x.Directives(page)
	return !result.NoIndex() && !result.Refusal.Sure
}

// isHTML reports whether page has a body that may be HTML. Its answer is that
// of a robotsmw.Transport for the same response. It does not look at the body.
func isHTML(page *colly.Response) bool {
	return len(page.Body) > 0 && httputil.MayBeHTML(page.StatusCode, httpResponse(page).Header)
}

// isEncoded reports whether the body has a coding that colly has not decoded.
func isEncoded(page *colly.Response) bool {
	coding := strings.ToLower(httpResponse(page).Header.Get("Content-Encoding"))
	return coding != "" && coding != "identity" && !strings.Contains(coding, "gzip")
}

// exposeDirectives writes into the header of a 304 what the page that it stands
// for says to robots. colly hands on no more of a response than its header.
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
