package page

import (
	"mime"
	"net/http"
	"slices"
	"strings"
)

// hasHTML reports whether resp has a body that may be HTML. A body without a
// Content-Type may be HTML. The body of a 206 does not count, because it may
// not be the beginning of the page.
func hasHTML(resp *http.Response, method string) bool {
	switch code := resp.StatusCode; {
	case code < 200, code == http.StatusNoContent, code == http.StatusPartialContent, code == http.StatusNotModified,
		resp.Body == nil, resp.Body == http.NoBody, method == http.MethodHead, method == http.MethodConnect:
		return false
	}
	kinds := resp.Header["Content-Type"]
	return len(kinds) == 0 || slices.ContainsFunc(kinds, mayBeHTML)
}

// mayBeHTML reports whether a body with this Content-Type may be HTML. If the
// type is missing or unknown, browsers treat a body that looks like HTML as
// HTML (WHATWG MIME Sniffing §7.1). A parameter may follow the type without a
// semicolon.
func mayBeHTML(contentType string) bool {
	if contentType == "text/html" || strings.HasPrefix(contentType, "text/html;") {
		return true // the usual case
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

// charset returns the charset of the Content-Type if it may be a form of
// UTF-16. Otherwise it returns "", because htmlmeta does not need to know other
// charsets.
func charset(h http.Header) string {
	kind := h.Get("Content-Type")
	if !strings.Contains(kind, "16") {
		return "" // the usual case
	}
	_, parameters, _ := mime.ParseMediaType(kind)
	return parameters["charset"]
}
