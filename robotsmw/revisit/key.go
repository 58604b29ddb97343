package revisit

import (
	"net/http"
	"strings"
)

const maxKey = 8 << 10 // bytes

// cacheKey returns the cache key of a request. ok is false if the URL is not an
// http or https URL, if the key would be longer than 8 KiB, if a host contains
// bytes that would make the key ambiguous, or if the request target does not
// begin with "/".
//
// If the Host header differs from the host of the URL, the key begins with the
// Host header. The Host header is not at the end of the key, because a query
// may contain any text.
func cacheKey(req *http.Request) (key string, ok bool) {
	if req.URL == nil {
		return "", false
	}
	if req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return "", false
	}
	urlHost := strings.ToLower(req.URL.Host)
	hostHeader := strings.ToLower(req.Host)
	target := req.URL.RequestURI()
	if isAmbiguousHost(urlHost) || isAmbiguousHost(hostHeader) || !strings.HasPrefix(target, "/") {
		return "", false
	}
	key = req.URL.Scheme + "://" + urlHost + target
	if hostHeader != "" && hostHeader != urlHost {
		key = "Host: " + hostHeader + " " + key
	}
	return key, len(key) <= maxKey
}

// isAmbiguousHost reports whether a host contains a byte that may follow a host
// in a key.
func isAmbiguousHost(host string) bool { return strings.ContainsAny(host, "/?# \t\r\n") }
