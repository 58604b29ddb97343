package lint

import (
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"
)

// checkUserAgent checks the value of a user-agent line.
func (c *lineChecker) checkUserAgent(value string) {
	if value == "" {
		c.addValue(0, codeAgentForm, Error, "User-agent: *", "the name of the robot is missing")
		return
	}
	if value == "*" {
		return
	}
	if value[0] == '/' {
		c.addValue(0, codeReversed, Error, "Disallow: "+value,
			"%q is a path, not a robot", clip(value))
		return
	}
	token := productToken(value)
	if token == value {
		return
	}
	fix := ""
	if name := intendedRobot(value, token); name != "" {
		fix = "User-agent: " + name
	}
	c.addValue(len(token), codeAgentForm, Warning, fix,
		"the name of a robot consists of letters, digits, \"_\", \"-\" and \".\"; robots compare only %q",
		clip(token))
}

// productToken returns the product token at the beginning of the value of a
// user-agent line, which is what robots compare.
func productToken(value string) string {
	n := 0
	for n < len(value) && syntax.IsTokenByte(value[n]) {
		n++
	}
	return value[:n]
}

// intendedRobot returns the robot that the author of a user-agent line probably
// intended, or "" if it is not clear. token is the productToken of the value,
// and shorter than the value.
//
// The robot is the token if a version, a comment or "*" follows it. Any other
// text may be part of the name. A token "Mozilla" begins the User-Agent header
// of a browser, which does not name a robot.
func intendedRobot(value, token string) string {
	if syntax.Wildcard.IsIn(value) {
		return "*"
	}
	if token == "" || strings.EqualFold(token, "Mozilla") {
		return ""
	}
	rest := strings.TrimLeft(value[len(token):], " \t")
	hasVersion := value[len(token)] == '/' && strings.IndexByte(rest, ' ') < 0
	hasComment := rest[0] == '('
	if hasVersion || hasComment || rest == "*" {
		return token
	}
	return ""
}
