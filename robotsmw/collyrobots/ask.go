package collyrobots

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
)

// ask returns the error with which robots.txt would refuse a request for URL.
// It returns nil if robots.txt would not refuse it.
func (x *Extension) ask(c *colly.Collector, URL string) error {
	u, err := url.Parse(asSent(URL))
	if err != nil || u.Host == "" {
		return nil // colly reports what is wrong with the URL
	}
	if err := x.decide(c, u); errors.Is(err, colly.ErrRobotsTxtBlocked) {
		return err
	}
	return nil // any other error: the request will fail with it too, and OnError gets it
}

// asSent returns an absolute URL as colly sends it, without the fragment. It
// returns "" if URL is not a valid absolute URL.
func asSent(URL string) string {
	target, _, _ := strings.Cut(anywhere.AbsoluteURL(URL), "#")
	return target
}

var anywhere = &colly.Request{URL: &url.URL{Scheme: "http", Host: "invalid"}}

// decide returns the error with which robots.txt would refuse a request of c
// for u, or the error that prevented the check. It returns nil if u is allowed.
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
