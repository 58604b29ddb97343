package tool

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/goodbots/courtesy/robotsmw/webbotauth"
)

// A signing says how requests are signed, so that servers can tell who sends
// them. With the zero value, requests are not signed.
type signing struct {
	keyFile string // the file of the private key
	agent   string // the URL of the public key, or an origin if legacy is true
	legacy  bool   // see webbotauth.Transport.LegacyAgent

	transport *webbotauth.Transport // nil means requests are not signed
}

// open reads the key. It returns an error if the key or the settings cannot be
// used for signing.
func (s *signing) open() error {
	switch {
	case s.keyFile == "" && s.agent == "" && !s.legacy:
		return nil
	case s.keyFile == "":
		return errors.New("-signature-agent: say with -key what to sign with")
	case s.agent == "":
		return errors.New("-key: say with -signature-agent where servers find the key, as in https://bot.example" + webbotauth.DirectoryPath)
	}
	u, err := url.Parse(s.agent)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("-signature-agent %q: write a URL with https", s.agent)
	}
	key, err := webbotauth.ReadKey(s.keyFile)
	if err != nil {
		return fmt.Errorf("-key: %w", err)
	}
	s.transport = &webbotauth.Transport{Key: key, Agent: s.agent, LegacyAgent: s.legacy}
	return nil
}

// sign returns a RoundTripper that signs requests and sends them through base.
// If requests are not signed, it returns base.
func (s *signing) sign(base http.RoundTripper) http.RoundTripper {
	if s.transport == nil {
		return base
	}
	s.transport.Base = base
	return s.transport
}
