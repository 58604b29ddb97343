package pagelinks

import (
	"bytes"
	"context"
	"fmt"
	"net/url"

	"github.com/PuerkitoBio/goquery"

	"github.com/goodbots/courtesy/robotsmw"
)

// FromHTML is FromDocument for a page in UTF-8 that has been read but not
// parsed.
func FromHTML(ctx context.Context, page []byte, u *url.URL, says robotsmw.Page, opts Options) (*Page, error) {
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(page))
	if err != nil { // the parser accepts any bytes, but limits the depth of nesting
		return nil, fmt.Errorf("pagelinks: reading %s: %w", u, err)
	}
	return FromDocument(ctx, doc, u, says, opts)
}
