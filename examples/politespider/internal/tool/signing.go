package tool

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/goodbots/courtesy/robotsmw/webbotauth"
)

// A signing determines how requests are signed, so that servers can identify
// the crawler. With the zero value, requests are not signed.
type signing struct {
	keyFile string // the file of the private key; "" means requests are not signed
	webbotauth.Transport
}

// open reads the key. It returns an error if the key or the settings cannot be
// used for signing.
func (s *signing) open() (err error) {
	switch {
	case s.keyFile == "" && s.Agent == "" && !s.LegacyAgent:
		return nil
	case s.keyFile == "":
		return errors.New("-signature-agent requires -key, the file of the private key")
	case s.Agent == "":
		return errors.New("-key requires -signature-agent, the URL of the key directory, " +
			"such as https://bot.example" + webbotauth.DirectoryPath)
	}
	u, err := url.Parse(s.Agent)
	if isHTTPS := err == nil && u.Scheme == "https" && u.Host != ""; !isHTTPS {
		return fmt.Errorf("-signature-agent %q: must be an https URL", s.Agent)
	}
	if s.Key, err = webbotauth.ReadKey(s.keyFile); err != nil {
		return fmt.Errorf("-key: %w", err)
	}
	if err := s.Validate(); err != nil {
		return fmt.Errorf("-key %s, -signature-agent %s: %w", s.keyFile, u.Redacted(), err)
	}
	return nil
}

// keysURL returns where servers find the public key, or "" if requests are not
// signed.
func (s *signing) keysURL() string {
	if s.LegacyAgent { // then Agent is an origin
		return strings.TrimSuffix(s.Agent, "/") + webbotauth.DirectoryPath
	}
	return s.Agent
}
