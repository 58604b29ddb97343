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
	answer := answerOf(page)
	refused := x.detect(answer)
	if refused.Sure {
		return robotsmw.Page{Refusal: refused}
	}
	said := robotsmw.Page{
		Directives: robotsmeta.ParseHeader(answer.Header, x.tokens...),
		State:      robotsmw.PageHeaderOnly,
		Refusal:    refused,
	}
	if !isHTML(page) {
		return said
	}
	if isEncoded(page) {
		said.State = robotsmw.PageNotExamined
		return said
	}
	said.Directives = said.Union(htmlmeta.Scan(page.Body, x.tokens...))
	said.State = robotsmw.PageComplete
	if refused.Kind == 0 {
		said.Refusal, _ = x.opts.Refusals.OfPage(answer, page.Body)
	}
	if said.Refusal.Sure { // by a rule of Options.Refusals
		return robotsmw.Page{Refusal: said.Refusal}
	}
	return said
}

// detect returns the refusal in the status and header of a response. Its Kind
// is zero if there is none.
func (x *Extension) detect(answer *http.Response) refusal.Refusal {
	r, _ := x.opts.Refusals.Of(answer)
	return r
}

// answerOf returns a page's status and header as a response of net/http.
func answerOf(page *colly.Response) *http.Response {
	answer := &http.Response{StatusCode: page.StatusCode}
	if page.Headers != nil {
		answer.Header = *page.Headers
	}
	return answer
}

// Indexable reports whether a page may be kept. It returns false if the page
// says noindex, or if the answer is surely a refusal and not the page.
func (x *Extension) Indexable(page *colly.Response) bool {
	said := x.Directives(page)
	return !said.NoIndex() && !said.Refusal.Sure
}

// isHTML reports whether page has a body that may be HTML. Its answer is that
// of a robotsmw.Transport for the same response. It does not look at the body.
func isHTML(page *colly.Response) bool {
	return len(page.Body) > 0 && httputil.MayBeHTML(page.StatusCode, answerOf(page).Header)
}

// isEncoded reports whether the body has a coding that colly has not decoded.
func isEncoded(page *colly.Response) bool {
	coding := strings.ToLower(answerOf(page).Header.Get("Content-Encoding"))
	return coding != "" && coding != "identity" && !strings.Contains(coding, "gzip")
}
