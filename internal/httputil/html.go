// Package httputil contains HTTP helpers that several packages of the module
// share.
package httputil

import (
	"net/http"
	"slices"
	"strings"
)

// MayBeHTML reports whether the body of a response with this status and header
// may be HTML. It does not determine whether the response has a body.
//
// Browsers treat a body without a Content-Type, or with one that they do not
// know, as HTML if it looks like HTML (WHATWG MIME Sniffing §7.1). Such a page
// may contain a noindex, so MayBeHTML returns true for it. If there are several
// Content-Type lines, one that may mean HTML is sufficient. For a 206,
// MayBeHTML returns false, because the body may not be the beginning of the
// page.
func MayBeHTML(status int, h http.Header) bool {
	switch status {
	case http.StatusNoContent, http.StatusPartialContent, http.StatusNotModified:
		return false
	}
	if status < 200 {
		return false
	}
	types := h["Content-Type"]
	return len(types) == 0 || slices.ContainsFunc(types, isHTMLType)
}

// isHTMLType reports whether a body with this Content-Type may be HTML. A
// parameter may follow the type without a semicolon.
func isHTMLType(contentType string) bool {
	if contentType == "text/html" || strings.HasPrefix(contentType, "text/html;") {
		return true // the usual case
	}
	mediaType := strings.TrimSpace(contentType)
	if end := strings.IndexAny(mediaType, ";, \t"); end >= 0 {
		mediaType = mediaType[:end]
	}
	switch strings.ToLower(mediaType) {
	case "text/html", "application/xhtml+xml", "unknown/unknown", "application/unknown", "*/*":
		return true
	}
	return !strings.Contains(mediaType, "/")
}
