package audit

import (
	"bytes"
	"cmp"
	"errors"
	"strconv"
)

// This is a line of Caddy's log, with line breaks added:
//
//	{"level":"info","ts":1795168800.123,"logger":"http.log.access",
//	 "msg":"handled request",
//	 "request":{"remote_ip":"192.0.2.1","client_ip":"192.0.2.1",
//	            "method":"GET","host":"example.com","uri":"/a",
//	            "headers":{"User-Agent":["ExampleBot/1.0"]}},
//	 "duration":0.005,"status":200,"resp_headers":{"Retry-After":["120"]}}
//
// If Caddy trusts the proxies in front of it, client_ip is the client according
// to them. Otherwise client_ip is the proxy, and the client is in the header
// X-Forwarded-For.

var errCaddy = errors.New("the object has no request with a time (ts), host and uri")

// isCaddy reports whether a line resembles one of Caddy's log.
func isCaddy(line []byte) bool {
	if line[0] != '{' || !bytes.Contains(line, []byte(`"ts":`)) {
		return false
	}
	// The level is found sooner, because Caddy writes it first.
	return bytes.Contains(line, []byte(`"level":`)) || bytes.Contains(line, []byte(`"request":{`))
}

// caddyTime returns the value of "ts", verbatim, without reading the whole
// line.
func caddyTime(line []byte) []byte {
	_, rest, _ := bytes.Cut(line, []byte(`"ts":`))
	return firstValue(rest)
}

// A caddyLine contains the values of a line's members, verbatim; see
// firstValue. nil means that the line has no such member.
type caddyLine struct {
	logger, message, request []byte
	ts, duration             []byte
	remoteIP, remoteAddr     []byte
	clientIP, forwardedFor   []byte
	method, host, uri        []byte
	userAgent                []byte
	status                   []byte
	responseHeader           []byte
	retryAfter, date         []byte // of the response
}

// split finds the members of a line. If several members have the same name, the
// first one is used. No header field has the name of another member, because
// the names of header fields begin with a capital. split returns false if the
// line is not valid JSON.
func (l *caddyLine) split(line []byte) bool {
	return everyMember(line, func(name, rest []byte) {
		value := l.member(name)
		if value != nil && *value == nil {
			*value = firstValue(rest)
		}
	})
}

// member returns the field for the value of a member, or nil if the member is
// not used.
func (l *caddyLine) member(name []byte) *[]byte {
	switch string(name) {
	case "logger":
		return &l.logger
	case "msg":
		return &l.message
	case "request":
		return &l.request
	case "ts":
		return &l.ts
	case "duration":
		return &l.duration
	case "remote_ip":
		return &l.remoteIP
	case "remote_addr":
		return &l.remoteAddr
	case "client_ip":
		return &l.clientIP
	case "X-Forwarded-For":
		return &l.forwardedFor
	case "method":
		return &l.method
	case "host":
		return &l.host
	case "uri":
		return &l.uri
	case "User-Agent":
		return &l.userAgent
	case "status":
		return &l.status
	case "resp_headers":
		return &l.responseHeader
	}
	if l.responseHeader == nil {
		return nil
	}
	switch string(name) {
	case "Retry-After":
		return &l.retryAfter
	case "Date":
		return &l.date
	}
	return nil
}

// caddy reads a line of Caddy's log.
func (p *parser) caddy(line []byte) (entry, error) {
	var l caddyLine
	if !l.split(line) {
		return entry{}, errJSON
	}
	logger := unquoted(l.logger)
	isMessage := len(logger) == 0 && len(l.request) == 0 && len(l.message) > 0
	isOtherLogger := len(logger) > 0 && !bytes.HasPrefix(logger, []byte("http.log.access"))
	if isMessage || isOtherLogger {
		at, _ := moment(l.ts)
		return entry{at: at}, nil // a message of Caddy itself, or about a failed request
	}
	end, exact := moment(l.ts)
	f := fields{begin: never, end: end, rounded: 1e9}
	f.host, f.url = text(l.host), text(l.uri)
	if end == never || f.host == "" || f.url == "" {
		return entry{}, errCaddy
	}
	f.agent = unquoted(l.userAgent)
	f.peer = cmp.Or(text(l.remoteIP), text(l.remoteAddr))
	if client := text(l.clientIP); client != "" && client != f.peer {
		f.peer, f.isClientKnown = client, true
	} else {
		f.forwardedFor = text(l.forwardedFor)
	}
	f.method = text(l.method)
	f.status, _ = strconv.Atoi(string(l.status))
	if exact {
		f.rounded = 1e3 // 1 µs, because ts may be a float
		if duration, ok := parseDuration(l.duration); ok {
			f.begin = end - duration
		}
	}
	f.retryAfter, f.date = text(l.retryAfter), text(l.date)
	return p.entry(&f, nil)
}
