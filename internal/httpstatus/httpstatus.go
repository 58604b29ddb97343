// Package httpstatus classifies the statuses with which servers request that
// clients slow down, including statuses that are widely used but not
// registered.
package httpstatus

import "net/http"

const (
	shopifySecurityRejection = 430 // Shopify: too many requests, or requests that look malicious
	siteOverloaded           = 529 // several services, such as Qualys and Anthropic: the site is overloaded
)

// IsThrottled reports whether a status means that the client has sent too many
// requests: 429, or Shopify's 430.
func IsThrottled(status int) bool {
	return status == http.StatusTooManyRequests || status == shopifySecurityRejection
}

// IsOverloaded reports whether a status means that the server can handle no
// request now: 503, or 529.
func IsOverloaded(status int) bool {
	return status == http.StatusServiceUnavailable || status == siteOverloaded
}
