// Package weburl checks the URLs that users of the commands specify.
package weburl

import "net/url"

// IsAbsolute reports whether u is an absolute http or https URL.
func IsAbsolute(u *url.URL) bool {
	isHTTP := u.Scheme == "http" || u.Scheme == "https"
	return isHTTP && u.Host != ""
}
