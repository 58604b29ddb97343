package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/url"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/output"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/robot"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

func fetch(ctx context.Context, e command.Env, rawURL, userAgent string) (*Source, error) {
	u, err := command.ParseURL(rawURL)
	if err != nil {
		return nil, err
	}
	heard := &Recorder{Base: e.Base}
	t, err := robotsmw.NewTransport(robotsmw.Options{
		UserAgent: userAgent,
		Base:      heard,
		Limiter:   new(politeness.Limiter),
		Logger:    slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, robot.UserAgentError(userAgent)
	}
	// The Checker allows /robots.txt without fetching it, so check another
	// path.
	decision, err := t.Checker().Check(ctx, u.ResolveReference(&url.URL{Path: "/"}))
	if err != nil {
		return nil, err
	}
	last := heard.last()
	s := &Source{Name: decision.RobotsURL, From: last.url, Decision: &decision}
	if _, none := s.Absent(); none {
		return s, nil
	}
	s.Text = last.body.Bytes()
	if hash := sha256.Sum256(s.Text); hex.EncodeToString(hash[:]) != decision.SHA256() {
		return nil, fmt.Errorf("%s comes in a coding that cannot be shown (Content-Encoding: %s)", s.Name, output.Printable(last.coding))
	}
	return s, nil
}
