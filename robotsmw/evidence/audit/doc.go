// Package audit finds out, from what a server or an archive has written down,
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
// or Caddy's JSON, and WARC files. Whoever has requests in another form gives
// them to [Auditor.Add] one by one.
//
// # Robots
//
// A robot is named by its User-Agent: by the leading run of A-Z a-z 0-9 _ . and
// - or, if that is Mozilla, by the one after "compatible;". A User-Agent without
// either is a browser's: its requests are counted and not judged. Names that
// differ in case are one robot's.
//
// # What is judged
//
// Each request of a robot that is not for robots.txt is judged by the file that
// is in force on its host at its time:
//
//   - [Disallowed]: the file forbids it.
//   - [Stale]: the file forbids it, and the one that the robot got when it last
//     fetched robots.txt, with a 200 or 304, did not. For 24 hours after that
//     fetch this is no violation: RFC 9309 §2.4 lets a robot keep a file for so
//     long.
//   - [BeforeRobotsTxt]: the robot had not asked for robots.txt on this host.
//     That is said once per robot and host.
//   - [Gap]: it began sooner after the page before it, of the same robot on the
//     same host, than the Crawl-delay in force wants.
//   - [RetryAfter]: it began before the end of the time for which a 429, a 503 or
//     a redirect had asked the robot to leave the host alone. At most 24 hours
//     count. Caddy's logs and WARC files have the header, others have not.
//
// Where no robots.txt is known the request is unaudited: it is counted, and its
// time is told as a [Span]. So is one that the robot may have been allowed by a
// file that it fetched before the first one that is known.
//
// # What is known of time
//
// Gaps are between the starts of requests. Caddy's log has them, as ts less
// duration, and so has the combined format if it is followed by $msec and
// $request_time; a WARC file has dates of starts. The combined format by itself
// has the second in which a request was over. A gap is a violation only if no
// rounding and no duration can be the reason: if the requests since the robot's
// first fetch of robots.txt would not have fitted into the time until now,
// however long each of them took. That robot cannot have begun a page before.
//
// Requests are judged in the order in which they began. Those in a log may be up
// to ten seconds from their place; where the time jumps back by more, that is
// told and counted, and no gap is judged across it.
//
// # Cost
//
// Some 300,000 lines a second and more, of an access log, on two cores. Memory
// goes with the number of robots and hosts, not of requests.
package audit
