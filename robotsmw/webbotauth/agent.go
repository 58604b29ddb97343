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

// agentComponent returns the value of the field Signature-Agent, and the
// component that stands for this field in a signature. legacy has the meaning
// of Transport.LegacyAgent.
func agentComponent(label, agent string, legacy bool) (covered component, header string) {
	value := `"` + agent + `"`
	if legacy {
		return component{`"signature-agent"`, value}, value
	}
	return component{`"signature-agent";key="` + label + `"`, value}, label + "=" + value
}

// checkAgent checks the URL that is to stand in Signature-Agent (draft section
// 5.2.1). If this URL must not stand there, the error says why.
func checkAgent(agent string) error {
	u, err := url.Parse(agent)
	switch {
	case agent == "":
		return errors.New("there is none: write the URL of the key directory, as in https://bot.example" + DirectoryPath)
	case err != nil:
		return err
	case u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("%q: write an absolute URL that begins with https://", agent)
	case u.User != nil || u.Fragment != "":
		return errors.New("it has a password or a fragment: leave that out")
	case strings.ContainsFunc(agent, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }):
		return fmt.Errorf("%q: write it in ASCII, with what else it has escaped", agent)
	}
	return nil
}
