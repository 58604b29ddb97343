package audit

import (
	"strings"
	"time"
)

// A Request is what a log, an archive or a record says about one request.
type Request struct {
	// Start is when the request began, and End is when it ended. One of the two
	// may be zero: a log with whole seconds has only the end, and an archive
	// only the start.
	Start, End time.Time
	// Rounded is how much the times may have been rounded down, such as 1 s in
	// a log with whole seconds. 0 means that they are exact.
	Rounded time.Duration
	// Host is "example.com" or "https://example.com", with the port unless it
	// is the scheme's default. "" means that the log does not name the host.
	Host string
	// URL is the URL as requested: a path and query, or an absolute URL.
	URL       string
	UserAgent string
	Status    int           // of the answer; 0 means not known
	WaitFor   time.Duration // the wait that the answer's Retry-After asks for; 0 means that there is none

	// Body is the body of the answer to a request for robots.txt. The file is
	// in force on the host from the end of the request, unless the Auditor's
	// History has a file for that host and time. nil means not known.
	Body []byte
}

// An event is a Request to be judged. Times are nanoseconds of Unix time.
type event struct {
	start, end int64 // "never" means not known
	rounded    int64
	scheme     string
	host       string
	url        string
	robot      string // product token
	status     int
	wait       int64    // the wait of a Retry-After, from the answer on; 0 means none
	capture    *capture // the answer to a request for robots.txt; nil means not known
	epoch      int      // times of two epochs cannot be compared
}

// time returns the time by which a log is sorted: the end or, if the end is not
// known, the start.
func (e *event) time() int64 {
	if e.end != never {
		return e.end
	}
	return e.start
}

// key returns the time by which events are sorted before they are judged. For a
// page it is the start, if that is known. For a robots.txt it is the end,
// because the robot knows the rules only then.
func (e *event) key() int64 {
	if e.start != never && !e.isRobots() {
		return e.start
	}
	return e.time()
}

// begun returns the start of the request or, if the start is not known, its
// end.
func (e *event) begun() int64 {
	if e.start != never {
		return e.start
	}
	return e.end
}

func (e *event) isRobots() bool { return isRobots(e.url) }

func (e *event) size() int { return len(e.url) + len(e.host) + 64 }

// event converts a Request. It returns false if the Request has no time.
func (r *Request) event() (event, bool) {
	e := event{start: nanos(r.Start), end: nanos(r.End), rounded: int64(max(r.Rounded, 0)), url: r.URL, robot: robotOf(r.UserAgent),
		status: r.Status, wait: int64(r.WaitFor)}
	e.scheme, e.host = originOf(r.Host)
	if e.host == "" && strings.Contains(r.URL, "://") {
		e.scheme, e.host = originOf(r.URL)
	}
	if r.Body != nil && isRobots(r.URL) {
		e.capture = &capture{status: r.Status, body: r.Body}
	}
	return e, e.time() != never
}
