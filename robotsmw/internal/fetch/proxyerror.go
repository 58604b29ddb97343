package fetch

import (
	"fmt"
	"net/http"

	"github.com/goodbots/courtesy/politeness/structured"
)

// proxyError describes the error of a proxy that has responded instead of the
// site. It returns "" if the site itself seems to have responded. The error of
// a proxy indicates nothing about the site's rules, so the file is unreachable
// (RFC 9309 §2.3.1.4), although the status is 4xx.
//
// A forward proxy responds in this way only to requests for http URLs. For an
// https URL, net/http returns the status of a failed CONNECT as an error.
func proxyError(resp *http.Response) string {
	if resp.StatusCode == http.StatusProxyAuthRequired { // RFC 9110 §15.5.8
		return "a proxy requires authentication (status 407): set the user and password in the proxy's URL"
	}
	if resp.StatusCode < 400 || resp.StatusCode > 499 {
		return ""
	}
	const maxField = 4 << 10
	proxies, _ := structured.List(resp.Header.Values("Proxy-Status"), maxField)
	for _, proxy := range proxies {
		// A proxy sets this parameter if it could not get a response from the
		// next server (RFC 9209 §2.1.1), or if it has responded without a
		// request to that server. A CDN does the latter for a file that the
		// site does not have.
		cause, ok := proxy.Param("error")
		isNotFound := resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone
		isMissing := cause == "proxy_internal_response" && isNotFound
		if ok && !isMissing {
			return fmt.Sprintf("the proxy %s reports an error: %s (status %d, Proxy-Status)",
				proxy.Value, cause, resp.StatusCode)
		}
	}
	if squid := resp.Header.Get("X-Squid-Error"); squid != "" {
		return fmt.Sprintf("the proxy Squid reports an error: %s (status %d, X-Squid-Error)",
			squid, resp.StatusCode)
	}
	return ""
}
