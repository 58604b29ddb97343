package robot

import (
	"flag"
	"strings"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
)

// defaultUserAgent is the User-Agent of requests unless -user-agent is given.
const defaultUserAgent = "robotscheck/1.0 (+https://github.com/goodbots/courtesy)"

// UserAgentFlag declares -user-agent.
func UserAgentFlag(flags *flag.FlagSet) *string {
	return flags.String("user-agent", defaultUserAgent, "`header` to fetch a URL with; write your crawler's own where servers tell crawlers apart")
}

// UserAgentError returns the error for a User-Agent that does not begin with a
// product token.
func UserAgentError(userAgent string) error {
	return command.Usagef("-user-agent %q: begin with your crawler's name, one word that is not a library's, as in ExampleBot/1.0 (+https://example.com/bot)", userAgent)
}

// TokensFlag declares -agent, which may be given several times.
func TokensFlag(flags *flag.FlagSet, usage string) *Tokens {
	var list Tokens
	flags.Var(&list, "agent", usage)
	return &list
}

// Tokens is a list of product tokens. An element may be "*".
type Tokens []string

func (a *Tokens) String() string { return strings.Join(*a, ", ") }

func (a *Tokens) Set(s string) error {
	if err := Check(s); err != nil {
		return err
	}
	*a = append(*a, s)
	return nil
}
