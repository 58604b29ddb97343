package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A line of a Caddy log is a JSON object. Here is one, broken into several
// lines:
//
//	{"level":"info","ts":1795168800.123,"logger":"http.log.access",
//	 "msg":"handled request",
//	 "request":{"method":"GET","host":"example.com","uri":"/a",
//	            "headers":{"User-Agent":["ExampleBot/1.0"]}},
//	 "duration":0.005,"status":200,"resp_headers":{"Retry-After":["120"]}}

var (
	errJSON  = errors.New("the line is no JSON object")
	errCaddy = errors.New("the object has no request with a time (ts), host and uri")
)

// A caddyLine has those members of a line that an audit needs. Their values are
// still JSON, so a string has its quotes. Missing members are nil.
type caddyLine struct {
	ts, duration, status, logger           []byte
	host, uri, agent, retryAfter, respDate []byte
	hasRequest                             bool
}

// caddy reads a line. isRequest is false if the line is not about a request.
// judged is false if the line is not about a request of a robot.
func (p *parser) caddy(line []byte, e *event) (isRequest, judged bool, err error) {
	var c caddyLine
	if !c.scan(line) {
		return false, false, errJSON
	}
	return p.read(&c, e)
}

// The method "read" does what caddy() does, for a line that has been scanned.
func (p *parser) read(c *caddyLine, e *event) (isRequest, judged bool, err error) {
	// The same file may have other lines, which are skipped: messages of Caddy
	// itself, and lines about the errors of failed requests.
	if logger, ok := text(c.logger); ok && !strings.HasPrefix(logger, "http.log.access") || !c.hasRequest && !ok {
		return false, false, nil
	}
	end, exact := moment(c.ts)
	host, hasHost := text(c.host)
	url, hasURL := text(c.uri)
	if end == never || !hasHost || !hasURL {
		return false, false, errCaddy
	}
	*e = event{start: never, end: end, rounded: 1e9}
	if exact {
		e.rounded = 1e3 // 1 µs, because ts may be a float
		if took, ok := lasted(c.duration); ok {
			e.start = end - took
		}
	}
	agent, _ := text(c.agent)
	if e.robot = p.agent([]byte(agent)); e.robot == "" {
		return true, false, nil
	}
	e.host, e.url = p.host([]byte(host)), url
	if status, err := strconv.Atoi(string(c.status)); err == nil {
		e.status = status
	}
	if wait, ok := text(c.retryAfter); ok {
		date, _ := text(c.respDate)
		e.wait = int64(retryAfter(wait, date, asTime(end)))
	}
	return true, true, nil
}

func text(s []byte) (string, bool) {
	if len(s) < 2 || s[0] != '"' {
		return "", false
	}
	inner := s[1 : len(s)-1]
	for _, b := range inner {
		if b == '\\' || b >= 0x80 {
			var out string
			err := json.Unmarshal(s, &out)
			return out, err == nil
		}
	}
	return string(inner), true
}

// moment reads the member "ts": a number of seconds, milliseconds or
// nanoseconds, or a date. exact is false if ts is a date without a fraction of
// a second.
func moment(ts []byte) (nanos int64, exact bool) {
	if s, ok := text(ts); ok {
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
	case f < 9e9:
		// This is a Unix time in seconds. For a time in this century, a float64
		// is precise to about 100 ns.
		return int64(math.Round(f*1e7)) * 100, true
	case f < 9e12:
		return int64(math.Round(f * 1e6)), true
	}
	return int64(f), true
}

// lasted reads the member "duration": a number of seconds, or a text such as
// "1.5ms".
func lasted(duration []byte) (nanos int64, ok bool) {
	if s, ok := text(duration); ok {
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
// begins at the Date of the answer, which is the second argument. If that Date
// cannot be read, the wait begins at the third argument.
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

// scan finds the members of a line. It returns false if the line is not a JSON
// object. If a line has a member twice, the last one counts, as in
// encoding/json.
func (c *caddyLine) scan(line []byte) bool {
	s := scanner{rest: line}
	ok := s.object(func(key []byte) bool {
		switch string(key) {
		case `"ts"`:
			return s.value(&c.ts)
		case `"duration"`:
			return s.value(&c.duration)
		case `"status"`:
			return s.value(&c.status)
		case `"logger"`:
			return s.value(&c.logger)
		case `"request"`:
			c.hasRequest, c.host, c.uri, c.agent = s.isNext('{'), nil, nil, nil
			return s.members(c.request)
		case `"resp_headers"`:
			c.retryAfter, c.respDate = nil, nil
			return s.members(func(s *scanner, key []byte) bool {
				switch string(key) {
				case `"Retry-After"`:
					return s.first(&c.retryAfter)
				case `"Date"`:
					return s.first(&c.respDate)
				}
				return s.value(nil)
			})
		}
		return s.value(nil)
	})
	s.space()
	return ok && len(s.rest) == 0
}

func (c *caddyLine) request(s *scanner, key []byte) bool {
	switch string(key) {
	case `"host"`:
		return s.value(&c.host)
	case `"uri"`:
		return s.value(&c.uri)
	case `"headers"`:
		c.agent = nil
		return s.members(func(s *scanner, key []byte) bool {
			if string(key) == `"User-Agent"` {
				return s.first(&c.agent)
			}
			return s.value(nil)
		})
	}
	return s.value(nil)
}

// A scanner reads the JSON in scanner.rest. To take something means to read it
// and to remove it from scanner.rest. A scanner returns parts of its input,
// without copying them.
type scanner struct {
	rest  []byte
	depth int
}

const deepest = 10_000 // limits the nesting of objects and arrays, as in encoding/json

func (s *scanner) space() {
	for len(s.rest) > 0 && (s.rest[0] == ' ' || s.rest[0] == '\t' || s.rest[0] == '\n' || s.rest[0] == '\r') {
		s.rest = s.rest[1:]
	}
}

func (s *scanner) isNext(b byte) bool {
	s.space()
	return len(s.rest) > 0 && s.rest[0] == b
}

func (s *scanner) take(b byte) bool {
	if !s.isNext(b) {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// object takes a JSON object. It calls member() with each key. Each time,
// member() must take the value of that key.
func (s *scanner) object(member func(key []byte) bool) bool {
	if !s.take('{') {
		return false
	}
	if s.depth++; s.depth > deepest {
		return false
	}
	defer func() { s.depth-- }()
	if s.take('}') {
		return true
	}
	for {
		var key []byte
		if !s.isNext('"') || !s.str(&key) || !s.take(':') {
			return false
		}
		if bytes.IndexByte(key, '\\') >= 0 { // the key may have escapes: "\u0074s" is "ts"
			if plain, ok := text(key); ok {
				key = strconv.AppendQuote(nil, plain)
			}
		}
		if !member(key) {
			return false
		}
		if !s.take(',') {
			return s.take('}')
		}
	}
}

// members does what object() does if the next value is an object. Otherwise it
// takes the value and keeps nothing of it.
func (s *scanner) members(member func(s *scanner, key []byte) bool) bool {
	if !s.isNext('{') {
		return s.value(nil)
	}
	return s.object(func(key []byte) bool { return member(s, key) })
}

// The method "first" takes an array, such as a header field, and keeps its
// first element. It also takes any other value, and keeps nothing of it.
func (s *scanner) first(into *[]byte) bool {
	*into = nil
	if !s.isNext('[') {
		return s.value(nil)
	}
	first := true
	return s.array(func() bool {
		if first {
			first = false
			return s.value(into)
		}
		return s.value(nil)
	})
}

func (s *scanner) array(element func() bool) bool {
	if !s.take('[') {
		return false
	}
	if s.depth++; s.depth > deepest {
		return false
	}
	defer func() { s.depth-- }()
	if s.take(']') {
		return true
	}
	for {
		if !element() {
			return false
		}
		if !s.take(',') {
			return s.take(']')
		}
	}
}

// value takes any JSON value. If the argument is not nil, it gets the bytes of
// that value.
func (s *scanner) value(into *[]byte) bool {
	s.space()
	if len(s.rest) == 0 {
		return false
	}
	before := s.rest
	ok := false
	switch s.rest[0] {
	case '{':
		ok = s.object(func([]byte) bool { return s.value(nil) })
	case '[':
		ok = s.array(func() bool { return s.value(nil) })
	case '"':
		ok = s.str(nil)
	case 't':
		ok = s.word("true")
	case 'f':
		ok = s.word("false")
	case 'n':
		ok = s.word("null")
	default:
		ok = s.number()
	}
	if into != nil {
		*into = before[:len(before)-len(s.rest)]
	}
	return ok
}

func (s *scanner) word(w string) bool {
	if !bytes.HasPrefix(s.rest, []byte(w)) {
		return false
	}
	s.rest = s.rest[len(w):]
	return true
}

// str takes a JSON string. If the argument is not nil, it gets the string, with
// its quotes.
func (s *scanner) str(into *[]byte) bool {
	text := s.rest
	for i := 1; i < len(text); i++ {
		b := text[i]
		if b >= ' ' && b != '"' && b != '\\' {
			continue
		}
		switch b {
		case '"':
			if into != nil {
				*into = text[:i+1]
			}
			s.rest = text[i+1:]
			return true
		case '\\':
			n := escape(text[i:])
			if n == 0 {
				return false
			}
			i += n - 1
		default:
			return false
		}
	}
	return false
}

// escape returns the length of the escape at the beginning of s, or 0 if that
// escape is invalid.
func escape(s []byte) int {
	switch {
	case len(s) >= 2 && bytes.IndexByte([]byte(`"\/bfnrt`), s[1]) >= 0:
		return 2
	case len(s) >= 6 && s[1] == 'u':
		if _, err := strconv.ParseUint(string(s[2:6]), 16, 16); err == nil {
			return 6
		}
	}
	return 0
}

// number takes a number as JSON allows it: without a plus, without leading
// zeros, and with digits on both sides of the point. Of 012, it takes only the
// 0.
func (s *scanner) number() bool {
	i := 0
	digits := func() bool {
		from := i
		for i < len(s.rest) && '0' <= s.rest[i] && s.rest[i] <= '9' {
			i++
		}
		return i > from
	}
	has := func(set string) bool {
		if i < len(s.rest) && strings.IndexByte(set, s.rest[i]) >= 0 {
			i++
			return true
		}
		return false
	}
	has("-")
	if !has("0") && !digits() {
		return false
	}
	if has(".") && !digits() {
		return false
	}
	if has("eE") {
		has("+-")
		if !digits() {
			return false
		}
	}
	s.rest = s.rest[i:]
	return true
}
