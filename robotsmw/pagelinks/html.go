package pagelinks

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/PuerkitoBio/goquery"

	"github.com/goodbots/courtesy/robotsmw"
)

// FromHTML returns the links of an HTML page. The page must be in UTF-8, or in
// another extension of ASCII. u is its URL, and directives is the result of
// robotsmw.PageDirectives for the response.
//
// The checker is used for the links that are not excluded by nofollow, and may
// have to fetch robots.txt files. If it is nil, robots.txt is not checked. If
// ctx is canceled during these checks, FromHTML returns the Page and an error
// that wraps the error of ctx.
func FromHTML(
	ctx context.Context, page []byte, u *url.URL,
	directives robotsmw.Page, checker *robotsmw.Checker,
) (*Page, error) {
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(page))
	if err != nil { // elements are nested too deeply
		return nil, fmt.Errorf("pagelinks: parsing %s: %w", u, err)
	}
	p := &Page{URL: u, Says: directives, checker: checker, base: u}
	p.findBase(doc.Selection)
	p.extract(doc.Selection)
	p.extractNoscript(doc.Selection)
	if checker == nil {
		return p, nil
	}
	return p, p.check(ctx)
}

// extractNoscript adds the links in <noscript> elements. The parser returns
// their content as text, because it behaves like a browser that runs scripts.
func (p *Page) extractNoscript(root *goquery.Selection) {
	root.Find("noscript").Each(func(_ int, s *goquery.Selection) {
		isText := s.Children().Length() == 0 && strings.Contains(s.Text(), "<")
		if !isText || inTemplate(s) {
			return
		}
		content, err := goquery.NewDocumentFromReader(strings.NewReader(s.Text()))
		if err != nil { // elements are nested too deeply
			p.Truncated = true
			return
		}
		p.extract(content.Selection)
	})
}
