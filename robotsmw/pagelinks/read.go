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

// maxBytes is how many bytes of a body Read takes at most. It protects a
// crawler from pages that never end.
const maxBytes = 16 << 20

// Read reads the HTML page in resp, which must come from a robotsmw.Transport.
// It closes the body and returns the page's links, judged as by FromHTML. Of a
// body of more than 16 MiB, the rest is left unread and Page.Truncated is true.
// Read does not read a response without HTML, because such a response has no
// links. Nor does it read a response that is surely a refusal
// (robotsmw.Page.Refusal), because the links of a refusal are not the site's.
//
// If the body cannot be read, Read returns an error and no Page. If ctx ends
// while a Checker judges the links, Read returns the Page together with an
// error that wraps the error of ctx. If a single link could not be judged, its
// Err says why. A body with a content coding is an error: a caller that sets
// Accept-Encoding has to decode the body and call FromHTML.
func Read(ctx context.Context, resp *http.Response, checker *robotsmw.Checker) (*Page, error) {
	defer resp.Body.Close()
	if resp.Request == nil || resp.Request.URL == nil {
		return nil, errors.New("pagelinks: the response names no request, so its links lead nowhere: set Response.Request")
	}
	u := resp.Request.URL
	if says := robotsmw.PageDirectives(resp); says.State == robotsmw.PageHeaderOnly || says.Refusal.Sure {
		return &Page{URL: u, Says: says, checker: checker, base: u}, nil
	}
	if coding := resp.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, fmt.Errorf("pagelinks: the body of %s is in the coding %q: undo it and call FromHTML, or leave Accept-Encoding to http.Transport", u, coding)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("pagelinks: reading %s: %w", u, err)
	}
	resp.Body.Close() // now PageDirectives returns what the body says, too
	truncated := len(body) > maxBytes
	body = body[:min(len(body), maxBytes)]
	p, err := FromHTML(ctx, inUTF8(body, resp.Header.Get("Content-Type")), u, robotsmw.PageDirectives(resp), checker)
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
