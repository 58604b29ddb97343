package audit

import (
	"bytes"
	"errors"
	"net/url"
	"strconv"
	"strings"
)

// Here is a log in the W3C extended format, as IIS writes it. A line "#Fields:"
// names the columns of those after it.
//
//	#Fields: date time cs-method cs-uri-stem cs-uri-query c-ip cs(User-Agent) sc-status time-taken
//	2026-11-20 10:00:00 GET /a - 192.0.2.1 ExampleBot/1.0+(a+crawler) 200 5
//
// CloudFront has tabs between columns, escapes spaces as %20, and counts the
// time taken in seconds; IIS writes + for a space, and counts milliseconds.
// Dates are in UTC, and are those of the end of a request.

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
		count: len(list), date: at("date"), time: at("time"), took: at("time-taken"),
		method: at("cs-method"), stem: at("cs-uri-stem"), query: at("cs-uri-query"), uri: at("cs-uri"), status: at("sc-status"),
		host:   at("x-host-header", "cs(host)", "cs-host"),
		client: at("c-ip"), forwarded: at("x-forwarded-for", "cs(x-forwarded-for)"), agent: at("cs(user-agent)"), retryAfter: at("sc(retry-after)"),
		isCloudFront: at("x-edge-location") >= 0,
	}
}

// w3c reads a line of a log in the W3C extended format. A line that begins with
// "#" is about no request.
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
	if took := r.took(c); took >= 0 {
		f.begin = f.end - took
	}
	f.agent = []byte(r.decoded(c.agent))
	f.method, f.url = r.word(c.method), r.url(c)
	if f.url == "" {
		return entry{}, errW3C
	}
	f.host = r.word(c.host)
	f.peer, f.forwardedFor = r.word(c.client), r.decoded(c.forwarded)
	f.status, _ = strconv.Atoi(r.word(c.status))
	f.retryAfter = r.decoded(c.retryAfter)
	return p.entry(&f, nil)
}

// A w3cLine has the values of a line.
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

// decoded returns a value with its spaces. CloudFront escapes some values
// twice.
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

// withSpaces replaces the pluses for which IIS found spaces. A plus after a
// parenthesis or another plus was one, as in "(+https://example.com/bot)".
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

// end returns the time at which the request ended.
func (r w3cLine) end(c *columns) int64 {
	if c.date < 0 || c.time < 0 {
		return never
	}
	end, _ := parseTime(r.word(c.date) + "T" + r.word(c.time))
	return end
}

// took returns how long the request took, or a negative number.
func (r w3cLine) took(c *columns) int64 {
	took := r.word(c.took)
	nanos, ok := lasted([]byte(took))
	if !ok {
		return -1
	}
	if !r.isTabbed && !strings.Contains(took, ".") {
		nanos /= 1e3 // milliseconds
	}
	return nanos
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
