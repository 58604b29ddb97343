package page

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/robotsmw/preference"
)

// maxTerms is the greatest number of RSL files to fetch for a page.
// maxTermsSize is the greatest number of bytes to read from a file. It exceeds
// the limit of package preference, so ParseRSL notices that a file is too long.
const (
	maxTerms     = 4
	maxTermsSize = 2 << 20
)

// addTerms fetches the RSL files that the licences of in name, adds them to in,
// and returns the licences. It fetches each file once, and at most maxTerms
// files. t obeys robots.txt and keeps the pace.
func addTerms(ctx context.Context, t http.RoundTripper, page *url.URL, in *preference.Input) (all []license) {
	fetched := make(map[string]error)
	for _, l := range in.Licenses() {
		err, ok := fetched[l.URL]
		switch {
		case ok:
		case len(fetched) == maxTerms:
			err = fmt.Errorf("only %d are read for a page", maxTerms)
		default:
			var terms *preference.RSL
			if terms, err = fetchRSL(ctx, t, page, l.URL); err == nil {
				in.RSL = append(in.RSL, terms)
			}
			fetched[l.URL] = err
		}
		one := license{License: l}
		if err != nil {
			one.Error = err.Error()
		}
		all = append(all, one)
	}
	return all
}

func fetchRSL(ctx context.Context, t http.RoundTripper, page *url.URL, address string) (*preference.RSL, error) {
	u, err := page.Parse(address)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("its address is not http or https")
	}
	resp, err := get(ctx, t, u)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %s", command.Printable(resp.Status))
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxTermsSize))
	if err != nil {
		return nil, err
	}
	return preference.ParseRSL(text)
}

func get(ctx context.Context, t http.RoundTripper, u *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	return (&http.Client{Transport: t}).Do(req)
}
