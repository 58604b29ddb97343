// Package signing signs the requests of a crawl, so that servers can tell who
// sends them.
package signing

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/goodbots/courtesy/robotsmw/webbotauth"
)

// Signing says how requests are signed. With the zero value, requests are not
// signed.
type Signing struct {
	KeyFile string // the file of the private key
	Agent   string // the URL of the public key, or an origin if Legacy is true
	Legacy  bool   // see webbotauth.Transport.LegacyAgent

	transport *webbotauth.Transport // nil means requests are not signed
}

// Open reads the key. It returns an error if the key or the settings cannot be
// used for signing.
func (s *Signing) Open() error {
	switch {
	case s.KeyFile == "" && s.Agent == "" && !s.Legacy:
		return nil
	case s.KeyFile == "":
		return errors.New("-signature-agent: say with -key what to sign with")
	case s.Agent == "":
		return errors.New("-key: say with -signature-agent where servers find the key, as in https://bot.example" + webbotauth.DirectoryPath)
	}
	u, err := url.Parse(s.Agent)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("-signature-agent %q: write a URL with https", s.Agent)
	}
	key, err := webbotauth.ReadKey(s.KeyFile)
	if err != nil {
		return fmt.Errorf("-key: %w", err)
	}
	s.transport = &webbotauth.Transport{Key: key, Agent: s.Agent, LegacyAgent: s.Legacy}
	return nil
}

// Sign returns a RoundTripper that signs requests and sends them through base.
// If requests are not signed, it returns base.
func (s *Signing) Sign(base http.RoundTripper) http.RoundTripper {
	if s.transport == nil {
		return base
	}
	s.transport.Base = base
	return s.transport
}

// KeysURL returns where servers find the public key, or "" if requests are not
// signed.
func (s *Signing) KeysURL() string {
	if s.transport == nil || !s.Legacy {
		return s.Agent
	}
	return strings.TrimSuffix(s.Agent, "/") + webbotauth.DirectoryPath // with Legacy, Agent is an origin
}
