package collyrobots

import (
	"crypto/sha1"
	"encoding/hex"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// chains stores the redirect targets of the pages in colly's cache directories.
// Beside each page that came by redirects, there is a file with one URL in each
// line.
type chains struct {
	mu   sync.Mutex
	dirs []string
}

func (s *chains) in(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.dirs, dir) {
		s.dirs = append(s.dirs, dir)
	}
}

// The method "note" stores the redirect targets that led to req, and req's own
// URL. If it cannot write them, the page is later judged by its first URL
// alone.
func (s *chains) note(req *http.Request) {
	s.mu.Lock()
	dirs := s.dirs
	s.mu.Unlock()
	if len(dirs) == 0 {
		return
	}
	var way []string
	for req.Response != nil && req.Response.Request != nil {
		way = append(way, req.URL.String())
		req = req.Response.Request
	}
	slices.Reverse(way)
	for _, dir := range dirs {
		name := chainFile(dir, req.URL)
		if os.MkdirAll(filepath.Dir(name), 0o750) != nil {
			continue
		}
		temporary, err := os.CreateTemp(filepath.Dir(name), "*~")
		if err != nil {
			continue
		}
		_, err = temporary.WriteString(strings.Join(way, "\n") + "\n")
		if closed := temporary.Close(); err != nil || closed != nil || os.Rename(temporary.Name(), name) != nil {
			os.Remove(temporary.Name())
		}
	}
}

// of() returns, in order, the redirect targets of a page in one of colly's
// cache directories. It returns nil if none are stored. The last argument is
// the URL under which colly keeps the page.
func (s *chains) of(dir string, first *url.URL) (way []*url.URL) {
	text, err := os.ReadFile(chainFile(dir, first))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if u, err := url.Parse(strings.TrimSpace(line)); err == nil && u.Host != "" {
			way = append(way, u)
		}
	}
	return way
}

func chainFile(dir string, first *url.URL) string {
	sum := sha1.Sum([]byte(first.String()))
	name := hex.EncodeToString(sum[:])
	return filepath.Join(dir, name[:2], name+".redirects")
}
