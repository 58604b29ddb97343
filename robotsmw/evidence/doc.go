// Package evidence writes a record of a crawl that a third party can check. The
// record has each robots.txt that the crawl saw, byte for byte. It also has the
// decisions, and what each request waited for. With a record, the operator of a
// crawler can answer a complaint by showing what happened, and an archive can
// keep each robots.txt as the crawl saw it.
//
//	rec, err := evidence.Open("record", evidence.Options{})
//	...
//	defer rec.Close()
//	opts := robotsmw.Options{UserAgent: agent, Limiter: new(politeness.Limiter)}
//	err = rec.Observe(&opts) // before opts is given to NewClient
//	...
//	client, err := robotsmw.NewClient(opts)
//
// No request waits for the record. If the disk is full or too slow, lines are
// lost. The record then says in which span of time lines were lost, and proves
// nothing about that span. If the process is killed, the lines that it had not
// written are missing. These are the lines of the last milliseconds, or of a
// longer time if the disk is slow. The last line that it wrote may be
// incomplete. If the machine loses power, everything that was not on the disk
// yet is missing.
//
// # The directory
//
// One process at a time writes a record. Where the operating system has flock,
// a second process gets an error. Later processes may continue the record. Each
// call of [Open] begins a session. A record is about one robot; within a
// session, [Recorder.Observe] makes sure of that.
//
//	evidence-000001.jsonl    segments: lines of JSON
//	evidence-000002.jsonl
//	robots-000001.warc.gz    the WARC file that belongs to a segment
//	lock
//
// A segment no longer changes after the next segment has begun. If a further
// segment could make the record larger than [Options.MaxBytes], the oldest
// segments are deleted, together with their WARC files. Lines are numbered from
// 1. If the first line of a record has a number above 1, older lines have been
// deleted.
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
//   - time is when the line was noted, by the wall clock. Times are not
//     strictly in order, because many goroutines write.
//   - hash is the SHA-256 of everything before ,"hash":" in this line. So it
//     covers neither the newline nor the 75 bytes before the newline.
//   - prev is the hash of the previous line, even if that line is in another
//     segment or session. In line 1, it is 64 zeros.
//
// So a changed byte is noticed, because the line no longer has the hash that it
// names. But somebody who can write all files could compute all hashes anew. To
// rule this out, deposit the hash of the last line elsewhere ([Recorder.Head]).
// Then a change of that line, or of any line before it, can be noticed.
//
// Times are RFC 3339 in UTC with nine digits after the second, durations are in
// seconds, and sizes in bytes. A member whose value is 0, "" or false is left
// out, unless the text below says otherwise. A line has at most 4 MiB, unless a
// URL or an Override is extremely long.
//
// After a kill or a disk error, a segment may have a broken end. This end is
// not repaired. The first line of the next segment continues the chain from the
// last good line. Its member "cut" says where the good part ends. If the last
// segment has a broken end, no line says so yet. A segment may be empty.
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
// A session has no close line if its process died. What happened between its
// last line and the next segment is then not known. After its segment line,
// each segment repeats the robot and limiter lines that are in force.
//
// robot names the crawler, and has the options that influence decisions.
//
//   - user_agent; tokens: the product tokens, in order of preference
//   - disallow_forbidden, allow_after_30_days: as in [robotsmw.Options];
//     max_redirects: how many redirects of a robots.txt are followed
//   - override: {origin: SHA-256 of the robots.txt that is obeyed there}
//
// limiter says how a [politeness.Limiter] is set. -1 means no limit.
//
//   - limiter: the number of the Limiter in the session
//   - delay, concurrency, max_crawl_delay, max_retry_after, back_off,
//     max_back_off, lease: these are always there
//   - end_to_start, clamp_crawl_delay, adaptive; jitter, a fraction; key:
//     "host" or "custom"; fleet: the Limiter has a Fleet
//
// file has the content of a robots.txt. A session writes this line before the
// first robots, request or decision line that names the file's hash. The
// session repeats it only after a loss, after a segment was deleted, or if
// there are more than 100,000 files.
//
//   - sha256, size
//   - text: the content, if it is UTF-8 with few control characters; base64:
//     any other content. Both are left out if the content is empty. If the
//     answer had a content coding, the content is decoded. If a file is longer
//     than 500 KiB, the content is its first 512,001 bytes
//
// fetch is one request for a robots.txt and its answer. Each hop of a redirect
// has a line of its own.
//
//   - robots_url: the URL of the origin's robots.txt; url: the URL of this
//     request; host: the Host, if it is not the URL's; user_agent; conditional:
//     If-None-Match or If-Modified-Since was sent
//   - status (left out if no answer came); location, content_type, retry_after
//     and date: the header fields as written, but each cut after 8 KiB; asks:
//     the wait that the Retry-After asks for
//   - bytes: how much of the body was read; sha256: the hash of these bytes if
//     the status is 2xx and there was no error; error: what went wrong
//   - warc: {file, request, response or revisit}: request, response and revisit
//     are each {offset, length, sha256} of a compressed record
//
// robots says what is known about an origin from the line's time on.
//
//   - robots_url; from: "fetch", or "store" if the robots.txt was not fetched
//     but taken from the Store
//   - status: the status of the last response; renewed: a 304 confirmed that
//     response; redirects: how many redirects led to it
//   - sha256: the hash of the file in force, if there is one; fetched: when the
//     answer in force was fetched; expires: when its lifetime ends
//   - cause: why robots.txt is unreachable; next_try: when it may be fetched
//     again. With a cause, the file in force is the good copy from before. If
//     there is no good copy, everything is disallowed. But if the robot line
//     has allow_after_30_days, everything is allowed after 30 days
//
// Without a cause, a 2xx means that there is a file, and any other status means
// that there is none. The line is written a moment before the crawler uses the
// file. At the latest five seconds after the line's time, the file is in force
// for all decisions.
//
// request is the start of a request, when its wait for the Limiter is over.
// Each attempt, each redirect hop and each request for a robots.txt has such a
// line.
//
//   - limiter, request: together they name the request in the session
//   - url: the URL, with xxxxx in place of its password, and with escapes in
//     place of bytes that are not UTF-8. host: the Limiter's key; requests with
//     the same key share a pace
//   - robots: this is a request for a robots.txt. It does not wait for a
//     Crawl-delay. When a later request waits for a Crawl-delay, the wait is
//     not counted from this request
//   - start: the time of the start, by a clock that nobody sets. Within one
//     session, the members start, at, end, until and paused_until of one
//     Limiter are times by that clock, so their differences are true durations
//   - interval (always there): the larger of delay (always there) and
//     crawl_delay. Two requests to the host start at least the interval apart.
//     Jitter makes this time longer. interval_why: "delay", "adaptive delay",
//     "crawl-delay"
//   - paused_until: when the latest pause of the host ends
//   - waited: how long the request waited; waited_for: the reason for the
//     longest part of that wait, as a [politeness.Reason]
//   - decision: see below. It is missing if the request is for a robots.txt, if
//     the Limiter is used without a Transport, or if a middleware has dropped
//     the context
//
// answer is a response with the status 429 or 503, or with a Retry-After.
//
//   - limiter, request, host, status; at: when the response came; retry_after:
//     as written, but cut after 8 KiB; asks: the wait that the Retry-After asks
//     for
//
// pause says that, for a while, the Limiter lets no request to the host start.
// The cause is a Retry-After, a spent quota or back-off.
//
//   - limiter, request, host, status; at: the time of the answer that caused
//     the pause; until: when the pause ends; wait (always there): the time from
//     at to until
//
// done is the end of a request and of its response's body.
//
//   - limiter, request; end: the time of the end; seconds (always there): the
//     time from start to end; status (left out if there was no response)
//
// decision says that a request was refused. Equal decisions about a URL share
// one line if they follow from the same fetch of robots.txt. Like a file line,
// a decision line may be repeated after a loss, after a segment was deleted, or
// if there are more than 100,000 refusals.
//
//   - url, decision
//
// loss says that lines could not be kept. The record proves nothing about the
// span of time between from and to.
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
// The member decision is an object. It has the content of a
// [robotsmw.Decision], and most of its members have the same names as in the
// JSON of that type:
//
//   - allowed (always there); decided: the time of the decision, which may be
//     long before the request's start
//   - reason: as [robotsmw.Reason] prints it
//   - rule ("Disallow: /a") and its line; resolved: the form of path and query
//     that the rule disallows, if that is not the form as written
//   - group: the values of the user-agent lines of the group in force, each cut
//     after 8 KiB; group_lines: the numbers of these lines. At most the first
//     16 lines are given
//   - crawl_delay_seconds
//   - robots_url, status, sha256, fetched, expires: as in the robots line with
//     the same robots_url and fetched. If there is a sha256 but no robots_url,
//     the file is an override
//   - stale, cause, failed_since, next_try
//
// # The WARC file
//
// It is WARC 1.1, with a gzip member for each record. For each fetch it has a
// request and, if an answer came, a response. If the answer is a 304 that
// confirms the copy at hand, the file has a revisit (server-not-modified) in
// place of the response. The fields of a header are sorted. A field of more
// than 8 KiB is left out, and so are fields that would make the header longer
// than 64 KiB. The body of a 2xx and of a 4xx other than 429 is decoded. If the
// original Content-Encoding, Content-Length or Transfer-Encoding is no longer
// true, its name is written with the prefix X-Crawler-, as in
// X-Crawler-Content-Encoding.
//
// The WARC file also has copies of some lines, each in a metadata record. These
// are the request lines about a robots.txt, and all lines of the kinds robots,
// answer, pause, robot and limiter. For a robots line, WARC-Target-URI is the
// URL of the robots.txt. Lines of about 64 KiB and more are left out. So the
// WARC file says what the crawler knew and which rules it followed. It does not
// have the request lines about pages.
//
// # With jq
//
//	jq -c 'select(.event=="request") | [.start,.url,.interval]' evidence-*.jsonl
//	jq -r 'select(.event=="file" and .sha256=="…") | .text' evidence-*.jsonl
package evidence
