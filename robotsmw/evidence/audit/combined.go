package audit

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"time"
)

// A log line of nginx or Apache begins like this:
//
//	192.0.2.1 - - [20/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 512
//
// The same line continues with the referrer and the User-Agent:
//
//	"-" "ExampleBot/1.0"
//
// Then nginx's $msec and $request_time may follow, such as
// "1795168800.123 0.005", and then any text. A line in Apache's format
// vhost_combined begins with the host and its port.

var (
	errLine    = errors.New("neither a line of a combined log nor one of Caddy's")
	errCommon  = errors.New("the line has no User-Agent: log in the combined format")
	errRequest = errors.New(`a robot's request is not one such as "GET /a HTTP/1.1"`)
)

// A parser reads lines of a log. All its fields are caches.
type parser struct {
	agents map[string]string // names of robots by User-Agent
	stamp  string            // the date of the previous line
	nanos  int64
}

const (
	cachedNames = 1 << 12
	cachedSize  = 1 << 10 // in bytes; longer keys are not cached
)

// dated splits a line of the combined format at its date, as in
// `names [date] "request…`. The user's name before the date may hold anything
// but a quote, so what looks like a date counts only if a quote follows it.
func (p *parser) dated(line []byte) (names []byte, at int64, rest []byte, ok bool) {
	const date = len("[20/Nov/2026:10:00:00 +0000")
	i := bytes.Index(line, []byte(`] "`))
	if i <= date || line[i-date] != '[' || line[i-date-1] != ' ' {
		return nil, 0, nil, false
	}
	at, ok = p.date(line[i-date+1 : i])
	return line[:i-date-1], at, line[i+2:], ok
}

func (p *parser) combined(line []byte) (*event, error) {
	names, end, rest, ok := p.dated(line)
	if !ok {
		return nil, errLine
	}
	request, rest, ok := quoted(rest)
	if !ok {
		return nil, errLine
	}
	// Here rest begins with " 200 512", or with " 200 -" if nothing was sent.
	if len(rest) < 6 || rest[0] != ' ' || rest[4] != ' ' {
		return nil, errLine
	}
	status, err := strconv.ParseUint(string(rest[1:4]), 10, 16)
	size, rest, more := bytes.Cut(rest[5:], []byte(" "))
	if err != nil || len(size) == 0 || len(bytes.TrimLeft(size, "0123456789")) > 0 && string(size) != "-" {
		return nil, errLine
	}
	if !more || len(bytes.TrimRight(rest, " ")) == 0 {
		return nil, errCommon
	}
	_, rest, ok = quoted(rest)
	if !ok || len(rest) == 0 || rest[0] != ' ' {
		return nil, errLine
	}
	agent, rest, ok := quoted(rest[1:])
	if !ok {
		return nil, errLine
	}
	robot := p.agent(agent)
	if robot == "" {
		return nil, nil
	}
	e := &event{at: end, end: end, rounded: 1e9, doubt: longestAnswer, robot: robot, status: int(status)}
	method, url, ok := requested(request)
	if !ok {
		return nil, errRequest
	}
	e.url, e.notGet = url, method != "GET"
	e.host, e.address = client(names)
	p.precise(rest, e)
	return e, nil
}

const (
	// longestAnswer is how long a request may have taken in a log without
	// durations: the time after which servers give up by default.
	longestAnswer = int64(60e9)
	// underWay is how long a request may have been under way to the server.
	underWay = int64(1e9)
)

// precise reads $msec and $request_time if they are there. Many logs have two
// durations there instead, such as $request_time and $upstream_response_time.
// If a duration is read as $msec, the result is a time in 1970. That is far
// from the line's date, so precise ignores it.
func (p *parser) precise(rest []byte, e *event) {
	const near = int64(24 * time.Hour) // the date in the line may have a wrong time zone
	end, rest, ok := millis(rest)
	took, _, ok2 := millis(rest)
	if ok && ok2 && end >= e.end-near && end <= e.end+near {
		e.end, e.at, e.rounded, e.doubt = end, end-took, 1e6, underWay
	}
}

// millis reads a time in seconds, such as " 1795168800.123". It returns the
// time in nanoseconds.
func millis(s []byte) (n int64, rest []byte, ok bool) {
	if len(s) == 0 || s[0] != ' ' {
		return 0, nil, false
	}
	field, _, _ := bytes.Cut(s[1:], []byte(" "))
	seconds, fraction, _ := bytes.Cut(field, []byte("."))
	whole, err := strconv.ParseUint(string(seconds), 10, 33) // until the year 2242
	part, err2 := strconv.ParseUint(string(fraction), 10, 16)
	return int64(whole*1e3+part) * 1e6, s[1+len(field):], len(fraction) == 3 && err == nil && err2 == nil
}

// quoted splits s after the quoted text at its beginning. A
// backslash in the text escapes the next character.
func quoted(s []byte) (text, rest []byte, ok bool) {
	if len(s) == 0 || s[0] != '"' {
		return nil, nil, false
	}
	for i := 1; ; {
		n := bytes.IndexByte(s[i:], '"')
		if n < 0 {
			return nil, nil, false
		}
		i += n
		slashes := 0
		for s[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return s[1:i], s[i+1:], true
		}
		i++
	}
}

// unescaped decodes the escapes that logs use for quotes, control characters
// and bytes above ASCII: \x22 (nginx, Apache), \" and \n (Apache). A text with
// other escapes stays as it is.
func unescaped(s []byte) string {
	if bytes.IndexByte(s, '\\') >= 0 {
		if text, err := strconv.Unquote(`"` + string(s) + `"`); err == nil {
			return text
		}
	}
	return string(s)
}

// requested returns the method and the URL of a request line. A line of
// HTTP/0.9 has no version. In an invalid line, the URL may contain spaces.
func requested(line []byte) (method, url string, ok bool) {
	first, rest, ok := bytes.Cut(line, []byte(" "))
	method = string(first)
	if !ok || method == "" || leadingToken(method) != method {
		return "", "", false
	}
	if i := bytes.LastIndex(rest, []byte(" HTTP/")); i >= 0 {
		rest = rest[:i]
	}
	return method, unescaped(rest), len(rest) > 0
}

// client returns the client's address, and the host that may stand before it.
func client(names []byte) (host, address string) {
	first, rest, _ := bytes.Cut(names, []byte(" "))
	second, rest, _ := bytes.Cut(rest, []byte(" "))
	if third, _, ok := bytes.Cut(rest, []byte(" ")); ok && string(third) == "-" && string(second) != "-" {
		_, host = originOf(string(first))
		first = second
	}
	return host, clip(string(first))
}

// agent returns the name of the robot with a User-Agent, and caches it. s is
// the text in the line, with its escapes.
func (p *parser) agent(s []byte) string {
	if token, ok := p.agents[string(s)]; ok {
		return token
	}
	token := robotOf(unescaped(s))
	if len(s) <= cachedSize {
		if p.agents == nil || len(p.agents) >= cachedNames {
			p.agents = make(map[string]string)
		}
		p.agents[string(s)] = strings.Clone(token)
	}
	return token
}

// date reads "20/Nov/2026:10:00:00 +0000". The date is often that of the line
// before.
func (p *parser) date(s []byte) (int64, bool) {
	if string(s) != p.stamp {
		t, err := time.Parse("02/Jan/2006:15:04:05 -0700", string(s))
		if err != nil || t.Year() < 1971 || t.Year() > 2261 || s[2] != '/' {
			return 0, false
		}
		p.stamp, p.nanos = string(s), t.UnixNano()
	}
	return p.nanos, true
}
