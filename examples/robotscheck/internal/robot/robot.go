// Package robot checks and finds the names of robots. Names stand on the
// command line (-agent, -user-agent) and in the user-agent lines of a
// robots.txt.
package robot

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// Check returns an error unless s is the name of a robot or "*".
func Check(s string) error {
	if s == "*" {
		return nil
	}
	switch name := Name(s); {
	case s == "":
		return errors.New("an empty name: write the robot's product token, such as ExampleBot, or \"*\"")
	case name == "", name == "Mozilla":
		return fmt.Errorf("%q is no product token: write letters, digits, \"_\", \"-\" and \".\" only, such as ExampleBot, or \"*\"", s)
	case name != s:
		return fmt.Errorf("%q is no product token: write %s alone, without version or address", s, name)
	}
	return nil
}

// Name returns the robot's name at the beginning of s. The argument s is the
// value of a user-agent line or of a User-Agent header.
func Name(s string) string {
	if s == "*" || strings.HasPrefix(s, "* ") || strings.HasPrefix(s, "*\t") {
		return "*"
	}
	end := strings.IndexFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' || r == '.')
	})
	if end < 0 {
		end = len(s)
	}
	return s[:end]
}

// Named returns the robots that the user-agent lines of the files name. It
// ignores letter case, and returns each robot once. "*" comes first. The others
// follow in the order of the lines.
func Named(files ...*robotstxt.File) []string {
	var names []string
	known := make(map[string]bool)
	for _, f := range files {
		for g := range f.Groups() {
			for _, a := range g.UserAgents {
				name := Name(a.Value)
				switch lower := strings.ToLower(name); {
				case name == "" || known[lower]:
				case name == "*":
					names = append([]string{"*"}, names...)
					known[lower] = true
				default:
					names = append(names, name)
					known[lower] = true
				}
			}
		}
	}
	return names
}
