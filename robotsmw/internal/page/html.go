package page

import (
	"net/http"
	"slices"
	"strings"
)

// hasHTML reports whether resp has an HTML body, or at least its beginning. A
// body without a type may be HTML.
func hasHTML(resp *http.Response, method string) bool {
	switch code := resp.StatusCode; {
	case code < 200, code == http.StatusNoContent, code == http.StatusPartialContent, code == http.StatusNotModified:
		return false
	}
	if resp.Body == nil || resp.Body == http.NoBody || method == http.MethodHead || method == http.MethodConnect {
		return false
	}
	kinds := resp.Header["Content-Type"]
	return len(kinds) == 0 || slices.ContainsFunc(kinds, mayBeHTML)
}

// mayBeHTML reports whether a Content-Type is HTML or does not say. Browsers
// take a body of no type, or of an unknown one, for HTML if it looks like HTML
// (WHATWG MIME Sniffing §7.1). A parameter may follow without a semicolon.
func mayBeHTML(contentType string) bool {
	if contentType == "text/html" || strings.HasPrefix(contentType, "text/html;") {
		return true
	}
	kind := strings.TrimSpace(contentType)
	if end := strings.IndexAny(kind, ";, \t"); end >= 0 {
		kind = kind[:end]
	}
	switch strings.ToLower(kind) {
	case "text/html", "application/xhtml+xml", "unknown/unknown", "application/unknown", "*/*":
		return true
	}
	return !strings.Contains(kind, "/")
}

// charset returns the charset if htmlmeta has to know it, which is so for each
// form of UTF-16. Otherwise it returns "".
func charset(h http.Header) string {
	kind := h.Get("Content-Type")
	if !strings.Contains(kind, "16") {
		return "" // nearly always
	}
	switch kind = strings.ToLower(kind); {
	case !strings.Contains(kind, "utf-16"):
		return ""
	case strings.Contains(kind, "utf-16le"):
		return "utf-16le"
	case strings.Contains(kind, "utf-16be"):
		return "utf-16be"
	}
	return "utf-16"
}
