// Package audit reports which robots have violated the rules of a site. It
// reads the access log of a server, an archive, or the record of a crawl.
//
//	a := audit.Auditor{OnViolation: func(v audit.Violation) { fmt.Println(v.Time, v.Address, v.URL, v.Kind) }}
//	a.AddRobotsTxt("", time.Time{}, 200, robotsTxt) // in force on every host, always
//	err := a.Read(ctx, audit.Input{Name: "access.log", Reader: file})
//	result := a.Result()
//
// [Auditor.Read] reads access logs, in the formats of [Formats], and WARC
// files. [Auditor.ReadRecord] reads a record that package evidence has written.
//
// If the evidence is inconclusive, no violation is reported, and the request is
// counted as unaudited.
//
// # Robots
//
// The name of a robot is the beginning of its User-Agent, up to the first
// character other than A-Z a-z 0-9 _ . and -. If the User-Agent begins with
// Mozilla, the name is instead the word after "compatible;" or, if there is
// none, a product whose name contains "bot", "crawl" or "spider" or, if there
// is none, the product before a URL such as "+https://example.com/bot". All
// other User-Agents are treated as browsers, which are counted but not judged.
// The same is true of health checks, such as kube-probe, ELB-HealthChecker and
// GoogleHC. Names that differ only in case are one robot.
//
// A robot obeys the group with its name. If there is none, it obeys the group
// with another name that its operator has published, such as Googlebot for
// Applebot, and otherwise the group "*". AdsBot-Google and similar robots obey
// only groups that name them. [Auditor.Groups] contains the groups of further
// robots.
//
// # Requests
//
// Each request of a robot, except those for robots.txt, is judged by the file
// that was in force on the host at the time of the request. [Violation]
// describes what is reported.
//
// After a 404 or 410 for robots.txt, no file is in force until a 2xx or 304.
// After another 4xx, the same is true only for robots that have not received
// the file since the input began. A 429, a 5xx, and nginx's 444 and 499 for
// requests without a response do not change which file is in force. Only a GET
// counts as a fetch of robots.txt.
//
// A request is unaudited if no robots.txt is known for its host and time, or if
// the robot may have obeyed a file that is not known. It is counted, and its
// time is part of one of [Result].Spans. A log does not contain the target of a
// redirect, so after a redirect of robots.txt, a request for a disallowed page
// is unaudited if the redirect may have led to that page. This applies to one
// URL per host.
//
// If the robot may have received robots.txt before the input began, a request
// for a page is counted as "not_shown". The request is a violation if all files
// of AddRobotsTxt that were in force in the 24 hours before disallow it.
//
// # Clients
//
// A gap is the time between two requests of one client. The client is the
// address in a line of a log, without its port. If the line contains an
// X-Forwarded-For, as in nginx's format "main" or in the headers of Caddy's
// JSON, the client is the first public address in it. In the combined format, a
// client may also be a name, if it is the first of exactly three words before
// the date. Prefixes of log shippers (syslog, RFC 5424, Kubernetes, docker
// compose, journald, Papertrail) are skipped.
//
// The client is unknown if a line contains "-" or "unix:" instead, or the
// address of a machine that represents many clients. An address is assumed to
// represent many clients if another line contains a client behind it, or if it
// has more robots than one machine would run. Such requests prove no gap and
// violate no Retry-After. They are counted as "anonymous".
//
// # Cost
//
// On one core, an audit reads a million lines of an access log per second, or
// 150,000 lines of JSON. Its memory does not depend on the number of requests.
// It distinguishes at most 65,536 robots, hosts and addresses, so clients
// cannot exhaust the memory with invented names.
package audit
