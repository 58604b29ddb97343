package keep

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/robotsmw"
)

// Pages stores pages in a directory. The body of each page is in a file that is
// named after the URL's hash. The file index.jsonl has a line about each page.
// If a page is fetched again, another line is added, and the last line of a
// page is the valid one. Several processes may share the directory. Pages is
// safe for concurrent use.
type Pages struct {
	Dir string // "" means that pages are not kept
	All bool   // also keep pages with noindex or noarchive, or that were not examined

	index *os.File // nil if pages are not kept
}

// A line is a line of the index.
type line struct {
	URL         string    `json:"url"`
	File        string    `json:"file"` // the path of the page's file, relative to the directory
	Fetched     time.Time `json:"fetched"`
	ContentType string    `json:"content_type,omitempty"`
	NoIndex     bool      `json:"noindex,omitempty"`
	NoArchive   bool      `json:"noarchive,omitempty"`
}

// Open creates the directory and the index.
func (p *Pages) Open() (err error) {
	if p.Dir == "" {
		return nil
	}
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		return fmt.Errorf("-pages: %w", err)
	}
	path := filepath.Join(p.Dir, "index.jsonl")
	p.index, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("-pages: %w", err)
	}
	return nil
}

// Close closes the index.
func (p *Pages) Close() error {
	if p.index == nil {
		return nil
	}
	return p.index.Close()
}

// Keep stores the response to url if it is a page (2xx). Unless All is set, it
// does not store a page with noindex or noarchive, or a page that was not
// examined.
func (p *Pages) Keep(url string, r *colly.Response, directives robotsmw.Page) error {
	isPage := r.StatusCode >= 200 && r.StatusCode <= 299
	if p.index == nil || !isPage {
		return nil
	}
	l := line{
		URL:         url,
		Fetched:     time.Now().UTC().Truncate(time.Second),
		ContentType: r.Headers.Get("Content-Type"),
		NoIndex:     directives.NoIndex(),
		NoArchive:   directives.Says("noarchive"),
	}
	mustNotKeep := l.NoIndex || l.NoArchive || directives.State == robotsmw.PageNotExamined
	if mustNotKeep && !p.All {
		return nil
	}
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(url)))
	l.File = filepath.Join(hash[:2], hash[2:32])
	if err := p.store(l, r.Body); err != nil {
		return fmt.Errorf("store a page: %w", err)
	}
	return nil
}

// store writes the file of a page, and then its line in the index.
func (p *Pages) store(l line, body []byte) error {
	file := filepath.Join(p.Dir, l.File)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if err := cli.WriteFile(file, body, 0o600); err != nil {
		return err
	}
	return cli.NewEncoder(p.index).Encode(l) // in one write, because other processes append too
}
