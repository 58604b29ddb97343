package evidence

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/evidence/internal/chain"
)

// Options limit the size of a record and set its Logger. The zero value suits
// most crawls.
type Options struct {
	// MaxBytes limits the total size of the record's files. If another segment
	// could exceed the limit, the oldest segments are deleted. The lines of a
	// request take about 1.2 KB. 0 means 4 GiB. A negative value means no
	// limit.
	MaxBytes int64

	// SegmentBytes is the approximate size of a segment, or of its WARC file,
	// at which the next segment begins. 0 means 64 MiB, or a quarter of
	// MaxBytes if that is less.
	SegmentBytes int64

	// Logger receives a warning when lines are lost or a file cannot be
	// written. nil means slog.Default.
	Logger *slog.Logger
}

// A Recorder writes the record of one crawler to a directory. It is safe for
// concurrent use. Requests never wait for it: if the disk is too slow, lines
// are lost, as the package documentation describes.
//
// # Lines
//
// A line is one JSON object. Its first members are n, event and time. Its last
// members are prev and hash:
//
//	{"n":17,"event":"done","time":"2026-11-22T13:20:00.123456789Z", …
//	 … ,"prev":"…64 digits…","hash":"…64 digits…"}
//
// The common members:
//
//   - n is the number of the line in the record. It counts from 1, over all
//     segments and sessions.
//   - event is the kind of line. Later versions may add kinds and members.
//     Readers may ignore these, but the hash covers them too.
//   - time is when the event occurred, by the wall clock. Times are not
//     strictly in order, because many goroutines write.
//   - hash is the SHA-256 of everything before ,"hash":" in this line, that is,
//     of all but the newline and the 75 bytes before it.
//   - prev is the hash of the previous line, even if that line is in another
//     segment or session. In line 1, it is 64 zeros.
//
// Times are RFC 3339 in UTC with nine digits after the second, durations are in
// seconds, and sizes in bytes. A member whose value is 0, "" or false is
// omitted, unless the description below differs. A line has at most 4 MiB,
// unless a URL or an Override is extremely long.
//
// If the process was killed, or after a disk error, a segment may have a broken
// end, which is not repaired. The first line of the next segment that is not
// empty continues the chain from the last complete line, and its member "cut"
// contains where that line ends. A segment may be empty.
//
// # Events
//
// segment is the first line of each segment.
//
//   - format: always 1; segment: the number of the segment; session: a UUID of
//     the session; oldest: the number of the oldest segment that existed when
//     the line was written
//   - why: "open" (a session begins), "full" (the previous segment was full),
//     "error" (there was a disk error)
//   - cut: {segment, offset, bytes}: segment is the number of a segment that
//     has a broken end, offset is where that end begins, and bytes is its
//     length
//   - warc: {file, bytes, sha256}: the WARC file of the previous segment, as it
//     was when this segment began
//   - software: the software that wrote the segment
//
// If the process died, its session has no close line, and the record does not
// contain what happened after the last line. After its segment line, each
// segment repeats the robot and limiter lines that are in force.
//
// robot identifies the crawler, and contains the options that affect decisions.
//
//   - user_agent; tokens: the product tokens, in order of preference
//   - disallow_forbidden, allow_after_30_days: as in [robotsmw.Options];
//     max_redirects: how many redirects of a robots.txt are followed
//   - override: {origin: SHA-256 of the robots.txt that is obeyed there}
//
// limiter contains the settings of a [politeness.Limiter]. -1 means no limit.
//
//   - limiter: the number of the Limiter in the session
//   - delay, concurrency, max_crawl_delay, max_retry_after, back_off,
//     max_back_off, lease: always present
//   - end_to_start, adaptive; jitter, a fraction; key: "host" or "custom";
//     fleet: the Limiter has a Fleet; per_host: it has a PerHost, so hosts may
//     have another delay, concurrency and Crawl-delay
//   - clamp_crawl_delay: in old records, a longer Crawl-delay was cut to
//     max_crawl_delay
//
// file contains a robots.txt. A session writes this line before the first
// robots, request or decision line with the file's hash. The line is repeated
// only after a loss, after a segment was deleted, or if there are more than
// 100,000 files and decisions.
//
//   - sha256, size
//   - text: the content, if it is UTF-8 with few control characters; base64:
//     any other content. Both are omitted if the content is empty. A content
//     coding is decoded. Of a file longer than 500 KiB, the first 512,001 bytes
//     are recorded
//
// fetch is one request for a robots.txt and its response. Each hop of a
// redirect has its own line.
//
//   - robots_url: the URL of the origin's robots.txt; url: the URL of this
//     request; host: the Host, if it is not the URL's; user_agent; conditional:
//     If-None-Match or If-Modified-Since was sent
//   - status (omitted without a response); location, content_type, retry_after
//     and date: the header fields, verbatim up to 8 KiB; asks: the delay that
//     the Retry-After requests
//   - bytes: how much of the body was read; sha256: the hash of these bytes if
//     the status is 2xx and there was no error; error: the error message
//   - warc: {file, request, response or revisit}: request, response and revisit
//     are each {offset, length, sha256} of a compressed record
//
// robots contains what is known about an origin from the line's time on.
//
//   - robots_url; from: "fetch", or "store" if the robots.txt was loaded from
//     the Store
//   - status: the status of the last response; renewed: a 304 confirmed that
//     response; redirects: how many redirects led to it
//   - sha256: the hash of the file in force, if there is one; fetched: when the
//     response in force was received; expires: when its lifetime ends
//   - cause: why robots.txt is unreachable; next_try: when it may be fetched
//     again. With a cause, the file in force is the last good copy. Without a
//     good copy, everything is disallowed, or, if the robot line has
//     allow_after_30_days, everything is allowed after 30 days
//
// Without a cause, a 2xx means that there is a file, and any other status means
// that there is none. The line is written a moment before the crawler uses the
// file. The file is in force for all decisions five seconds after the line's
// time, at the latest.
//
// request is the start of a request, when its wait for the Limiter is over.
// Each attempt, each redirect hop and each request for a robots.txt has such a
// line.
//
//   - limiter, request: together they identify the request in the session
//   - url: the URL, with xxxxx instead of its password and with escapes for
//     bytes that are not UTF-8. host: the Limiter's key; requests with the same
//     key are delayed together
//   - robots: this is a request for a robots.txt. It does not wait for a
//     Crawl-delay, and the Crawl-delay of a later request is not counted from
//     it
//   - start: the time of the start. Within one session, the members start, at,
//     end, until and paused_until of one Limiter are times by the monotonic
//     clock, so their differences are durations even if the wall clock was set
//   - interval (always present): the larger of delay (always present) and
//     crawl_delay. Two requests to the host start at least the interval apart.
//     Jitter makes this time longer. interval_why: "delay", "adaptive delay",
//     "crawl-delay". crawl_delay_agreed: crawl_delay, which may be missing, was
//     set by the Limiter's PerHost instead of robots.txt
//   - paused_until: when the latest pause of the host ends
//   - waited: how long the request waited; waited_for: the reason for the
//     longest part of that wait, as a [politeness.Reason]
//   - decision: see below. It is omitted if the request is for a robots.txt, if
//     the Limiter is used without a Transport, or if a middleware has replaced
//     the context
//
// answer is a response with the status 429 or 503, or with a Retry-After.
//
//   - limiter, request, host, status; at: when the response arrived;
//     retry_after: verbatim up to 8 KiB; asks: the delay that the Retry-After
//     requests
//
// pause means that the Limiter starts no request to the host until a given
// time, because of a Retry-After, a spent quota or back-off.
//
//   - limiter, request, host, status; at: the time of the response that caused
//     the pause; until: when the pause ends; wait (always present): the time
//     from at to until
//
// done is the end of a request and of its response's body.
//
//   - limiter, request; end: the time of the end; seconds (always present): the
//     time from start to end; status (omitted without a response)
//
// decision means that a URL was disallowed. Equal decisions about a URL share
// one line if they follow from the same fetch of robots.txt. Like a file line,
// a decision line may be repeated after a loss, after a segment was deleted, or
// if there are more than 100,000 files and decisions.
//
//   - url, decision
//
// loss means that lines were lost. The record proves nothing about the time
// between from and to.
//
//   - from, to: the times of the first and the last lost line; the member
//     "time" equals the member "to"
//   - lost: {event: how many lines}; cause: why they were lost
//
// close is the end of a session.
//
//   - session; warc: {file, bytes, sha256} of the last WARC file
//
// # A decision
//
// The member decision is an object with the content of a [robotsmw.Decision].
// Most of its members have the same names as in the JSON of that type:
//
//   - allowed (always present); decided: the time of the decision, which may be
//     long before the request's start
//   - reason: as [robotsmw.Reason] prints it
//   - rule ("Disallow: /a") and its line; resolved: the form of path and query
//     that the rule disallows, if it differs from the URL's
//   - group: the values of the user-agent lines of the group in force, each up
//     to 8 KiB; group_lines: the numbers of these lines. At most 16 lines are
//     recorded
//   - crawl_delay_seconds
//   - robots_url, status, sha256, fetched, expires: as in the robots line with
//     the same robots_url and fetched. If there is a sha256 but no robots_url,
//     the file is an override
//   - stale, cause, failed_since, next_try
//
// # The WARC file
//
// The format is WARC 1.1, with a gzip member for each record. A fetch has a
// request record and, if there was a response, a response record, or a revisit
// record (server-not-modified) if the response is a 304 that confirms the known
// copy. The fields of a header are sorted. A field of more than 8 KiB is
// omitted, and so are fields that would make the header larger than 64 KiB. The
// body of a 2xx and of a 4xx other than 429 is decoded. If Content-Encoding,
// Content-Length or Transfer-Encoding does not describe the recorded body, the
// field is renamed with the prefix X-Crawler-.
//
// The WARC file also contains copies of lines, each in a metadata record: the
// request lines about a robots.txt, and all robots, answer, pause, robot and
// limiter lines. For a robots line, WARC-Target-URI is the URL of the
// robots.txt. Lines of about 64 KiB and more are omitted, and so are the
// request lines about pages.
type Recorder struct {
	queue  queue
	writer writer
	lock   *os.File
	head   atomic.Pointer[chain.Link]

	mu       sync.Mutex
	robot    []any // the members of the robot line; nil before the first Observe
	limiters []*politeness.Limiter
}

// Open begins a session of the record in a directory, which it creates if
// necessary. If the directory contains a record, Open continues it, even if the
// previous process died in the middle of a line. Open returns an error if the
// options are invalid, if the directory cannot be used, or if another process
// writes a record there.
//
// Callers should call Close at the end.
func Open(dir string, opts Options) (*Recorder, error) {
	return open(dir, opts, create)
}

func open(dir string, opts Options, create func(string) (file, error)) (*Recorder, error) {
	maxBytes := cmp.Or(opts.MaxBytes, 4<<30)
	segmentSize := opts.SegmentBytes
	switch {
	case segmentSize < 0:
		return nil, fmt.Errorf("evidence: Options.SegmentBytes is %d: set a size in bytes, or 0 for 64 MiB or a quarter of MaxBytes",
			segmentSize)
	case segmentSize == 0 && maxBytes < 0:
		segmentSize = 64 << 20
	case segmentSize == 0:
		segmentSize = min(64<<20, maxBytes/4)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("evidence: cannot create the directory of the record: %w", err)
	}
	lockFile, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("evidence: cannot lock the record: %w", err)
	}
	if err := lock(lockFile); err != nil {
		lockFile.Close()
		return nil, fmt.Errorf("evidence: another process writes the record in %s: use a directory for each process: %w",
			dir, err)
	}
	r := &Recorder{lock: lockFile}
	r.queue.idle.L = &r.queue.mu
	r.queue.maxSize = maxQueueBytes
	r.queue.write = r.writer.write
	r.writer = writer{
		dir:          dir,
		create:       create,
		maxBytes:     maxBytes,
		segmentSize:  segmentSize,
		session:      newUUID(),
		logger:       cmp.Or(opts.Logger, slog.Default()),
		clearWritten: r.queue.clearWritten,
		setHead:      func(l chain.Link) { r.head.Store(&l) },
	}
	if err := r.writer.resume(); err != nil {
		unlock(lockFile)
		return nil, fmt.Errorf("evidence: cannot read the existing record: %w", err)
	}
	if !r.writer.open(time.Now()) {
		unlock(lockFile)
		return nil, fmt.Errorf("evidence: cannot begin the record: %s", r.writer.lost.cause)
	}
	return r, nil
}

// Observe adds an observer to opts and, by calling Pace, one to opts.Limiter.
// They record the requests of the Limiter, and the decisions and robots.txt
// fetches of all Transports and Checkers that are created with opts afterwards.
// Existing observers remain in use. Observe must be called before NewTransport,
// NewClient, NewChecker or collyrobots.Attach.
//
// If the Limiter is in opts.Base and not in opts.Limiter, Pace must be called
// with that Limiter first. Observe returns an error if there is no Limiter,
// because requests could not be recorded, or if the options are invalid. A
// record is about one crawler, so Observe also returns an error if the options
// of an earlier call result in a different robot line.
func (r *Recorder) Observe(opts *robotsmw.Options) error {
	r.mu.Lock()
	hasLimiter := opts.Limiter != nil || len(r.limiters) > 0
	r.mu.Unlock()
	if !hasLimiter {
		return errors.New("evidence: Options.Limiter is nil, so no request could be recorded: " +
			"set it to new(politeness.Limiter), for example, or call Pace with the Limiter of the Base")
	}
	robot, err := robotMembers(opts)
	if err != nil {
		return err
	}
	r.mu.Lock()
	known := r.robot
	if known == nil {
		r.robot = robot
	}
	r.mu.Unlock()
	switch {
	case known == nil:
		r.queue.put(newEntry("robot", robot...))
	case !reflect.DeepEqual(known, robot):
		return errors.New("evidence: the record is about another crawler, " +
			"whose user agent, tokens or options differ: use a directory for each crawler")
	}
	if opts.Limiter != nil {
		r.Pace(opts.Limiter)
	}
	opts.Observer = robotsmw.Join(opts.Observer, robotsObserver(&r.queue))
	return nil
}

// Pace adds an observer to a Limiter. The observer records the requests of the
// Limiter. Pace must be called before the first use of the Limiter. A second
// call for the same Limiter has no effect. Observe calls Pace for the Limiter
// of its options.
//
// Requests of a Transport, including those admitted by Admit, are recorded with
// the decision that allowed them. Requests of a crawler that uses a Checker
// instead are recorded without a decision. An audit of the record checks their
// URLs against the robots.txt that was in force.
func (r *Recorder) Pace(l *politeness.Limiter) {
	r.mu.Lock()
	if slices.Contains(r.limiters, l) {
		r.mu.Unlock()
		return
	}
	r.limiters = append(r.limiters, l)
	number := len(r.limiters)
	r.mu.Unlock()
	r.queue.put(limiterLine(number, l))
	l.Observer = politeness.Join(l.Observer, limiterObserver(&r.queue, number))
}

// Head returns the number and the hash of the line that was written last, such
// as "17:9f86…". If a copy of the result is stored in another place, an audit
// can verify that neither this line nor an earlier one has been changed since.
// The flag -head of robotscheck audit accepts the copy.
func (r *Recorder) Head() string { return r.head.Load().String() }

// Close waits until all lines are written, and ends the session. Later requests
// are not recorded. Close returns an error if lines were lost or if the last
// line could not be written. The record is valid even then. A second call has
// no effect.
func (r *Recorder) Close() error {
	if !r.queue.close() {
		return nil
	}
	err := r.writer.close(time.Now())
	return errors.Join(err, unlock(r.lock))
}

// robotMembers returns the members of the robot line for a crawler with the
// given options. It returns an error if the options are invalid.
func robotMembers(opts *robotsmw.Options) ([]any, error) {
	plain := *opts
	plain.Observer = nil
	checker, err := robotsmw.NewChecker(plain)
	if err != nil {
		return nil, err
	}
	members := []any{
		"user_agent", opts.UserAgent,
		"tokens", asJSON(checker.Tokens()),
		"disallow_forbidden", opts.DisallowForbidden,
		"allow_after_30_days", opts.AllowAfter30Days,
		"max_redirects", 5,
	}
	if len(opts.Override) > 0 {
		hashes := make(map[string]string)
		for origin, text := range opts.Override {
			hashes[origin] = fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
		}
		members = append(members, "override", asJSON(hashes))
	}
	return members, nil
}

// limiterLine returns the limiter line for l. number is the number of the
// Limiter in the session.
func limiterLine(number int, l *politeness.Limiter) entry {
	key := "host"
	if l.Key != nil {
		key = "custom"
	}
	const unlimited = -time.Second // -1 in the line
	return newEntry("limiter",
		"limiter", number,
		"delay", seconds(orDefault(l.Delay, politeness.DefaultDelay, 0)),
		"concurrency", orDefault(l.Concurrency, 1, -1),
		"end_to_start", l.EndToStart,
		"max_crawl_delay", seconds(orDefault(l.MaxCrawlDelay, politeness.DefaultMaxCrawlDelay, unlimited)),
		"max_retry_after", seconds(orDefault(l.MaxRetryAfter, politeness.DefaultMaxRetryAfter, unlimited)),
		"back_off", seconds(orDefault(l.BackOff, politeness.DefaultBackOff, 0)),
		"max_back_off", seconds(orDefault(l.MaxBackOff, politeness.DefaultMaxBackOff, unlimited)),
		"lease", seconds(orDefault(l.Lease, politeness.DefaultLease, unlimited)),
		"jitter", time.Duration(l.Jitter*float64(time.Second)),
		"adaptive", l.Adaptive > 0,
		"key", key,
		"fleet", l.Fleet != nil,
		"per_host", l.PerHost != nil,
	)
}

// orDefault returns v if it is positive. If v is 0, it returns zero, and if v
// is negative, it returns negative.
func orDefault[T int | time.Duration](v, zero, negative T) T {
	if v == 0 {
		return zero
	}
	if v < 0 {
		return negative
	}
	return v
}
