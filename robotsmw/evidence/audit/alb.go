package audit

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

// This is a line of an AWS Application Load Balancer, with line breaks added. A
// Classic Load Balancer has the same fields without the first one, and ends
// after those of TLS.
//
//	https 2026-11-20T10:00:00.123456Z app/lb/50dc6c495c0c9188
//	192.0.2.1:2817 10.0.0.1:80 0.000 0.005 0.000 200 200 34 366
//	"GET https://example.com:443/a HTTP/1.1" "ExampleBot/1.0"
//	ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:… "Root=1-…" "example.com"
//	"arn:aws:…" 0 2026-11-20T10:00:00.118000Z "forward" "-" "-" …

var errALB = errors.New("the line is not in the format of an AWS load balancer")

// beginsLikeALB reports whether a line begins like one of a load balancer.
func beginsLikeALB(line []byte) bool {
	stamp, rest := cutALBStamp(line)
	if !isStamp(stamp) {
		return false
	}
	_, rest = cutWord(rest)
	client, rest := cutWord(rest)
	target, _ := cutWord(rest)
	return isALBAddress(client) && isALBAddress(target)
}

// isALBAddress reports whether a word is an address with a port, or "-".
func isALBAddress(word []byte) bool {
	_, ok := parseAddress(word)
	return string(word) == "-" || ok && bytes.IndexByte(word, ':') > 0
}

// cutALBStamp returns the time of a line, and the part of the line after it.
// The type of the connection may precede the time, and is left out.
func cutALBStamp(line []byte) (stamp, rest []byte) {
	word, rest := cutWord(line)
	switch string(word) {
	case "http", "https", "h2", "grpcs", "ws", "wss":
		return cutWord(rest)
	}
	return word, rest
}

// alb reads a line of an AWS load balancer.
func (p *parser) alb(line []byte) (entry, error) {
	stamp, rest := cutALBStamp(line)
	f := fields{begin: never, rounded: 1e6}
	var exact bool
	if f.end, exact = parseTime(string(stamp)); f.end == never {
		return entry{}, errALB
	}
	if !exact {
		f.rounded = 1e9
	}
	var words [10][]byte // balancer, client, target, three durations, two statuses, two sizes
	for i := range words {
		words[i], rest = cutWord(rest)
	}
	request, rest, ok := quoted(rest)
	if !ok || len(rest) == 0 {
		return entry{}, errALB
	}
	agent, rest, ok := quoted(rest[1:])
	if !ok {
		return entry{}, errALB
	}
	f.agent = agent
	if string(words[1]) != "-" {
		f.peer = string(words[1])
	}
	if duration, ok := albDuration(words[3:6]); ok {
		f.begin = f.end - duration
	}
	if created := albCreation(rest); created != never && created <= f.end {
		f.begin = created
	}
	f.status, _ = strconv.Atoi(string(words[6]))
	f.method, f.url, ok = parseRequest(request)
	if !ok && p.agent(agent) != "" {
		return entry{}, errRequest
	}
	if scheme, host := splitOrigin(f.url); scheme != "" {
		f.host = host
	}
	return p.entry(&f, nil)
}

// albDuration returns the sum of the three durations of a request, in
// nanoseconds: until the balancer had sent the request to the target, until the
// target responded, and until the balancer had sent the response. ok is false
// if one of them is -1, which means that the balancer did not complete that
// step.
func albDuration(words [][]byte) (sum int64, ok bool) {
	for _, word := range words {
		duration, ok := parseDuration(word)
		if !ok {
			return 0, false
		}
		sum += duration
	}
	return sum, true
}

// albCreation returns the time at which the balancer had received the request,
// or "never" if the line does not contain it. rest is the part of the line
// after the User-Agent.
func albCreation(rest []byte) int64 {
	for word := range strings.FieldsSeq(string(rest)) {
		if isStamp([]byte(word)) {
			created, _ := parseTime(word)
			return created
		}
	}
	return never
}
