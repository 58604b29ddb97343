package audit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Here is a line of Caddy's log, broken into several:
//
//	{"level":"info","ts":1795168800.123,"logger":"http.log.access",
//	 "msg":"handled request",
//	 "request":{"client_ip":"192.0.2.1","method":"GET","host":"example.com",
//	            "uri":"/a","headers":{"User-Agent":["ExampleBot/1.0"]}},
//	 "duration":0.005,"status":200,"resp_headers":{"Retry-After":["120"]}}

// caddyPaths are the members of a line that an audit needs, and the objects
// that have them.
var caddyPaths = map[string]bool{
	"ts": true, "logger": true, "msg": true, "duration": true, "status": true,
	"request": true, "request.client_ip": true, "request.remote_ip": true, "request.host": true, "request.uri": true,
	"request.headers": true, "request.headers.User-Agent": true,
	"resp_headers": true, "resp_headers.Retry-After": true, "resp_headers.Date": true,
}

const space = " \t\r\n"

// members adds the values of a JSON object to a map, as they stand there, by
// their paths: prefix and key. It returns false if it is no object; the values
// are not checked.
func members(object []byte, prefix string, into map[string][]byte) bool {
	s := bytes.Trim(object, space)
	if len(s) < 2 || s[0] != '{' || s[len(s)-1] != '}' {
		return false
	}
	for s = bytes.TrimLeft(s[1:len(s)-1], space); len(s) > 0; {
		n := valueLength(s)
		key, rest := s[:n], bytes.TrimLeft(s[n:], space)
		if n == 0 || key[0] != '"' || len(rest) == 0 || rest[0] != ':' {
			return false
		}
		s = bytes.TrimLeft(rest[1:], space)
		if n = valueLength(s); n == 0 {
			return false
		}
		if path := prefix + string(key[1:len(key)-1]); caddyPaths[path] {
			if into[path] = s[:n]; s[0] == '{' && !members(s[:n], path+".", into) {
				return false
			}
		}
		if s = bytes.TrimLeft(s[n:], space); len(s) > 0 && s[0] != ',' {
			return false
		}
		s = bytes.TrimLeft(bytes.TrimPrefix(s, []byte(",")), space)
	}
	return true
}

// valueLength returns how many bytes the JSON value at the beginning of s has,
// or 0 if it does not end.
func valueLength(s []byte) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			_, rest, ok := quoted(s[i:])
			if !ok {
				return 0
			}
			if i = len(s) - len(rest) - 1; depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	if depth != 0 {
		return 0
	}
	return len(s)
}

// text returns a JSON string without its quotes and escapes. Of an array, such
// as a header field, it takes the first value. It returns "" for any other
// value.
func text(s []byte) string {
	if len(s) > 2 && s[0] == '[' {
		s = bytes.TrimLeft(s[1:len(s)-1], space)
		s = s[:valueLength(s)]
	}
	if len(s) < 2 || s[0] != '"' {
		return ""
	}
	if inner := s[1 : len(s)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	var out string
	if json.Unmarshal(s, &out) != nil {
		return ""
	}
	return out
}

var (
	errJSON  = errors.New("the line is no JSON object")
	errCaddy = errors.New("the object has no request with a time (ts), host and uri")
)

// otherJSON says whose the JSON of a line is that is not Caddy's.
func otherJSON(line []byte) error {
	whose := "JSON that is not Caddy's"
	var object map[string]json.RawMessage
	if json.Unmarshal(line, &object) != nil {
		return errJSON
	}
	for member, server := range map[string]string{
		"log": "docker's JSON", "RequestPath": "Traefik's JSON", "DownstreamStatus": "Traefik's JSON", "remote_addr": "nginx's JSON",
		"time_local": "nginx's JSON", "time_iso8601": "nginx's JSON", "http_user_agent": "nginx's JSON",
	} {
		if object[member] != nil {
			whose = server
		}
	}
	return fmt.Errorf("%s is not read: log in the combined format", whose)
}

// line reads a line of either format. isRequest is false for a line that is
// about no request. e is nil unless the request is a robot's.
func (p *parser) line(line []byte) (e *event, isRequest bool, err error) {
	if line[0] == '{' {
		return p.caddy(line)
	}
	e, err = p.combined(line)
	return e, err == nil, err
}

func (p *parser) caddy(line []byte) (e *event, isRequest bool, err error) {
	c := make(map[string][]byte)
	if !members(line, "", c) || c["ts"] == nil {
		return nil, false, otherJSON(line)
	}
	if logger := text(c["logger"]); logger != "" && !strings.HasPrefix(logger, "http.log.access") || c["request"] == nil && logger == "" && c["msg"] != nil {
		return nil, false, nil // a message of Caddy itself, or about a failed request
	}
	end, exact := moment(c["ts"])
	host, url := text(c["request.host"]), text(c["request.uri"])
	if end == never || host == "" || url == "" {
		return nil, false, errCaddy
	}
	p.nanos, p.stamp = end, ""
	robot := p.agent([]byte(text(c["request.headers.User-Agent"])))
	if robot == "" {
		return nil, true, nil
	}
	e = &event{at: end, end: end, rounded: 1e9, doubt: longestAnswer, robot: robot, url: url}
	e.address = clip(cmp.Or(text(c["request.client_ip"]), text(c["request.remote_ip"])))
	_, e.host = originOf(host)
	e.status, _ = strconv.Atoi(string(c["status"]))
	if exact {
		e.rounded = 1e3 // 1 µs, because ts may be a float
		if took, ok := lasted(c["duration"]); ok {
			e.at, e.doubt = end-took, underWay
		}
	}
	if wait := text(c["resp_headers.Retry-After"]); wait != "" {
		e.wait = int64(retryAfter(wait, text(c["resp_headers.Date"]), asTime(end)))
	}
	return e, true, nil
}

// when returns the time of a line, if it has one.
func (p *parser) when(line []byte) (at int64, ok bool) {
	if len(line) == 0 || line[0] != '{' {
		_, at, _, ok = p.dated(line)
		return at, ok
	}
	_, value, ok := bytes.Cut(line, []byte(`"ts":`)) // a quote within a string has a backslash
	value = bytes.TrimLeft(value, space)
	at, _ = moment(value[:valueLength(value)])
	return at, ok && at != never
}

// moment reads the member "ts": a number of seconds, milliseconds or
// nanoseconds, or a date. exact is false if ts is a date without a fraction of
// a second.
func moment(ts []byte) (nanos int64, exact bool) {
	if s := text(ts); s != "" {
		for _, form := range []string{time.RFC3339Nano, "2006/01/02 15:04:05.000", "2006-01-02T15:04:05.000Z0700", "2006/01/02 15:04:05", time.RFC1123Z, time.RFC1123} {
			if t, err := time.Parse(form, s); err == nil && t.Year() > 1970 && t.Year() < 2262 {
				return t.UnixNano(), strings.ContainsAny(s, ".")
			}
		}
		return never, false
	}
	f, err := strconv.ParseFloat(string(ts), 64)
	switch {
	case err != nil || f <= 0 || f > 9.2e18:
		return never, false
	case f < 9e9: // seconds
		f *= 1e9
	case f < 9e12: // milliseconds
		f *= 1e6
	}
	return int64(math.Round(f/100)) * 100, true // a float64 of seconds is precise to about 100 ns
}

// lasted reads the member "duration": a number of seconds, or a text such as
// "1.5ms".
func lasted(duration []byte) (nanos int64, ok bool) {
	if s := text(duration); s != "" {
		d, err := time.ParseDuration(s)
		return int64(d), err == nil && d >= 0
	}
	f, err := strconv.ParseFloat(string(duration), 64)
	if err != nil || f < 0 || f > 1e8 {
		return 0, false
	}
	return int64(math.Round(f * 1e9)), true
}

// retryAfter returns the wait that a Retry-After with this value asks for. If
// the value cannot be read, the result is 0. If the value is a date, the wait
// begins at the Date of the answer, which is date. If that Date cannot be read,
// the wait begins now.
func retryAfter(value, date string, now time.Time) time.Duration {
	value = strings.Trim(value, " \t\"")
	if n, err := strconv.ParseUint(value, 10, 64); err == nil {
		return time.Duration(min(n, 1e9)) * time.Second
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if t, err := http.ParseTime(date); err == nil {
		now = t
	}
	return max(until.Sub(now), 0)
}
