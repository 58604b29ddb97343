// Package audit finds out which robots broke the rules of a site. It reads a
// server's log, an archive, or the record of a crawl.
//
//	a := audit.Auditor{OnViolation: func(v audit.Violation) { fmt.Println(v.Time, v.Address, v.URL, v.Kind) }}
//	a.AddRobotsTxt("", time.Time{}, 200, robotsTxt) // in force on every host, always
//	err := a.Read(ctx, audit.Input{Name: "access.log", Reader: file})
//	result := a.Result()
//
// [Auditor.Read] takes access logs, in the combined format of nginx and Apache
// or in Caddy's JSON, and WARC files. [Auditor.ReadRecord] takes a record that
// package evidence has written; its doc says what it checks.
//
// An audit says what its input proves. In doubt it is for the robot, and it
// says what it could not judge.
//
// # Robots
//
// The name of a robot is what its User-Agent begins with, up to the first
// character other than A-Z a-z 0-9 _ . and -. If that is Mozilla, the name is
// what follows "compatible;", else a product whose name has "bot", "crawl" or
// "spider" in it, else the product before a URL such as
// "+https://example.com/bot". All else is a browser's: it is counted, not
// judged. Names that differ only in case are one robot.
//
// A robot obeys the group of its name, else that of another name that its
// operator has published (Applebot: Googlebot), else "*"; AdsBot-Google and its
// like only a group that names them. Auditor.Groups adds to this list.
//
// # What is judged
//
// Each request of a robot, except those for robots.txt, is judged by the file
// that was in force on the host at the time of the request:
//
//   - [Disallowed]: the file forbids the URL, or a path that servers take for
//     the same (/x/../private/, //private/).
//   - [Stale]: the file forbids the URL. The robot last got robots.txt more
//     than 24 hours before, when it allowed the URL. Up to 24 hours after that
//     fetch, or while later fetches fail, the request is no violation (RFC 9309
//     §2.4, §2.3.1.4).
//   - [BeforeRobotsTxt]: the robot has not asked for robots.txt on this host
//     since the input began, which was more than 24 hours before. This is
//     reported once per robot and host, and only if some robot asks for some
//     robots.txt in the input: else something in front of the server, such as a
//     CDN, answers for it. A fetch counts from any address.
//   - [Gap]: more pages of a host were asked for from one address than one in
//     each Crawl-delay.
//   - [RetryAfter]: the Retry-After of a 429, a 503 or a redirect had asked the
//     robot, at this address, to leave the host alone for a time, and this time
//     was not over. More than 24 hours count as 24 hours. The combined format
//     does not have this header.
//
// After a 404, 410 or 403 for robots.txt, or another 4xx but 429, no file is in
// force until a 200; a 403 or 401 only for those who have not got the file
// since the input began. A 429 or 5xx changes nothing.
//
// A request is unaudited if no robots.txt is known for its host and time, or if
// the robot may have obeyed a file that is not known. It is counted, and its
// time is part of a span. A page is not shown to follow a robots.txt if the
// robot may have got it before the input began: it is judged, and counted in
// Result.NotShown.
//
// # What is known of time
//
// Requests are judged in the order in which they began. In Caddy's log, the
// start of a request is its "ts" minus its "duration". The combined format has
// starts if $msec and $request_time follow it. The dates in a WARC file are
// starts. A robot may have sent a request up to a second before it arrived, so
// a gap is proved by a run of requests: more of them came than the Crawl-delay
// allows in their time and a second.
//
// The combined format by itself has only the second in which a request ended.
// There, a request may have begun up to a minute before, but not before the
// robot's first fetch of robots.txt from its address.
//
// In a log, a line may be up to 90 seconds away from its place. Where time goes
// back by more, another log goes on (that of another front end, or the buffer
// of another worker), and a log is divided into up to 64 such parts, which are
// merged like separate logs. What is further from its place than that is
// counted in Result.Jumps, and judged by robots.txt alone.
//
// # Cost
//
// On one core, an audit reads a million lines of an access log per second, or
// 250,000 of Caddy's. Its memory depends neither on the number of requests nor
// on what their senders invent: of robots, hosts and addresses, 65,536 are
// told apart.
package audit
