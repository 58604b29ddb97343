package record

import (
	"fmt"
	"net/url"
	"regexp"
	"time"

	"github.com/goodbots/courtesy/examples/internal/cli"
)

// Printable returns text from a server in a form that is safe and short enough
// for a line of the output or of the report.
func Printable(s string) string { return cli.Printable(s, 100) }

// Cause returns the text of an error without the addresses and the URL in it,
// because the output shows the URL anyway.
func Cause(text string) string { return place.ReplaceAllString(text, "") }

// place matches the parts of an error in which package net names the addresses,
// and package url the URL.
var place = regexp.MustCompile(
	`\b(dial|read|write) \w+( \S+)?: (\w+: )?(lookup \S+( on \S+)?: )?` +
		`|\bparse "[^"]*": `)

// Count returns a number with its noun, such as "2 links".
func Count(n int, noun string) string { return fmt.Sprintf("%d %s", n, cli.Noun(n, noun)) }

// Seconds returns d in seconds, rounded to the millisecond.
func Seconds(d time.Duration) float64 {
	return float64(d.Round(time.Millisecond).Milliseconds()) / 1000
}

// Duration returns a time in seconds as a Duration, rounded to the millisecond.
func Duration(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
}

// Since returns the number of seconds that have passed since t.
func Since(t time.Time) float64 { return Seconds(time.Since(t)) }

// Origin returns the scheme, host and port of a URL, or "" if it has none.
func Origin(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
