package audit

import (
	"cmp"
	"io"
	"math"
	"strings"
	"time"
)

// An Input is an access log or a WARC file. Read recognizes a WARC file by its
// first bytes. The formats of logs are those of [Formats]. Logs and WARC files
// may be compressed with gzip.
//
// A log is read twice. Therefore, Read copies a log into a temporary file if
// Reader does not implement io.ReaderAt and io.Seeker, as an [os.File] does, or
// if the log is compressed and not in the order of time.
type Input struct {
	Name   string
	Reader io.Reader
}

// An event is a request of a robot. Times are nanoseconds of Unix time.
type event struct {
	at      int64 // when it began or, if that is not known, when it ended
	end     int64 // when it ended; "never" means not known
	doubt   int64 // how long before its time the robot may have sent it, in nanoseconds
	rounded int64 // how much its time may have been rounded down, in nanoseconds
	scheme  string
	host    string
	url     string
	robot   string // the name in the User-Agent
	address string // the client's
	status  int
	wait    int64    // the pause that a Retry-After requests, in nanoseconds; 0 means none
	capture *capture // the response to a request for robots.txt; nil means not known
	isFile  bool     // it is for robots.txt
	notGet  bool     // its method is not GET, so the response contains no robots.txt

	hasAgent    bool // in a WARC file: it has a User-Agent, or its crawler is known
	isAnonymous bool // the log does not identify the client
	isAtEdge    bool // no cache is between the client and the server that wrote the log
	isHop       bool // a redirect of robots.txt may have led to it
}

// An eventPool contains judged events, so that their memory can be used again.
// A nil pool is empty.
type eventPool struct{ judged []*event }

// get returns an event whose fields are zero.
func (p *eventPool) get() *event {
	if p == nil || len(p.judged) == 0 {
		return new(event)
	}
	last := len(p.judged) - 1
	e := p.judged[last]
	p.judged = p.judged[:last]
	return e
}

// put adds an event to the pool. There must be no other reference to it.
func (p *eventPool) put(e *event) {
	*e = event{}
	p.judged = append(p.judged, e)
}

// A capture is a response to a request for robots.txt.
type capture struct {
	status int
	body   []byte
	to     string // the target of a redirect, as returned by redirect; "" if there is none
}

// time returns the time by which a log is sorted: the end or, if the end is not
// known, the start.
func (e *event) time() int64 { return max(e.at, e.end) }

// size returns the approximate number of bytes of memory that the event
// occupies.
func (e *event) size() int { return len(e.url) + len(e.host) + 200 }

// before reports whether e is judged before f. A request for robots.txt
// precedes other requests of the same time, because the log does not show
// whether it was later.
func (e *event) before(f *event) bool {
	if e.at != f.at {
		return e.at < f.at
	}
	return e.isFile && !f.isFile
}

// fresh is how long a robot may use a file that it has fetched (RFC 9309 §2.4).
const fresh = 24 * time.Hour

// never is the value of a time that is not known.
const never = math.MinInt64

// asTime converts a Unix time in nanoseconds to a Time in UTC.
func asTime(nanos int64) time.Time { return time.Unix(0, nanos).UTC() }

// isRobots reports whether a URL is that of a robots.txt.
func isRobots(url string) bool {
	rest, ok := strings.CutPrefix(pathAndQuery(url), "/robots.txt")
	return ok && (rest == "" || rest[0] == '?')
}

// pathAndQuery returns the path and query of a URL. It returns "" if the URL is
// neither a path nor absolute.
func pathAndQuery(url string) string {
	if strings.HasPrefix(url, "/") {
		return url
	}
	_, rest, ok := strings.Cut(url, "://")
	if !ok {
		return ""
	}
	_, path := cutHost(rest)
	return cmp.Or(path, "/")
}

// cutHost splits the part of a URL after "://" into the host, with its port,
// and the path and query. It leaves out the user's name and password.
func cutHost(rest string) (host, path string) {
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest, path = rest[:i], rest[i:]
	}
	return rest[strings.LastIndexByte(rest, '@')+1:], path
}

// maxName limits the name of a host or robot, in bytes. Longer host names
// cannot be resolved.
const maxName = 255

// clip returns the first maxName bytes of a name.
func clip(s string) string { return s[:min(len(s), maxName)] }

// splitOrigin returns the scheme and host of an absolute URL. If s is a Host
// header, the scheme is "". The host is in lower case, without a dot at its
// end, and without the scheme's default port. If there is no scheme, both 80
// and 443 are default ports.
func splitOrigin(s string) (scheme, host string) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		scheme, rest = "", s
	}
	host, _ = cutHost(rest)
	scheme = strings.ToLower(scheme)
	host = strings.ToLower(host)
	if scheme != "https" {
		host = strings.TrimSuffix(host, ":80")
	}
	if scheme != "http" {
		host = strings.TrimSuffix(host, ":443")
	}
	host = strings.Replace(host, ".:", ":", 1) // the dot at the end of the name, before a port
	return scheme, clip(strings.TrimSuffix(host, "."))
}
