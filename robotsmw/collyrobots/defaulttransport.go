package collyrobots

import "net/http"

// A defaultTransport sends each request through the current value of
// http.DefaultTransport, as an http.Client does. Tests and instrumentation may
// replace that variable at any time.
type defaultTransport struct{}

func (defaultTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	return http.DefaultTransport.RoundTrip(req)
}
