package robots

import (
	"errors"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// CheckName returns an error if s is neither the name of a robot nor "*".
func CheckName(s string) error {
	if s == "*" {
		return nil
	}
	if s == "" {
		return errors.New("empty name; use the product token of the robot, such as ExampleBot, or \"*\"")
	}
	name := Name(s)
	if name == "" || name == "Mozilla" {
		return fmt.Errorf("%q is not a product token, which has only letters, digits, "+
			`"_", "-" and "."; use a name such as ExampleBot, or "*"`, s)
	}
	if name != s {
		return fmt.Errorf("%q is not a product token; use %s, without version or address", s, name)
	}
	return nil
}

// Name returns the robot's name at the beginning of s, which is the value of a
// user-agent line or of a User-Agent header. "*" counts as a name.
func Name(s string) string {
	if firstWord, _, _ := strings.Cut(strings.ReplaceAll(s, "\t", " "), " "); firstWord == "*" {
		return "*"
	}
	return namePrefix.FindString(s)
}

var namePrefix = regexp.MustCompile(`^[A-Za-z0-9_.-]*`)

// Named returns the robots that the user-agent lines of the files name. It
// ignores letter case, and returns each robot once. "*" comes first. The others
// follow in the order of the lines.
func Named(files ...*robotstxt.File) (names []string) {
	known := make(map[string]bool) // in lower case
	add := func(name string) {
		lower := strings.ToLower(name)
		if name == "" || known[lower] {
			return
		}
		known[lower] = true
		if name == "*" {
			names = slices.Insert(names, 0, name)
		} else {
			names = append(names, name)
		}
	}
	for _, file := range files {
		for group := range file.Groups() {
			for _, userAgent := range group.UserAgents {
				add(Name(userAgent.Value))
			}
		}
	}
	return names
}

// UserAgentFlag declares -user-agent, the User-Agent of requests.
func UserAgentFlag(flags *flag.FlagSet) *string {
	return flags.String("user-agent", "robotscheck/1.0 (+https://github.com/goodbots/courtesy)",
		"`header` for fetching a URL; use that of your crawler if servers respond differently "+
			"to different crawlers")
}

// TokensFlag declares -agent, which may be repeated. An element of the list may
// be "*".
func TokensFlag(flags *flag.FlagSet, usage string) *[]string {
	list := new([]string)
	flags.Func("agent", usage, func(s string) error {
		*list = append(*list, s)
		return CheckName(s)
	})
	return list
}
