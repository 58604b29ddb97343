package page

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

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

// A termsFile is an RSL file, or the reason why it could not be read.
type termsFile struct {
	*preference.RSL
	address string // as the robots.txt or the Link header gives it
	err     error
}

func errorOf(files []termsFile, address string) string {
	for _, f := range files {
		if f.address == address && f.err != nil {
			return f.err.Error()
		}
	}
	return ""
}

// fetchTerms fetches the RSL files that the licences name: each file once, and
// at most maxTerms files. t obeys robots.txt and keeps the pace.
func fetchTerms(ctx context.Context, t http.RoundTripper, page *url.URL, licenses []preference.License) (files []termsFile) {
	for _, l := range licenses {
		if slices.ContainsFunc(files, func(f termsFile) bool { return f.address == l.URL }) {
			continue
		}
		f := termsFile{address: l.URL}
		if len(files) < maxTerms {
			f.RSL, f.err = fetchRSL(ctx, t, page, l.URL)
		} else {
			f.err = fmt.Errorf("only %d are read for a page", maxTerms)
		}
		files = append(files, f)
	}
	return files
}

func fetchRSL(ctx context.Context, t http.RoundTripper, page *url.URL, address string) (*preference.RSL, error) {
	u, err := page.Parse(address)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("its address is not http or https")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := (&http.Client{Transport: t}).Do(req)
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
