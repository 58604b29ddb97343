// Package audit finds out which robots broke the rules of a site. It reads a
// server's log, an archive, or the record of a crawl.
//
//	a := audit.Auditor{OnViolation: func(v audit.Violation) { fmt.Println(v.Time, v.Address, v.URL, v.Kind) }}
//	a.AddRobotsTxt("", time.Time{}, 200, robotsTxt) // in force on every host, always
//	err := a.Read(ctx, audit.Input{Name: "access.log", Reader: file})
//	result := a.Result()
//
// [Auditor.Read] takes access logs, in the formats of [Formats], and WARC
// files. [Auditor.ReadRecord] takes a record that package evidence has written;
// its doc says what it checks.
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
// judged. So are health checks, such as kube-probe, ELB-HealthChecker and
// GoogleHC. Names that differ only in case are one robot.
//
// A robot obeys the group of its name, else that of another name that its
// operator has published (Applebot: Googlebot), else "*"; AdsBot-Google and its
// like only a group that names them. Auditor.Groups adds to this list.
//
// # What is judged
//
// Each request of a robot, except those for robots.txt, is judged by the file
// that was in force on the host at the time of the request. [Violation] says
// what is reported.
//
// After a 404 or 410 for robots.txt, no file is in force until a 200. Another
// 4xx means this only for those who have not got the file since the input
// began. A 429, a 5xx, and nginx's 444 and 499 for requests without an answer
// change nothing. Only a GET brings a robots.txt.
//
// A request is unaudited if no robots.txt is known for its host and time, or if
// the robot may have obeyed a file that is not known. It is counted, and its
// time is part of a span. So is a forbidden page to which a redirect of
// robots.txt may have led: a log does not say where it leads. Only one URL of a
// host is excused in this way.
//
// A page is not shown to follow a robots.txt if the robot may have got it
// before the input began: it is counted as "not_shown". It breaks a rule if all
// files of AddRobotsTxt that were in force in the 24 hours before forbid it.
//
// # Clients
//
// A gap is between two requests of one client. The client is the address in a
// line of a log, without its port. If the line contains an X-Forwarded-For, as
// nginx's format "main" does, or as the headers in Caddy's JSON, the client is
// the first public address in it. In the combined format, a client may also be
// a name, if it is the first of exactly three words before the date. Prefixes
// of log shippers (syslog, RFC 5424, Kubernetes, docker compose, journald,
// Papertrail) are skipped.
//
// No client is known if a line has "-" or "unix:" instead, or the address of a
// machine that stands for many clients: it names clients in other lines, or
// more robots come from it than one machine has. These requests prove no gap
// and break no Retry-After. They are counted as "anonymous".
//
// # Cost
//
// On one core, an audit reads a million lines of an access log per second, or
// 150,000 of JSON. Its memory depends neither on the number of requests nor
// on what their senders invent: of robots, hosts and addresses, 65,536 are
// told apart.
package audit
