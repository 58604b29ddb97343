// Package audit reads what a server or an archive has recorded, and finds out
// which robots broke the rules of a site.
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
// or in Caddy's JSON, and WARC files. Requests in another form can be given to
// [Auditor.Add] one by one.
//
// # Robots
//
// A robot is named by its User-Agent: by the leading run of A-Z a-z 0-9 _ . and
// - or, if that is Mozilla, by the one after "compatible;". A User-Agent
// without either is that of a browser: its requests are counted and not judged.
// Names that differ only in case are one robot.
//
// # What is judged
//
// Each request of a robot, except those for robots.txt, is judged by the file
// that is in force on its host at its time:
//
//   - [Disallowed]: the file forbids it.
//   - [Stale]: the file forbids it, but the file that the robot last got, with
//     a 200 or 304, did not. For 24 hours after that fetch this is no
//     violation: RFC 9309 §2.4 lets a robot keep a file for that long.
//   - [BeforeRobotsTxt]: the robot had not yet asked for robots.txt on this
//     host. This is reported once per robot and host.
//   - [Gap]: it began too soon after the previous page of the same robot on the
//     same host. The Crawl-delay in force requires more time.
//   - [RetryAfter]: a 429, a 503 or a redirect had asked the robot to leave the
//     host alone, and that time was not over. At most 24 hours count. Only
//     Caddy's logs and WARC files have the header.
//
// If no robots.txt is known, the request is unaudited: it is counted, and its
// time is part of a [Span]. The same holds if the robot may have been allowed
// by a file that it fetched before the first known one.
//
// # What is known of time
//
// Gaps are measured between the starts of requests. Caddy's log has the starts,
// as ts less duration. The combined format has them if $msec and $request_time
// follow it. A WARC file has them as dates. The combined format by itself has
// only the second in which a request ended. Then a gap counts as a violation
// only if neither rounding nor durations can explain it: if the requests since
// the robot's first fetch of robots.txt could not fit into the time until now,
// however long each of them took. The robot cannot have begun a page before
// that fetch, because that would be a violation too.
//
// Requests are judged in the order in which they began. In a log, a request may
// be up to ten seconds away from its place. If the time jumps back by more than
// that, the jump is reported and counted, and no gap is judged across it.
//
// # Cost
//
// On two cores, some 300,000 lines of an access log a second and more. Memory
// grows with the number of robots and hosts, not of requests.
package audit
