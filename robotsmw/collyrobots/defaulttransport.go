package collyrobots

import "net/http"

// defaultTransport is http.DefaultTransport at the time of each request, as
// http.Client has it. Tests and instrumentation may replace that later.
type defaultTransport struct{}

func (defaultTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	return http.DefaultTransport.RoundTrip(req)
}
