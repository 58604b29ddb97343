package audit

import (
	"bytes"
	"cmp"
	"errors"
	"strconv"
	"strings"
)

// Here is a line of Caddy's log, broken into several:
//
//	{"level":"info","ts":1795168800.123,"logger":"http.log.access",
//	 "msg":"handled request",
//	 "request":{"remote_ip":"192.0.2.1","client_ip":"192.0.2.1",
//	            "method":"GET","host":"example.com","uri":"/a",
//	            "headers":{"User-Agent":["ExampleBot/1.0"]}},
//	 "duration":0.005,"status":200,"resp_headers":{"Retry-After":["120"]}}
//
// If Caddy trusts the proxies in front of it, client_ip is the client that they
// name. Otherwise client_ip is the proxy, and the client is in the header
// X-Forwarded-For.

var errCaddy = errors.New("the object has no request with a time (ts), host and uri")

// isCaddy reports whether a line of JSON is from Caddy.
func isCaddy(line []byte) bool {
	return line[0] == '{' && bytes.Contains(line, []byte(`"ts":`)) && (bytes.Contains(line, []byte(`"request":{`)) || bytes.Contains(line, []byte(`"level":`)))
}

// caddy reads a line that is valid JSON.
func (p *parser) caddy(line []byte) (entry, error) {
	logger := text(member(line, "logger"))
	isMessage := logger == "" && len(member(line, "request")) == 0 && len(member(line, "msg")) > 0
	if isMessage || logger != "" && !strings.HasPrefix(logger, "http.log.access") {
		at, _ := moment(member(line, "ts"))
		return entry{at: at}, nil // a message of Caddy itself, or about a failed request
	}
	end, exact := moment(member(line, "ts"))
	f := fields{begin: never, end: end, rounded: 1e9}
	f.host, f.url = text(member(line, "host")), text(member(line, "uri"))
	if end == never || f.host == "" || f.url == "" {
		return entry{}, errCaddy
	}
	f.agent = []byte(text(member(line, "User-Agent")))
	f.peer = cmp.Or(text(member(line, "remote_ip")), text(member(line, "remote_addr")))
	if client := text(member(line, "client_ip")); client != "" && client != f.peer {
		f.peer, f.isClientKnown = client, true
	} else {
		f.forwardedFor = text(member(line, "X-Forwarded-For"))
	}
	f.method = text(member(line, "method"))
	f.status, _ = strconv.Atoi(string(member(line, "status")))
	if exact {
		f.rounded = 1e3 // 1 µs, because ts may be a float
		if took, ok := lasted(member(line, "duration")); ok {
			f.begin = end - took
		}
	}
	_, answer, _ := bytes.Cut(line, []byte(`"resp_headers":`))
	f.retryAfter, f.date = text(member(answer, "Retry-After")), text(member(answer, "Date"))
	return p.entry(&f, nil)
}
