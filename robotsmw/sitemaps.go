package robotsmw

import (
	"context"
	"net/url"
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

// Sitemaps returns the values of the Sitemap lines in the robots.txt of u's
// origin, in order (https://www.sitemaps.org/protocol.html#submit_robots).
// Sitemap lines belong to no group (RFC 9309 §2.2.4), so the result does not
// depend on the crawler's name. Options.KeepFiles is not needed. Like Check,
// Sitemaps fetches robots.txt if it is not in memory, or waits for the fetch
// under way, until ctx ends. Sitemaps fetches no sitemap.
//
// The values are verbatim. The protocol requires an absolute URL, which may be
// on any host, but a server may write anything. To fetch a sitemap, use a
// Transport, because the sitemap's own origin decides whether it may be
// fetched. The result has at most the first 1,000 lines and the first 64 KiB
// of values; values of more than 8 KiB are left out.
//
// The result is nil, without an error, if there are no Sitemap lines, if there
// is no robots.txt (Unavailable or Forbidden), or if robots.txt does not apply
// to u's scheme. If Options.Override has the origin, the lines are those of the
// override. While fetches fail, the lines of the last good copy are returned.
//
// If robots.txt is unreachable and there is no good copy, the error is a
// *DisallowedError: errors.Is finds ErrUnreachable, and Decision.NextTry is
// when the caller should retry. With Options.AllowAfter30Days, after 30 days,
// the result is nil instead, as for a missing file. The other errors are those
// of Check.
func (c *Checker) Sitemaps(ctx context.Context, u *url.URL) ([]string, error) {
	var buf [128]byte
	name, err := appendOrigin(buf[:0], u, "")
	if err != nil {
		return nil, &url.Error{Op: "Sitemaps", URL: cut(u.Redacted(), 700), Err: err}
	}
	if len(name) == 0 {
		return nil, nil
	}
	if override := c.loader.Override(name); override != nil {
		return override.Doc.Sitemaps(), nil
	}
	rec, now, err := c.loader.Load(ctx, name)
	if err != nil {
		return nil, err
	}
	switch rec.InForce(now) {
	case record.Good:
		return rec.Doc.Sitemaps(), nil
	case record.None:
		return nil, c.unreachable(u, rec, now)
	}
	return nil, nil
}

// unreachable returns the error for a URL whose robots.txt is unreachable
// according to rec. It returns nil if AllowAfter30Days allows the URL.
func (c *Checker) unreachable(u *url.URL, rec *record.Record, now time.Time) error {
	var d Decision
	c.judge(&d, u, rec, now)
	if d.Allowed {
		return nil
	}
	return &DisallowedError{Decision: d}
}
