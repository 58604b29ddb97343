package httputil

import "net/http"

// CloseIdleConnections calls the method CloseIdleConnections of rt, if there is
// one.
func CloseIdleConnections(rt http.RoundTripper) {
	if c, ok := rt.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// Validate returns the error of rt's method Validate() error, or nil if rt has
// no such method.
func Validate(rt http.RoundTripper) error {
	if v, ok := rt.(interface{ Validate() error }); ok {
		return v.Validate()
	}
	return nil
}
