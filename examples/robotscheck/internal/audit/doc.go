// Package audit implements robotscheck audit.
//
// Audit answers the question "who broke my robots.txt?" from access logs, WARC
// files, and the records of crawls: directories that politespider -evidence or
// package robotsmw/evidence wrote. "-" is standard input. Audit reports only
// violations that its input proves, and counts what it could not judge.
//
//	robotscheck audit -robots robots.txt access.log*
//	robotscheck audit -robots robots.txt -since 2026-11-19 -until 2026-11-20 \
//	    access.log access.log.1
//	robotscheck audit -robots history/ -html audit.html access.log.gz
//	robotscheck audit crawl.warc.gz
//	robotscheck audit record/
//
// The second command audits one day. It should also get the log of the previous
// day, which shows which robots.txt a robot had fetched.
//
// For each robot and each rule that it broke, audit prints a line (how often,
// when, from which addresses) and an example; -v lists every violation. Then it
// prints a table of all robots, and what could not be read.
//
// A log has one of these formats. Without -format, audit detects it. Logs and
// WARC files may be compressed with gzip or zstd (.warc.zst), and WARC files
// may be in a WACZ. The prefixes of log shippers are skipped. The logs of one
// site and of its front ends may be in any order, or concatenated in one file.
//
//	combined  nginx and Apache, also vhost_combined and nginx's "main"
//	caddy     Caddy's JSON
//	nginx     a JSON log_format of nginx, with the names of its variables
//	traefik   Traefik's JSON; accessLog.fields.headers must keep User-Agent
//	w3c       W3C extended: IIS, CloudFront
//	alb       AWS Application Load Balancer, Classic Load Balancer
//	logpush   Cloudflare Logpush, http_requests as JSON
//
// The combined format contains only the time at which a request ended, in whole
// seconds, so a request may have begun up to a minute before. Audit proves more
// gaps if two more fields at the end of the line reveal when a request began:
//
//	log_format audit '$remote_addr - $remote_user [$time_local] "$request" '
//	                 '$status $body_bytes_sent "$http_referer" '
//	                 '"$http_user_agent" $msec $request_time';
//
// The name of a robot is the first word of its User-Agent. If that is Mozilla,
// the name is the word after "compatible;", a word with a version such as
// bingbot/2.0, or the word before a URL such as +https://example.com/bot. Other
// clients are browsers, which are not judged. A robot obeys the group of its
// name, or else that of another name that its operator has published (Applebot:
// Googlebot), or "*". -obeys sets the groups of other robots. Any client can
// use the name of a robot, so the addresses should be verified. Health checks
// (kube-probe, ELB-HealthChecker, GoogleHC and others) are not robots. The
// robots of -ignore are not judged, such as the site's own monitor.
//
// The client of a request is the address in its line or, if the line contains
// an X-Forwarded-For of a proxy, the address in that. An address that many
// robots use, or that forwards for other clients in other lines, is that of a
// proxy. Requests whose client is unknown are counted; they prove no gap.
//
// Without -robots, a robots.txt in a WARC file is in force from its date on,
// and an access log is audited only for violations that require no robots.txt.
// While no robots.txt is known, requests are unaudited. If the log shows that
// robots.txt was a 404, everything is allowed until it is a 200 again. Pages
// are "not shown" if their robot may have fetched robots.txt before the log
// begins, or through a cache. They are judged by robots.txt, but the lack of a
// request for robots.txt is no violation. Lines that cannot be read are listed
// on standard error, at most three for each problem of a file.
//
// For a record, audit first verifies its hashes, and compares each line with
// those on which it depends. It lists each line, robots.txt and WARC file that
// was changed, lost or truncated, or that another line contradicts: all on
// standard error, and the first of them in the result. It then verifies that
// each request has its decision, that each decision follows from a fresh
// robots.txt, and that each gap is long enough. Requests that obeyed a file of
// the operator instead of the site's are counted. -robots has no effect on
// records.
//
// An operator who can write the whole record could also compute its hashes
// again. The record should therefore be compared with data that the operator
// cannot change. -head is a line number and hash that politespider -evidence
// printed, every hour or at its end, and that a third party has stored: the
// exit status is 2 if the record does not contain that line. -against is the
// site's own log: a request of this robot that is only in the log, or only in
// the record although it received a response, counts as broken. Another client
// may have used the name of the robot, however.
//
//	robotscheck audit -head 1234:9f86… -against access.log record/
//
// Kinds of violation:
//
//	disallowed         robots.txt forbids it, and did so when the robot last
//	                   fetched it, or the robot never fetched it
//	stale              robots.txt forbids it; it did not when the robot last
//	                   fetched it, more than 24 hours before
//	before-robots-txt  the robot's first page on a host, more than 24 hours
//	                   after the log began, if the robot had not requested
//	                   robots.txt before, and no shared cache, such as a CDN,
//	                   can have answered such a request: in the 24 hours
//	                   before, two requests for robots.txt came from one
//	                   network within 10 minutes, or the log is the CDN's own
//	gap                one address requested more pages than one in each
//	                   Crawl-delay; a request may have been sent a second
//	                   before it arrived
//	retry-after        a request during the Retry-After of a 429, 503 or
//	                   redirect (WARC, and logs that have the header
//	                   Retry-After)
//
// Exit status: 0 no violation, 1 there are some, 2 none was found, but
// something is unaudited, or could not be read to its end, or 1 % of the lines
// or more could not be read, or there was no request, or no line of a log
// contains a User-Agent. The exit status is also 2 if the page cannot be
// written, or if an input cannot be read or is in no known format; then there
// is no result. 3 the answer is doubtful: a robots.txt of -robots is cut at 500
// KiB, binary, in UTF-16, or an HTML page. The result ends with a note. A
// robots.txt in a WARC file is not checked for this.
//
// With -json, one object for each violation, in the order of time:
//
//	time, robot, host, url, kind
//	address     of the client
//	line, rule  of robots.txt
//	previous    the time that counts: of the page before (gap), of the robot's
//	            last fetch of robots.txt (stale), or of the response with the
//	            Retry-After (retry-after)
//	gap         the seconds since then
//	want        the minimum of gap; for stale, the maximum
//
// and a last one:
//
//	requests    of robots and browsers
//	violations
//	robots      number of robots
//	unaudited   requests
//	not_shown   pages
//	lines       lines and records that were read
//	broken      those that could not be read
//	ignored     requests of robots that -ignore names
//	anonymous   requests of robots whose client is not known
//	unnamed     requests without a User-Agent
//	overridden  requests of a record that obeyed the operator's file
//	agreed      requests of a record whose Crawl-delay was agreed with the owner
//	cut         inputs that could not be read to the end
//	jumps       lines out of order by more than 90 s
//	spans       [{"host", "from", "to", "requests"}]: the unaudited requests
//	records     [{"name", "lines", "head", "both", "only_record", "only_log"}]:
//	            head is the hash of the last line; the last three are counts
//	            of the comparison with -against
//	doubtful    [{"source", "doubt"}]: the files of -robots that are doubtful
package audit
