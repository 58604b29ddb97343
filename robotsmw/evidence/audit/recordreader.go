package audit

import (
	"errors"
	"io/fs"
	"time"

	"github.com/goodbots/courtesy/robotsmw/evidence/internal/chain"
)

// A recordReader reads the lines of a record, checks that each line follows the
// previous one, and judges the robot by them.
type recordReader struct {
	recordOrigins
	recordPace
	dir        fs.FS
	a          *Auditor
	sums       *Tally
	name       string        // of the robot
	end        chain.Link    // the link of the latest line
	open       bool          // a session has begun and has no close line yet
	linkBroken bool          // the previous line is unusable, so the next line's link is not checked
	file       string        // the segment being read
	line       int           // the number of the line in that segment
	sent       *sentRequests // nil unless the record is compared with a log
}

// A paceEvent is the start or the end of a request, a response with a
// Retry-After, or a pause. Each Limiter has its own clock.
type paceEvent struct {
	*recordLine
	at         time.Time // by the Limiter's clock
	isPage     bool
	delay      time.Duration // of a start
	crawlDelay time.Duration // of the start of a page

	host *recordHost // of a start, with EndToStart
	next *paceEvent  // of a start: the next start at the host
}

// A recordPace is the state that is needed to judge the times of a record's
// requests.
type recordPace struct {
	limiters map[int]*recordLimiter // by the Limiter's number
	hosts    map[hostID]*recordHost
	inFlight map[requestID]*paceEvent // the requests that have not ended, with EndToStart
	earlier  map[string]time.Time     // the last page of each host in earlier sessions, by the wall clock
	events   []*paceEvent             // not judged yet, sorted by time
	newest   time.Time                // the latest time of an event in this session
}

// A recordLimiter is the latest record line of a Limiter, with the number of
// the Limiter's latest request.
type recordLimiter struct {
	recordLine
	request int
}

// A requestID identifies a request in a session.
type requestID struct {
	limiter int
	request int
}

func (v *recordLine) id() requestID { return requestID{limiter: v.Limiter, request: v.Request} }

type hostID struct {
	limiter int
	host    string
}

// A recordHost contains the latest requests to one host, and its latest pause.
type recordHost struct {
	latest     mark       // of all requests
	page       mark       // of requests for pages
	pageTime   time.Time  // the latest page, by the wall clock
	last       *paceEvent // the latest request
	pauseStart time.Time  // the start of the pause that ends last
	pauseEnd   time.Time
}

// A mark is the start of the latest request, and the time from which the next
// interval is measured: the start or, with EndToStart, the end.
type mark struct {
	start time.Time
	from  time.Time
}

// A sentRequest is a request in a record, which is searched for in the site's
// log.
type sentRequest struct {
	at       time.Time
	host     string
	url      string
	file     string // of its line
	line     int
	answered bool // there was a response, so the request has reached the site, or a proxy
	found    bool // the log contains the request
}

// sentRequests are the requests in a record.
type sentRequests struct {
	byPath   map[string][]*sentRequest // in the order of the record
	all      []*sentRequest
	inFlight map[requestID]*sentRequest // in this session
	agent    string                     // the name in the User-Agent
	hosts    map[string]bool            // those to which the log contains a request
}

// reportFault reports a fault at the line that is being read.
func (r *recordReader) reportFault(err error) {
	r.sums.count("faults", 1)
	if f, ok := errors.AsType[*recordFault](err); ok && f.kind != incomplete {
		r.sums.count(f.kind, 1)
		r.partial = r.partial || f.kind == changed
	}
	r.a.total.count("cut", 1)
	r.a.reportBroken(r.sums.Name+"/"+r.file, max(r.line, 1), err)
}

// site returns the robot of the record, and the site to which requests for a
// URL belong.
func (r *recordReader) site(url string) (*robot, *site) {
	robot := r.a.robot(r.name)
	_, host := splitOrigin(url)
	return robot, r.a.site(robot, host)
}

func (r *recordReader) report(v Violation) {
	robot, s := r.site(v.URL)
	v.Robot = robot.name
	v.Host = s.host.Name
	r.a.report(v, robot, s)
}
