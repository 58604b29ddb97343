package audit

import (
	"bytes"
	"errors"
	"net/url"
	"strconv"
	"strings"
)

// This is a log in the W3C extended format, as IIS writes it. A line "#Fields:"
// names the columns of the lines after it.
//
//	#Fields: date time cs-method cs-uri-stem cs-uri-query c-ip cs(User-Agent) sc-status time-taken
//	2026-11-20 10:00:00 GET /a - 192.0.2.1 ExampleBot/1.0+(a+crawler) 200 5
//
// CloudFront separates columns with tabs, escapes spaces as %20, and writes the
// time taken in seconds. IIS writes + for a space, and milliseconds. Dates are
// in UTC. They are the times at which requests ended.

var (
	errW3C     = errors.New("the line does not have the columns of the #Fields line")
	errColumns = errors.New("no #Fields line precedes the line")
)

// parseColumns reads the names of columns that follow "#Fields:".
func parseColumns(names []byte) *columns {
	list := strings.Fields(strings.ToLower(string(names)))
	at := func(names ...string) int {
		for _, name := range names {
			for i, column := range list {
				if column == name {
					return i
				}
			}
		}
		return -1
	}
	return &columns{
		count:        len(list),
		date:         at("date"),
		time:         at("time"),
		timeTaken:    at("time-taken"),
		method:       at("cs-method"),
		stem:         at("cs-uri-stem"),
		query:        at("cs-uri-query"),
		uri:          at("cs-uri"),
		status:       at("sc-status"),
		host:         at("x-host-header", "cs(host)", "cs-host"),
		client:       at("c-ip"),
		forwarded:    at("x-forwarded-for", "cs(x-forwarded-for)"),
		agent:        at("cs(user-agent)"),
		retryAfter:   at("sc(retry-after)"),
		isCloudFront: at("x-edge-location") >= 0,
	}
}

// w3c reads a line of a log in the W3C extended format. A line that begins with
// "#" is a directive: w3c reads #Fields, ignores the others, and returns a zero
// entry.
func (p *parser) w3c(line []byte) (entry, error) {
	if line[0] == '#' {
		if names, ok := bytes.CutPrefix(line, []byte("#Fields:")); ok {
			p.columns = parseColumns(names)
		}
		return entry{}, nil
	}
	c := p.columns
	if c == nil {
		return entry{}, errColumns
	}
	var words [][]byte
	isTabbed := bytes.IndexByte(line, '\t') >= 0
	if isTabbed {
		words = bytes.Split(line, []byte("\t"))
	} else {
		words = bytes.Fields(line)
	}
	if len(words) != c.count {
		return entry{}, errW3C
	}
	r := w3cLine{words, isTabbed}
	f := fields{begin: never, end: never, rounded: 1e9, isAtEdge: c.isCloudFront}
	if f.end = r.end(c); f.end == never {
		return entry{}, errW3C
	}
	if duration, ok := r.duration(c); ok {
		f.begin = f.end - duration
	}
	f.agent = []byte(r.decoded(c.agent))
	f.method = r.word(c.method)
	f.url = r.url(c)
	if f.url == "" {
		return entry{}, errW3C
	}
	f.host = r.word(c.host)
	f.peer = r.word(c.client)
	f.forwardedFor = r.decoded(c.forwarded)
	f.status, _ = strconv.Atoi(r.word(c.status))
	f.retryAfter = r.decoded(c.retryAfter)
	return p.entry(&f, nil)
}

// A w3cLine contains the values of a line.
type w3cLine struct {
	words    [][]byte
	isTabbed bool
}

// word returns the value in a column, or "" if there is none.
func (r w3cLine) word(column int) string {
	if column < 0 || string(r.words[column]) == "-" {
		return ""
	}
	return string(r.words[column])
}

// decoded returns the value in a column as the client sent it. IIS replaces
// spaces with pluses. CloudFront, whose lines have tabs, escapes values, some
// of them twice.
func (r w3cLine) decoded(column int) string {
	s := r.word(column)
	if !r.isTabbed {
		return withSpaces(s)
	}
	for range 2 {
		if decoded, err := url.PathUnescape(s); err == nil {
			s = decoded
		}
	}
	return s
}

// withSpaces restores the spaces that IIS has replaced with pluses. A plus
// after a parenthesis or another plus is assumed to be part of the original
// text, as in "(+https://example.com/bot)".
func withSpaces(s string) string {
	if strings.IndexByte(s, '+') < 0 {
		return s
	}
	b := []byte(s)
	for i := range b {
		if b[i] == '+' && i > 0 && s[i-1] != '(' && b[i-1] != ' ' {
			b[i] = ' '
		}
	}
	return string(b)
}

// end returns the time at which the request ended, or "never" if the line does
// not contain it.
func (r w3cLine) end(c *columns) int64 {
	if c.date < 0 || c.time < 0 {
		return never
	}
	end, _ := parseTime(r.word(c.date) + "T" + r.word(c.time))
	return end
}

// duration returns how long the request took, in nanoseconds. ok is false if
// the line does not contain the duration.
func (r w3cLine) duration(c *columns) (nanos int64, ok bool) {
	value := r.word(c.timeTaken)
	nanos, ok = parseDuration([]byte(value))
	isMilliseconds := !r.isTabbed && !strings.Contains(value, ".")
	if isMilliseconds {
		nanos /= 1e3
	}
	return nanos, ok
}

// url returns the path and the query of the request.
func (r w3cLine) url(c *columns) string {
	stem := r.word(c.stem)
	if stem == "" {
		return r.word(c.uri)
	}
	if query := r.word(c.query); query != "" {
		return stem + "?" + query
	}
	return stem
}
