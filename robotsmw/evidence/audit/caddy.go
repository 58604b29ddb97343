package audit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goodbots/courtesy/internal/httptime"
)

// Here is a line of Caddy's log, broken into several:
//
//	{"level":"info","ts":1795168800.123,"logger":"http.log.access",
//	 "msg":"handled request",
//	 "request":{"client_ip":"192.0.2.1","method":"GET","host":"example.com",
//	            "uri":"/a","headers":{"User-Agent":["ExampleBot/1.0"]}},
//	 "duration":0.005,"status":200,"resp_headers":{"Retry-After":["120"]}}

// member returns the first value with this name in a line of JSON, as it stands
// there. Of an array, such as a header field, it returns the first value, and
// of an object some bytes that say that there is one. The result is empty if
// nothing has that name. No text looks like a member, because a quote within a
// text has a backslash, and no header field has the name of another member,
// because the names of header fields begin with a capital.
func member(line []byte, name string) []byte {
	_, value, _ := bytes.Cut(line, []byte(`"`+name+`":`))
	value = bytes.TrimLeft(value, " [")
	if _, rest, ok := quoted(value); ok {
		return value[:len(value)-len(rest)]
	}
	return value[:max(bytes.IndexAny(value, ",}] "), 0)]
}

// text returns a JSON string without its quotes and escapes. It returns "" for
// any other value.
func text(value []byte) (s string) {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	if plain := value[1 : len(value)-1]; bytes.IndexByte(plain, '\\') < 0 && utf8.Valid(plain) {
		return string(plain)
	}
	json.Unmarshal(value, &s)
	return s
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
	ts, logger := member(line, "ts"), text(member(line, "logger"))
	if len(ts) == 0 || !json.Valid(line) {
		return nil, false, otherJSON(line)
	}
	if logger != "" && !strings.HasPrefix(logger, "http.log.access") || logger == "" && len(member(line, "request")) == 0 && len(member(line, "msg")) > 0 {
		return nil, false, nil // a message of Caddy itself, or about a failed request
	}
	end, exact := moment(ts)
	host, url := text(member(line, "host")), text(member(line, "uri"))
	if end == never || host == "" || url == "" {
		return nil, false, errCaddy
	}
	p.nanos, p.stamp = end, ""
	robot := p.agent([]byte(text(member(line, "User-Agent"))))
	if robot == "" {
		return nil, true, nil
	}
	e = &event{at: end, end: end, rounded: 1e9, doubt: longestAnswer, robot: robot, url: url}
	e.address = clip(cmp.Or(text(member(line, "client_ip")), text(member(line, "remote_ip"))))
	_, e.host = originOf(host)
	e.notGet = cmp.Or(text(member(line, "method")), "GET") != "GET"
	e.status, _ = strconv.Atoi(string(member(line, "status")))
	if exact {
		e.rounded = 1e3 // 1 µs, because ts may be a float
		if took, ok := lasted(member(line, "duration")); ok {
			e.at, e.doubt = end-took, underWay
		}
	}
	_, answer, _ := bytes.Cut(line, []byte(`"resp_headers":`))
	if wait := text(member(answer, "Retry-After")); wait != "" {
		e.wait = int64(retryAfter(wait, text(member(answer, "Date")), asTime(end)))
	}
	return e, true, nil
}

// when returns the time of a line, if it has one.
func (p *parser) when(line []byte) (at int64, ok bool) {
	if len(line) == 0 || line[0] != '{' {
		_, at, _, ok = p.dated(line)
		return at, ok
	}
	at, _ = moment(member(line, "ts"))
	return at, at != never
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

// retryAfter returns the wait that a Retry-After with this value requests,
// counted from now, or 0. date is the Date of the same response. The result is
// at most 30 years, so that it can be added to any time.
func retryAfter(value, date string, now time.Time) time.Duration {
	return min(httptime.RetryAfter([]string{value}, date, now), 1e9*time.Second)
}
