package pagelinks

import (
	"bytes"
	"context"
	"fmt"
	"net/url"

	"github.com/PuerkitoBio/goquery"

	"github.com/goodbots/courtesy/robotsmw"
)

// FromHTML is FromDocument for a page that was read already, as UTF-8, and not
// parsed.
func FromHTML(ctx context.Context, page []byte, u *url.URL, says robotsmw.Page, opts Options) (*Page, error) {
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(page))
	if err != nil { // the parser takes any bytes, but nests only so deep
		return nil, fmt.Errorf("pagelinks: reading %s: %w", u, err)
	}
	return FromDocument(ctx, doc, u, says, opts)
}
