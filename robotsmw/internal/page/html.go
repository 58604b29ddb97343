package page

import (
	"mime"
	"net/http"
	"strings"

	"github.com/goodbots/courtesy/internal/httputil"
)

// hasHTML reports whether resp, the response to a request with this method, has
// a body that may be HTML.
func hasHTML(resp *http.Response, method string) bool {
	if resp.Body == nil || resp.Body == http.NoBody {
		return false
	}
	if method == http.MethodHead || method == http.MethodConnect {
		return false
	}
	return httputil.MayBeHTML(resp.StatusCode, resp.Header)
}

// charset returns the charset of the Content-Type if it may be a form of
// UTF-16. Otherwise it returns "", because htmlmeta does not need any other
// charset.
func charset(h http.Header) string {
	kind := h.Get("Content-Type")
	if !strings.Contains(kind, "16") {
		return "" // the usual case
	}
	_, parameters, _ := mime.ParseMediaType(kind)
	return parameters["charset"]
}
