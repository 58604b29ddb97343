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
	dir   fs.FS
	a     *Auditor
	sums  *Tally
	name  string // of the robot
	end   chain.Link
	open  bool          // a session has begun and has no close line yet
	after bool          // a line that cannot be used precedes the next one
	file  string        // the segment being read
	line  int           // the number of the line in that segment
	sent  *sentRequests // nil unless the record is compared with a log
}

// A paceEvent is the start or the end of a request, a response with a
// Retry-After, or a pause. Each Limiter has its own clock.
type paceEvent struct {
	*recordLine
	at     time.Time // by the Limiter's clock
	isPage bool
	delay  time.Duration // of a start
	crawl  time.Duration // of the start of a page: the Crawl-delay

	host *recordHost // of a start, with EndToStart
	next *paceEvent  // of a start: the next start at the host
}

// A recordPace has what is known of the pace of a record's requests.
type recordPace struct {
	limiters map[int]*recordLimiter // by the Limiter's number
	hosts    map[hostID]*recordHost
	flying   map[[2]int]*paceEvent // by Limiter and number: the requests that have not ended, with EndToStart
	earlier  map[string]time.Time  // the last page of each host in earlier sessions, by the wall clock
	moments  []*paceEvent          // not judged yet, sorted by time
	newest   time.Time             // the latest of them so far
}

// A recordLimiter is the line of a Limiter.
type recordLimiter struct {
	recordLine
	count int // the number of the latest request
}

type hostID struct {
	limiter int
	host    string
}

// A recordHost is the pace of one host.
type recordHost struct {
	latest, page mark       // of all requests, and of those for pages
	last         *paceEvent // the latest request
	paged        time.Time  // the latest page, by the wall clock
	asked, left  time.Time  // the begin and the end of the pause that ends last
}

// A mark is the latest start, and the time from which the next interval counts.
type mark struct{ start, from time.Time }

// A sentRequest is a request in a record, to be looked for in the site's log.
type sentRequest struct {
	at       time.Time
	host     string
	url      string
	file     string // of its line
	line     int
	answered bool // a response came, so it has reached the site, or a proxy
	found    bool
}

// sentRequests are the requests in a record.
type sentRequests struct {
	byPath map[string][]*sentRequest // in the order of the record
	all    []*sentRequest
	flying map[[2]int]*sentRequest // by Limiter and number, in this session
	agent  string                  // the name in the User-Agent
	hosts  map[string]bool         // those of which the log has a request
}

// say reports a fault at the line that is being read.
func (r *recordReader) say(err error) {
	r.sums.count("faults", 1)
	if f, ok := errors.AsType[*recordFault](err); ok && f.kind != incomplete {
		r.sums.count(f.kind, 1)
		r.partial = r.partial || f.kind == changed
	}
	r.a.total.count("cut", 1)
	r.a.broken(r.sums.Name+"/"+r.file, max(r.line, 1), err)
}

// site returns where requests for a URL are counted.
func (r *recordReader) site(url string) (*robot, *site) {
	robot := r.a.robot(r.name)
	_, host := originOf(url)
	return robot, r.a.site(robot, host)
}

func (r *recordReader) report(v Violation) {
	robot, s := r.site(v.URL)
	v.Robot, v.Host = robot.name, s.host.Name
	r.a.report(v, robot, s)
}
