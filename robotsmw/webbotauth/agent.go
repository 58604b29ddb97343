package webbotauth

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// DirectoryPath is the path under which an origin publishes its keys (draft
// section 8.1). The URL in Signature-Agent usually ends with this path.
const DirectoryPath = "/.well-known/http-message-signatures-directory"

// agentComponent returns the component that a signature covers for
// Signature-Agent, and the value of that header field. legacy is
// Transport.LegacyAgent.
func agentComponent(label, agent string, legacy bool) (covered component, header string) {
	value := `"` + agent + `"`
	if legacy {
		return component{`"signature-agent"`, value}, value
	}
	return component{`"signature-agent";key="` + label + `"`, value}, label + "=" + value
}

// checkAgent returns an error if a URL is not valid for Signature-Agent (draft
// section 5.2.1).
func checkAgent(agent string) error {
	u, err := url.Parse(agent)
	switch {
	case agent == "":
		return errors.New("the URL is empty: set the URL of the key directory, such as https://bot.example" + DirectoryPath)
	case err != nil:
		return err
	case u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("%q is not an absolute URL that begins with https://", agent)
	case u.User != nil || u.Fragment != "":
		return errors.New("the URL must not contain a user, password or fragment")
	case strings.ContainsFunc(agent, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }):
		return fmt.Errorf("%q must consist of printable ASCII characters other than space, quote and backslash", agent)
	}
	return nil
}
