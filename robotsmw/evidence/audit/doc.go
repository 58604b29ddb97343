// Package audit finds out which robots broke the rules of a site. It reads a
// server's log, an archive, or the record of a crawl.
//
//	var history audit.History
//	history.Add("", time.Time{}, 200, robotsTxt) // in force on every host, always
//	a := audit.Auditor{
//		History:     &history,
//		OnViolation: func(v audit.Violation) { fmt.Println(v.Time, v.URL, v.Kind) },
//	}
//	err := a.Read(ctx, audit.Input{Name: "access.log", Reader: file})
//	result := a.Result()
//
// [Auditor.Read] takes access logs, in the combined format of nginx and Apache
// or in Caddy's JSON, and WARC files. [Auditor.ReadRecord] takes a record that
// package evidence has written. The doc of ReadRecord says what it checks.
// [Auditor.Add] takes single requests, from any other source.
//
// # Robots
//
// The name of a robot is the part of its User-Agent before the first character
// other than A-Z a-z 0-9 _ . and -. If this name is Mozilla, the name after
// "compatible;" counts instead. A User-Agent without a name is taken for a
// browser: its requests are counted, but not judged. Names that differ only in
// case are one robot.
//
// # What is judged
//
// Each request of a robot, except those for robots.txt, is judged by the file
// that was in force on the host at the time of the request:
//
//   - [Disallowed]: the file forbids the request.
//   - [Stale]: the file forbids the request. The robot's last fetch (a 200 or
//     304) was more than 24 hours before the request. That fetch got an older
//     file, which allows the request. Up to 24 hours after that fetch, the
//     request would have been no violation, because RFC 9309 §2.4 lets a robot
//     keep a file for that long.
//   - [BeforeRobotsTxt]: the robot had not yet asked for robots.txt on this
//     host. This is reported once per robot and host.
//   - [Gap]: the request began too soon after the previous page of the same
//     robot on the same host. The Crawl-delay in force requires more time.
//   - [RetryAfter]: the Retry-After of a 429, a 503 or a redirect had asked the
//     robot to leave the host alone for a time, and this time was not over. A
//     time of more than 24 hours counts as 24 hours. The combined format does
//     not have this header.
//
// A request is unaudited if no robots.txt is known for its host and time. It is
// also unaudited if the robot may have obeyed a file that is older than the
// first known one. The same holds if the request took so long that its gaps can
// no longer be judged. An unaudited request is counted, and its time is part of
// a [Span].
//
// # What is known of time
//
// Gaps are measured between the starts of requests. In Caddy's log, the start
// of a request is its "ts" minus its "duration". The combined format has starts
// if $msec and $request_time follow it. The dates in a WARC file are starts.
// The combined format by itself has only the second in which a request ended.
// In such a log, a gap counts as a violation only if neither rounding nor the
// durations of requests can explain it. To prove this, the audit assumes that
// the robot began no page before its first fetch of robots.txt, because that
// would be a violation too. It then computes how long the pages since that
// fetch would take at one page per Crawl-delay. If less time has passed, a gap
// was too short.
//
// Requests are judged in the order in which they began. In a log, a line may be
// up to ten seconds away from its place. If the time jumps back by more than
// that, the audit reports and counts the jump, and judges no gap across it. In
// a WARC file, such a jump is only reported and counted.
//
// # Cost
//
// On two cores, an audit reads 300,000 lines of an access log per second, or
// more. Its memory grows with the number of robots and hosts, not with the
// number of requests.
package audit
