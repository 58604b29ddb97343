// Package audit finds out which robots broke the rules of a site. It reads the
// log of a server, an archive, or the record of a crawl.
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
// package evidence has written, and says what it checks. Requests in another
// form can be given to [Auditor.Add] one by one.
//
// # Robots
//
// The name of a robot is the beginning of its User-Agent, as far as the
// characters are A-Z a-z 0-9 _ . or -. If this name is Mozilla, the name after
// "compatible;" is taken in its place. A User-Agent without such a name is that
// of a browser: its requests are counted, but not judged. Names that differ
// only in case are one robot.
//
// # What is judged
//
// Each request of a robot, except those for robots.txt, is judged by the file
// that is in force on its host at its time:
//
//   - [Disallowed]: the file forbids it.
//   - [Stale]: the file forbids it. An older file allows it, and the robot got
//     that one with its last fetch (a 200 or 304), more than 24 hours ago. Up
//     to 24 hours after the fetch, the request would be no violation, because
//     RFC 9309 §2.4 lets a robot keep a file for that long.
//   - [BeforeRobotsTxt]: the robot had not yet asked for robots.txt on this
//     host. This is reported once per robot and host.
//   - [Gap]: the request began too soon after the previous page of the same
//     robot on the same host. The Crawl-delay in force requires more time.
//   - [RetryAfter]: the Retry-After of a 429, a 503 or a redirect had asked the
//     robot to leave the host alone, and that time was not over. At most 24
//     hours count. The combined format does not have this header.
//
// A request is unaudited if no robots.txt is known for it, if it may have been
// allowed by a file that the robot fetched before the first known one, or if it
// took so long that its gaps can no longer be judged. An unaudited request is
// counted, and its time is part of a [Span].
//
// # What is known of time
//
// Gaps are measured between the starts of requests. Caddy's log has the starts:
// ts minus duration. The combined format has them if $msec and $request_time
// follow it. A WARC file has them as dates. The combined format by itself has
// only the second in which a request ended. Then a gap counts as a violation
// only if neither rounding nor the durations of requests can explain it. This
// is so if all pages since the robot's first fetch of robots.txt, each a
// Crawl-delay after the one before, do not fit into the time since that fetch.
// The robot is taken to have begun no page before that fetch, because that
// would be a violation too.
//
// Requests are judged in the order in which they began. In a log, a request may
// be up to ten seconds away from its place. If the time jumps back by more than
// that, the jump is reported and counted, and no gap is judged across it. In a
// WARC file, such a jump is only reported and counted.
//
// # Cost
//
// On two cores, an audit reads some 300,000 lines of an access log per second,
// or more. Its memory grows with the number of robots and hosts, not with the
// number of requests.
package audit
