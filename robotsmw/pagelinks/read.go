package pagelinks

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf16"

	"github.com/goodbots/courtesy/robotsmw"
)

// maxBytes is the maximum number of bytes of a body that Read reads.
const maxBytes = 16 << 20

// Read reads the HTML page in a response of a [robotsmw.Transport], closes the
// body, and returns the links of the page as FromHTML does. If the body has
// more than 16 MiB, the rest is not read and Page.Truncated is true.
//
// If the response is not HTML, or is certainly from bot protection
// (robotsmw.Page.Refusal), Read returns a Page without links, because the links
// of a bot-protection page are not those of the site.
//
// If the body cannot be read, Read returns an error and no Page. It also
// returns an error if the body has a Content-Encoding, which happens only if
// the caller sets Accept-Encoding. Such a caller should decode the body and
// call FromHTML. If ctx is canceled while links are checked, Read returns both
// the Page and an error that wraps the error of ctx.
func Read(ctx context.Context, resp *http.Response, checker *robotsmw.Checker) (*Page, error) {
	defer resp.Body.Close()
	if resp.Request == nil || resp.Request.URL == nil {
		return nil, errors.New("pagelinks: Response.Request and its URL must be set, " +
			"because links are relative to it")
	}
	u := resp.Request.URL
	directives := robotsmw.PageDirectives(resp)
	if directives.State == robotsmw.PageHeaderOnly || directives.Refusal.Sure {
		return &Page{URL: u, Says: directives, checker: checker, base: u}, nil
	}
	coding := resp.Header.Get("Content-Encoding")
	if coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, fmt.Errorf("pagelinks: body of %s has Content-Encoding %q: "+
			"decode it and call FromHTML, or do not set Accept-Encoding", u, coding)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("pagelinks: reading %s: %w", u, err)
	}
	resp.Body.Close()
	// After the body has been read, the directives include those of the body,
	// and Refusal includes a match of a rule of Options.Refusals.
	directives = robotsmw.PageDirectives(resp)
	if directives.Refusal.Sure {
		return &Page{URL: u, Says: directives, checker: checker, base: u}, nil
	}
	truncated := len(body) > maxBytes
	body = body[:min(len(body), maxBytes)]
	p, err := FromHTML(ctx, toUTF8(body, resp.Header.Get("Content-Type")), u, directives, checker)
	if p != nil {
		p.Truncated = p.Truncated || truncated
	}
	return p, err
}

// toUTF8 converts a page in UTF-16 to UTF-8. It does not change other pages,
// because links and rel attributes can be parsed in every charset that extends
// ASCII.
func toUTF8(page []byte, contentType string) []byte {
	order := utf16Order(page, contentType)
	if order == nil {
		return page
	}
	units := make([]uint16, len(page)/2)
	for i := range units {
		units[i] = order.Uint16(page[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}

// utf16Order returns the byte order of a page in UTF-16, or nil if the page has
// another encoding. A byte order mark or "<" at the beginning of the page
// overrides the Content-Type.
func utf16Order(page []byte, contentType string) binary.ByteOrder {
	beginsWith := func(prefix ...byte) bool { return bytes.HasPrefix(page, prefix) }
	contentType = strings.ToLower(contentType)
	switch {
	case beginsWith(0xfe, 0xff), beginsWith(0, '<'):
		return binary.BigEndian
	case beginsWith(0xff, 0xfe), beginsWith('<', 0):
		return binary.LittleEndian
	case beginsWith('<'):
		return nil
	case strings.Contains(contentType, "utf-16be"):
		return binary.BigEndian
	case strings.Contains(contentType, "utf-16"):
		return binary.LittleEndian
	}
	return nil
}
