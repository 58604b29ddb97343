// Package httptime reads the times and waits in header fields, in the forms
// that servers really send: Date, Retry-After and X-RateLimit-Reset, and the
// dates of robots directives. It needs no clock and no net/http.
//
// It is the only reader of these forms in the module. It stands at the root
// because politeness, robotsmeta and evidence/audit need it, and none of them
// may import another.
package httptime
