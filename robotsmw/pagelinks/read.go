package pagelinks

import (
	"bytes"
	"cmp"
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

const defaultMaxBytes = 16 << 20

// Read reads the HTML page in resp, which must come from a robotsmw.Transport.
// It closes the body and returns the page's links. It does not read a response
// without HTML, because such a response has no links. Nor does it read a
// response that is surely a refusal (robotsmw.Page.Refusal), because the links
// of a refusal are not the site's.
//
// If the body cannot be read, Read returns an error and no Page. If ctx ends
// while a Checker judges the links, Read returns the Page together with an
// error that wraps the error of ctx. If a single link could not be judged, its
// Err says why. A body with a content coding is an error: a caller that sets
// Accept-Encoding has to decode the body and call FromHTML.
func Read(ctx context.Context, resp *http.Response, opts Options) (*Page, error) {
	defer resp.Body.Close()
	if resp.Request == nil || resp.Request.URL == nil {
		return nil, errors.New("pagelinks: the response names no request, so its links lead nowhere: set Response.Request")
	}
	u := resp.Request.URL
	if says := robotsmw.PageDirectives(resp); says.State == robotsmw.PageHeaderOnly || says.Refusal.Sure {
		return &Page{URL: u, Base: u, Says: says, opts: opts}, nil
	}
	if coding := resp.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, fmt.Errorf("pagelinks: the body of %s is in the coding %q: undo it and call FromHTML, or leave Accept-Encoding to http.Transport", u, coding)
	}
	limit := cmp.Or(opts.MaxBytes, defaultMaxBytes)
	var from io.Reader = resp.Body
	if limit > 0 {
		from = io.LimitReader(from, int64(limit)+1)
	}
	body, err := io.ReadAll(from)
	if err != nil {
		return nil, fmt.Errorf("pagelinks: reading %s: %w", u, err)
	}
	resp.Body.Close() // now PageDirectives returns what the body says, too
	truncated := limit > 0 && len(body) > limit
	if truncated {
		body = body[:limit]
	}
	p, err := FromHTML(ctx, inUTF8(body, resp.Header.Get("Content-Type")), u, robotsmw.PageDirectives(resp), opts)
	if p != nil {
		p.Truncated = p.Truncated || truncated
	}
	return p, err
}

// inUTF8 converts a page in UTF-16 to UTF-8. It returns any other page as it
// is, because addresses and rel attributes can be read in every charset that
// contains ASCII.
func inUTF8(page []byte, contentType string) []byte {
	var order binary.ByteOrder = binary.LittleEndian
	kind := strings.ToLower(contentType)
	switch {
	case bytes.HasPrefix(page, []byte{0xfe, 0xff}), bytes.HasPrefix(page, []byte{0, '<'}):
		order = binary.BigEndian
	case bytes.HasPrefix(page, []byte{0xff, 0xfe}), bytes.HasPrefix(page, []byte{'<', 0}):
	case bytes.HasPrefix(page, []byte{'<'}):
		return page
	case strings.Contains(kind, "utf-16be"):
		order = binary.BigEndian
	case strings.Contains(kind, "utf-16"):
	default:
		return page
	}
	units := make([]uint16, len(page)/2)
	for i := range units {
		units[i] = order.Uint16(page[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}
