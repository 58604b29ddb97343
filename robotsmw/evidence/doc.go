// Package evidence writes the record of a crawl that a third party can check:
// which robots.txt was seen, to the byte, what was decided by it, and what each
// request waited for. Whoever turns it on can answer a complaint with what
// happened, and an archive has each robots.txt as the crawl saw it.
//
//	rec, err := evidence.Open("record", evidence.Options{})
//	...
//	defer rec.Close()
//	opts := robotsmw.Options{UserAgent: agent, Limiter: new(politeness.Limiter)}
//	err = rec.Observe(&opts) // before NewClient, or what else takes them
//	...
//	client, err := robotsmw.NewClient(opts)
//
// No request waits for the record. What a disk that is full or slow does not
// take is lost, and the record says of which span: that span proves nothing. A
// process that is killed leaves a record that is good up to its end, without
// the last milliseconds. A machine that loses its power may lose more, of what
// it had not written.
//
// # The directory
//
// One process writes a record at a time (where the operating system has flock,
// another gets an error), and many may follow each other: each is a session.
// A record is that of one robot.
//
//	evidence-000001.jsonl    segments: lines of JSON
//	evidence-000002.jsonl
//	robots-000001.warc.gz    the WARC file that belongs to a segment
//	lock
//
// A segment never changes once the next one exists. When the record would
// become larger than [Options.MaxBytes], its oldest segment is deleted, with
// its WARC file. What was in it is not known any more: the first line of a
// record that does not begin with n 1 follows what nobody can see.
//
// # Lines
//
// A line is one JSON object. Its first members are n, event and time, its last
// ones prev and hash:
//
//	{"n":17,"event":"done","time":"2026-11-22T13:20:00.123456789Z", …
//	 … ,"prev":"…64 digits…","hash":"…64 digits…"}
//
// They say:
//
//   - n counts the lines of the record, from 1, over all segments and sessions.
//   - event is the kind of line. Others than those below may come in later
//     versions, and more members; they are hashed and may be ignored.
//   - time is the wall clock when the line was noted. It does not quite ascend,
//     for many goroutines write.
//   - hash is the SHA-256 of this line without its last 75 bytes and its
//     newline: of all that stands before ,"hash":" in it.
//   - prev is the hash of the line before, over segments and sessions. For n 1
//     it is 64 zeros.
//
// So a byte that is changed is noticed: in a line by its own hash, in a hash by
// the line after it. Whoever can write all of the directory could compute all
// of it anew, which is why the hash of the last line is worth depositing
// elsewhere ([Recorder.Head]): what stood before it then cannot be changed any
// more.
//
// Times are RFC 3339 in UTC with nine digits after the second, durations
// seconds, sizes bytes. A member that has nothing to say (0, "", false) is left
// out, where it is not said otherwise. A line has 4 MiB at most, but for the
// text of an Override.
//
// A segment whose end is broken, by a kill or a failing disk, stays as it is.
// The next segment goes on after its last good line, and says where that ended:
// cut. What follows the last good line of the last segment is such a cut that
// nobody has said yet. A segment may be empty.
//
// # Events
//
// segment is the first line of each segment.
//
//   - format is 1, segment its number, session a UUID of its session, oldest
//     the number of the oldest segment that was there
//   - why: "open" (a session begins), "full" (the segment before was), "error"
//     (that could not be written)
//   - cut: {segment, offset, bytes}: the good part of that segment ends at
//     offset, and so many bytes follow
//   - warc: {file, bytes, sha256}: the WARC file of the segment before, as it
//     was found
//   - software: of the writer
//
// A session has no close line if its process died: what happened from its last
// line to the next segment is not known. The lines robot and limiter that are
// in force are repeated after each segment line.
//
// robot says who crawls, and what changes verdicts.
//
//   - user_agent; tokens: the product tokens, in order of preference
//   - disallow_forbidden, allow_after_30_days, dry_run, max_redirects: as in
//     [robotsmw.Options]
//   - override: {origin: SHA-256 of the robots.txt that is obeyed there}
//
// limiter says how a [politeness.Limiter] is set. -1 is no limit.
//
//   - limiter: its number in the session
//   - delay, concurrency, max_crawl_delay, max_retry_after, back_off,
//     max_back_off, lease; end_to_start, clamp_crawl_delay, adaptive; jitter, a
//     fraction; key: "host" or "custom"; fleet: others pace the same hosts
//
// file has the bytes of a robots.txt: once in a session, before the first line
// that names their hash. After a loss, and where there are many, it may come
// again.
//
//   - sha256, size
//   - text, if they are UTF-8, else base64; neither if there are none. They are
//     decoded, and what is read of a longer file: 512,001 bytes
//
// fetch is one question for a robots.txt and its answer. Each hop of a redirect
// has one.
//
//   - robots_url: of the origin that it is for; url that was asked; host, if
//     that is not the URL's; user_agent; conditional: validators were sent
//   - status (none: no answer came), location, content_type, retry_after and
//     date as written, asks: what that Retry-After comes to
//   - bytes: read of the body, sha256 of these if they are a whole 2xx; error
//   - warc: {file, request, response or revisit}, where these are {offset,
//     length, sha256} of the compressed records
//
// robots says what is known of an origin from now on.
//
//   - robots_url; from: "fetch" or "store" (another process has fetched it)
//   - status: of the last response; renewed: that was a 304; redirects
//   - sha256: of the file in force; fetched, expires
//   - cause: it is unreachable. The file in force, if there is one, is the copy
//     at hand; else everything is disallowed. next_try
//
// Without a cause, a 2xx has a file, and any other status means that there is
// none. It is in force for what is decided five seconds after its time or
// later, for it is noted a moment before it is put to use.
//
// request is the start of a request: its pace has let it go. Each attempt, hop
// and fetch of a robots.txt has one.
//
//   - limiter, request: its name in the session
//   - url, without its password, and with bytes escaped that are no UTF-8; host:
//     the Limiter's key, which shares a pace
//   - robots: it is the fetch of a robots.txt, which neither waits for a
//     Crawl-delay nor counts for one
//   - start: by a clock that nobody sets. The differences of start, at, end,
//     until and paused_until of one limiter in one session are what passed
//   - interval (always there): the larger of delay (always there) and
//     crawl_delay, which are what the host's starts keep, without jitter;
//     interval_why: "delay", "adaptive delay", "crawl-delay"
//   - paused_until: the end of the latest pause of the host
//   - waited, and waited_for, what the longest of it was for: a
//     [politeness.Reason]
//   - decision: see below. Without one, somebody uses the Limiter by himself,
//     or a middleware has dropped the context
//
// answer is a response that bears on the pace: a 429, a 503, or one with a
// Retry-After.
//
//   - limiter, request, host, at, status, retry_after as written, asks
//
// pause: a host is left alone. Without a Retry-After that is back-off.
//
//   - limiter, request, host, at, wait, until, status
//
// done is the end of a request.
//
//   - limiter, request, end, seconds (always there), status (none: no response)
//
// decision is a refusal, or what would be one but for dry_run: once for a URL
// and a robots.txt, as far as remembered.
//
//   - url, decision
//
// loss: lines could not be kept. Nothing is proved of the span.
//
//   - from, to: the times of the first and the last of them
//   - lost: {event: how many}; cause
//
// close is the end of a session.
//
//   - session; warc: {file, bytes, sha256} of the last WARC file
//
// # A decision
//
// The member decision is an object. Its members are those of
// [robotsmw.Decision], named as in its JSON:
//
//   - allowed (always there); decided: when, which may be long before start
//   - reason: as [robotsmw.Reason] prints it
//   - rule ("Disallow: /a") and its line; resolved: the other name of the path
//     that the rule disallows
//   - group and group_lines: the user-agent lines of the group in force, the
//     first 16 of them and 8 KiB of each
//   - crawl_delay_seconds
//   - robots_url, status, sha256, fetched, expires: those of the robots line
//     with the same robots_url and fetched. A sha256 without robots_url is an
//     override's
//   - stale, cause, failed_since, next_try
//
// # The WARC file
//
// It is WARC 1.1, a gzip member for each record. Of each fetch it has a request
// and a response, or a revisit (server-not-modified) where a 304 confirmed the
// copy at hand. The fields of the header are sorted, and the body is decoded:
// Content-Encoding, Content-Length and Transfer-Encoding of what was sent are
// told as X-Crawler-Content-Encoding and so on where they do not hold any more.
// A metadata record has a line of the record. There is one for each request of a
// robots.txt, and for each line robots (WARC-Target-URI is that of the
// robots.txt), answer, pause, robot and limiter: what the crawler knew and what
// it kept to. Those of pages are in the lines alone.
//
// # With jq
//
//	jq -c 'select(.event=="request") | [.start,.url,.interval]' evidence-*.jsonl
//	jq -r 'select(.event=="file" and .sha256=="…") | .text' evidence-*.jsonl
package evidence
