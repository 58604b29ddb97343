package audit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/goodbots/courtesy/robotsmw/evidence/audit"
)

// This program reads the access log of a site, and prints the requests that
// violated the rules of the site.
func Example() {
	judge := audit.Auditor{
		OnViolation: func(v audit.Violation) {
			fmt.Println(v.Time.Format(time.TimeOnly), v.Robot, v.URL, v.Kind, v.Line)
		},
		OnBroken: func(input string, line int, err error) { fmt.Printf("%s:%d: %v\n", input, line, err) },
	}
	judge.AddRobotsTxt("", time.Time{}, 200, []byte("User-agent: *\nDisallow: /private/\n"))
	log := `192.0.2.1 - - [20/Nov/2026:10:00:00 +0000] "GET /robots.txt HTTP/1.1" 200 38 "-" "GoodBot/1.0"
192.0.2.1 - - [20/Nov/2026:10:00:01 +0000] "GET /news HTTP/1.1" 200 512 "-" "GoodBot/1.0"
192.0.2.7 - - [20/Nov/2026:10:00:02 +0000] "GET /private/plan HTTP/1.1" 200 512 "-" "BadBot/2.0"
this is no line of a log
`
	if err := judge.Read(context.Background(), audit.Input{Name: "access.log", Reader: strings.NewReader(log)}); err != nil {
		fmt.Println(err)
	}
	r := judge.Result()
	fmt.Println(r.Requests, "requests,", len(r.Robots), "robots,", r.Violations, "violations,", r.Counts["unaudited"], "unaudited")
	// Output:
	// access.log:4: the line is in no known format
	// 10:00:02 BadBot /private/plan disallowed 2
	// 3 requests, 2 robots, 1 violations, 0 unaudited
}

// This program prints each robots.txt in an archive of many sites.
func ExampleRobotsTxts() {
	answer := "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nUser-agent: *\nDisallow: /private/\n"
	file := fmt.Sprintf("WARC/1.0\r\nWARC-Type: response\r\nWARC-Date: 2026-11-20T10:00:00Z\r\n"+
		"WARC-Target-URI: https://example.com/robots.txt\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", len(answer), answer)
	for resp, err := range audit.RobotsTxts(strings.NewReader(file)) {
		if err != nil {
			fmt.Println(err)
			continue
		}
		text, _ := io.ReadAll(resp.Body)
		fmt.Printf("%s %d %q\n", resp.Request.URL, resp.StatusCode, text)
	}
	// Output:
	// https://example.com/robots.txt 200 "User-agent: *\nDisallow: /private/\n"
}

// If no line of a log is in a known format, Read returns a FormatError, which
// contains the first line.
func ExampleFormatError() {
	var judge audit.Auditor
	log := strings.NewReader("Nov 20 10:00:00 mail postfix: connect from a.example\n")
	err := judge.Read(context.Background(), audit.Input{Name: "mail.log", Reader: log})
	if unknown, ok := errors.AsType[*audit.FormatError](err); ok {
		fmt.Println(unknown.Input, "begins with", unknown.Line)
	}
	fmt.Println(audit.Formats())
	// Output:
	// mail.log begins with Nov 20 10:00:00 mail postfix: connect from a.example
	// [combined caddy nginx traefik w3c alb logpush]
}

// This program sets the format of a log in JSON. A line in another format is
// then passed to OnBroken, and its format is not detected.
func ExampleAuditor_format() {
	judge := audit.Auditor{
		Format:      "caddy",
		OnViolation: func(v audit.Violation) { fmt.Println(v.Robot, v.URL, v.Kind) },
		OnBroken:    func(input string, line int, err error) { fmt.Printf("%s:%d: %v\n", input, line, err) },
	}
	judge.AddRobotsTxt("", time.Time{}, 200, []byte("User-agent: *\nDisallow: /private/\n"))
	log := `{"ts":1795168800,"request":{"client_ip":"192.0.2.7","method":"GET","host":"example.com","uri":"/private/plan","headers":{"User-Agent":["BadBot/2.0"]}},"status":200}
192.0.2.7 - - [20/Nov/2026:10:00:02 +0000] "GET /private/map HTTP/1.1" 200 512 "-" "BadBot/2.0"
`
	if err := judge.Read(context.Background(), audit.Input{Name: "access.log", Reader: strings.NewReader(log)}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(judge.Result().Requests, "request")
	// Output:
	// access.log:2: the line is not a JSON object
	// BadBot /private/plan disallowed
	// 1 request
}

// The requests of the site's own monitor should be counted, but not judged.
func ExampleAuditor_ignore() {
	judge := audit.Auditor{
		Ignore:      []string{"examplemonitor"},
		OnViolation: func(v audit.Violation) { fmt.Println(v.Robot, v.URL, v.Kind) },
	}
	judge.AddRobotsTxt("", time.Time{}, 200, []byte("User-agent: *\nDisallow: /private/\n"))
	log := `192.0.2.1 - - [20/Nov/2026:10:00:00 +0000] "GET /private/health HTTP/1.1" 200 2 "-" "ExampleMonitor/1.0"
192.0.2.7 - - [20/Nov/2026:10:00:02 +0000] "GET /private/plan HTTP/1.1" 200 512 "-" "BadBot/2.0"
`
	if err := judge.Read(context.Background(), audit.Input{Name: "access.log", Reader: strings.NewReader(log)}); err != nil {
		fmt.Println(err)
	}
	r := judge.Result()
	fmt.Println(r.Violations, "violations,", r.Counts["ignored"], "ignored")
	// Output:
	// BadBot /private/plan disallowed
	// 1 violations, 1 ignored
}

// This program counts the requests of each robot by the hour, as a report with
// a time axis does. It counts all requests, whether or not they are violations.
func ExampleAuditor_onRequest() {
	hours := make(map[string]int)
	judge := audit.Auditor{
		OnRequest: func(robot string, at time.Time) {
			hours[at.UTC().Format("15h ")+robot]++
		},
	}
	judge.AddRobotsTxt("", time.Time{}, 200, []byte("User-agent: *\nDisallow: /private/\n"))
	log := `192.0.2.1 - - [20/Nov/2026:10:00:00 +0000] "GET /robots.txt HTTP/1.1" 200 38 "-" "GoodBot/1.0"
192.0.2.1 - - [20/Nov/2026:10:59:01 +0000] "GET /news HTTP/1.1" 200 512 "-" "GoodBot/1.0"
192.0.2.7 - - [20/Nov/2026:11:00:02 +0000] "GET /news HTTP/1.1" 200 512 "-" "BadBot/2.0"
`
	if err := judge.Read(context.Background(), audit.Input{Name: "access.log", Reader: strings.NewReader(log)}); err != nil {
		fmt.Println(err)
	}
	judge.Result() // judges the requests that have not been judged yet
	for _, hour := range slices.Sorted(maps.Keys(hours)) {
		fmt.Println(hour, hours[hour])
	}
	// Output:
	// 10h GoodBot 2
	// 11h BadBot 1
}
