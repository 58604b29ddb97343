package collyrobots

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
)

// ask returns the error with which a request for the URL would be refused
// because of robots.txt.
func (x *Extension) ask(c *colly.Collector, URL string) error {
	u, err := url.Parse(asSent(URL))
	if err != nil || u.Host == "" {
		return nil // colly knows better what is wrong with it
	}
	if err := x.decide(c, u); errors.Is(err, colly.ErrRobotsTxtBlocked) {
		return err
	}
	return nil // what else goes wrong does so again, and takes its usual way to OnError
}

// asSent is an absolute URL as colly sends it, but for the fragment; "" if it
// is none.
func asSent(URL string) string {
	target, _, _ := strings.Cut(anywhere.AbsoluteURL(URL), "#")
	return target
}

var anywhere = &colly.Request{URL: &url.URL{Scheme: "http", Host: "invalid"}}

// decide returns the error with which a request for u would be refused because
// of robots.txt, nil if it would not.
func (x *Extension) decide(c *colly.Collector, u *url.URL) error {
	ctx := c.Context
	if ctx == nil {
		ctx = context.Background()
	}
	return x.refusal(ctx, u)
}

func (x *Extension) refusal(ctx context.Context, u *url.URL) error {
	d, err := x.checker.Check(ctx, u)
	if err == nil && !d.Allowed {
		err = &blockedError{&robotsmw.DisallowedError{Decision: d}}
	}
	return err
}
