package audit

import (
	"bytes"
	"errors"
	"strconv"
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
// Then the value of X-Forwarded-For may follow, as in the format "main" of
// nginx's default configuration, and nginx's $msec and $request_time, such
// as "1795168800.123 0.005", in any order, and then any text. In Apache's
// format vhost_combined, the host and its port are before the client; see
// identify.

var (
	errLine    = errors.New("the line is not in the combined format")
	errCommon  = errors.New("the line has no User-Agent: configure the server to log in the combined format")
	errRequest = errors.New(`the request line is not of the form "GET /a HTTP/1.1"`)
)

// cutDate splits a line of the combined format at its date. names is the part
// before the date, at is the time in nanoseconds, and rest is the part after
// the date, which begins with a quote. A user's name in names may contain
// brackets, but no quote. Therefore the first bracket that is followed by a
// space and a quote is the end of the date.
func (p *parser) cutDate(line []byte) (names []byte, at int64, rest []byte, ok bool) {
	const dateLength = len("[20/Nov/2026:10:00:00 +0000")
	i := bytes.Index(line, []byte(`] "`))
	if i <= dateLength || line[i-dateLength] != '[' || line[i-dateLength-1] != ' ' {
		return nil, 0, nil, false
	}
	at, ok = p.date(line[i-dateLength+1 : i])
	return line[:i-dateLength-1], at, line[i+2:], ok
}

// A combinedLine contains the parts of a line, with their escapes.
type combinedLine struct {
	names   []byte // the part before the date
	end     int64
	request []byte
	status  int
	agent   []byte
	rest    []byte // the part after the User-Agent
}

// splitCombined splits a line at its date and its quotes.
func (p *parser) splitCombined(line []byte) (l combinedLine, err error) {
	var ok bool
	var rest []byte
	if l.names, l.end, rest, ok = p.cutDate(line); !ok {
		return l, errLine
	}
	if l.request, rest, ok = quoted(rest); !ok {
		return l, errLine
	}
	if l.status, rest, ok = cutStatus(rest); !ok {
		return l, errLine
	}
	if len(bytes.TrimRight(rest, " ")) == 0 {
		return l, errCommon
	}
	if _, rest, ok = quoted(rest[1:]); !ok || len(rest) == 0 || rest[0] != ' ' {
		return l, errLine
	}
	if l.agent, l.rest, ok = quoted(rest[1:]); !ok {
		return l, errLine
	}
	return l, nil
}

// cutStatus reads the status and the size at the beginning of a text such as "
// 200 512". The size is "-" if the response had no body.
func cutStatus(s []byte) (status int, rest []byte, ok bool) {
	if len(s) < 6 || s[0] != ' ' || s[4] != ' ' {
		return 0, nil, false
	}
	n, err := strconv.ParseUint(string(s[1:4]), 10, 16)
	size := s[5:]
	if i := bytes.IndexByte(size, ' '); i >= 0 {
		size = size[:i]
	}
	isSize := isDigits(size) || string(size) == "-"
	return int(n), s[5+len(size):], err == nil && isSize
}

// combined reads a line in the combined format.
func (p *parser) combined(line []byte) (entry, error) {
	l, err := p.splitCombined(line)
	if err != nil {
		return entry{}, err
	}
	out := entry{
		isRequest: true,
		hasAgent:  hasAgent(l.agent),
		at:        l.end,
		robot:     p.agent(l.agent),
	}
	if out.robot == "" && !p.surveys {
		return out, nil
	}
	out.identity = p.identify(l.names)
	e := p.pool.get()
	e.at = l.end
	e.end = l.end
	e.rounded = 1e9
	e.doubt = maxDuration
	e.robot = out.robot
	e.status = l.status
	if client := e.readRest(l.rest); client != "" {
		out.client = client
	}
	if out.robot == "" {
		return out, nil
	}
	method, url, ok := parseRequest(l.request)
	if !ok {
		return entry{}, errRequest
	}
	e.url = url
	e.notGet = method != "GET"
	e.host = out.host
	e.address = out.client
	e.isAnonymous = out.client == ""
	out.event = e
	return out, nil
}

// readRest reads the part of a line after the User-Agent. It returns the client
// in the first X-Forwarded-For, or "" if there is none.
func (e *event) readRest(rest []byte) (client string) {
	client, rest = cutForwarded(rest)
	rest = e.cutTimes(rest)
	if client == "" {
		client, _ = cutForwarded(rest)
	}
	return client
}

// cutForwarded reads the quoted texts at the beginning of a line's rest. It
// returns the client in the first X-Forwarded-For among them, and what follows
// the texts.
func cutForwarded(s []byte) (client string, rest []byte) {
	for len(s) > 1 && s[0] == ' ' && s[1] == '"' {
		text, after, ok := quoted(s[1:])
		if !ok {
			break
		}
		s = after
		if client == "" && len(text) > 1 {
			client = forwardedFor(string(text))
		}
	}
	return client, s
}

// cutTimes reads $msec and $request_time, if the line contains them, and
// returns what follows them. Many logs contain two durations there instead,
// such as $request_time and $upstream_response_time. If a duration is read as
// $msec, the result is a time in 1970. Because that is far from the line's
// date, cutTimes ignores it.
func (e *event) cutTimes(rest []byte) []byte {
	const maxOffset = int64(24 * time.Hour) // the date in the line may have a wrong time zone
	end, after, ok := cutSeconds(rest)
	if !ok {
		return rest
	}
	duration, after, ok := cutSeconds(after)
	if !ok {
		return rest
	}
	if end >= e.end-maxOffset && end <= e.end+maxOffset {
		e.at = end - duration
		e.end = end
		e.rounded = 1e6
		e.doubt = maxTransit
	}
	return after
}

// cutSeconds reads a space and a time in seconds with three decimals, such as
// " 1795168800.123". It returns the time in nanoseconds.
func cutSeconds(s []byte) (n int64, rest []byte, ok bool) {
	if len(s) == 0 || s[0] != ' ' {
		return 0, nil, false
	}
	field, _, _ := bytes.Cut(s[1:], []byte(" "))
	seconds, fraction, _ := bytes.Cut(field, []byte("."))
	whole, err := strconv.ParseUint(string(seconds), 10, 33) // until the year 2242
	if err != nil || len(fraction) != 3 {
		return 0, nil, false
	}
	thousandths, err := strconv.ParseUint(string(fraction), 10, 16)
	if err != nil {
		return 0, nil, false
	}
	return int64(whole*1e3+thousandths) * 1e6, s[1+len(field):], true
}

// parseRequest returns the method and the URL of a request line. ok is false if
// the line has no method or no URL. A line of HTTP/0.9 has no version. In an
// invalid line, the URL may contain spaces.
func parseRequest(line []byte) (method, url string, ok bool) {
	first, rest, ok := bytes.Cut(line, []byte(" "))
	method = string(first)
	if !ok || method == "" || leadingToken(method) != method {
		return "", "", false
	}
	rest = withoutVersion(rest)
	return method, unescaped(rest), len(rest) > 0
}

// withoutVersion removes everything after the URL in a request line, that is,
// from the last " HTTP/" on. This is usually the last word, which is found
// faster.
func withoutVersion(s []byte) []byte {
	version := []byte(" HTTP/")
	i := bytes.LastIndexByte(s, ' ')
	if i < 0 {
		return s
	}
	if !bytes.HasPrefix(s[i:], version) {
		i = bytes.LastIndex(s, version)
	}
	if i < 0 {
		return s
	}
	return s[:i]
}

// date reads "20/Nov/2026:10:00:00 +0000". The result for the latest minute is
// cached, because consecutive lines often have the same minute.
func (p *parser) date(s []byte) (int64, bool) {
	if !p.isSameMinute(s) {
		t, err := time.Parse("02/Jan/2006:15:04:05 -0700", string(s))
		if err != nil || s[2] != '/' {
			return 0, false
		}
		if t.Year() < 1971 || t.Year() > 2261 { // UnixNano covers 1678 to 2262
			return 0, false
		}
		p.stamp = string(s)
		p.minute = t.Truncate(time.Minute).UnixNano()
	}
	tens := int64(s[secondIndex] - '0')
	ones := int64(s[secondIndex+1] - '0')
	return p.minute + (10*tens+ones)*1e9, true
}

// secondIndex is the index of the seconds in a date.
const secondIndex = len("20/Nov/2026:10:00:")

// isSameMinute reports whether a date and p.stamp are equal, or differ only in
// their seconds.
func (p *parser) isSameMinute(s []byte) bool {
	if len(s) != len(p.stamp) {
		return false
	}
	const end = secondIndex + len("00")
	seconds := s[secondIndex:end]
	isSame := string(s[:secondIndex]) == p.stamp[:secondIndex] && string(s[end:]) == p.stamp[end:]
	return isSame && isDigits(seconds) && seconds[0] <= '5'
}
