// Package httptime parses times and delays in the forms that servers really
// send: in the header fields Date, Retry-After and X-RateLimit-Reset, and in
// the dates of robots directives. It does not read the system clock.
//
// No other package of the module parses these forms. The package is in the
// internal directory at the root of the module, because politeness, robotsmeta
// and evidence/audit use it, and none of these packages may import another.
package httptime
