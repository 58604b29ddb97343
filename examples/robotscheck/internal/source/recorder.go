package source

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"sync"
)

// A Recorder is a RoundTripper that keeps the bodies of responses, as far as
// they are read. If a robots.txt has no content coding, its body is the text
// that a Checker obeys.
type Recorder struct {
	Base http.RoundTripper

	mu   sync.Mutex
	seen []*recording
}

type recording struct {
	url    string
	coding string
	body   bytes.Buffer
}

// RoundTrip sends the request through Base and records the response.
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.Base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	next := &recording{url: req.URL.String(), coding: resp.Header.Get("Content-Encoding")}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, next)
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(resp.Body, &next.body), resp.Body}
	return resp, nil
}

func (r *Recorder) last() *recording {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.seen) == 0 {
		return new(recording)
	}
	return r.seen[len(r.seen)-1]
}

// Text returns the body with this SHA-256 (in hexadecimal), or nil if there is
// none. Text hashes the bytes that were sent. So a body with a content coding
// is not found by the hash of its decoded text.
func (r *Recorder) Text(hash string) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, seen := range r.seen {
		if sum := sha256.Sum256(seen.body.Bytes()); hex.EncodeToString(sum[:]) == hash {
			return seen.body.Bytes()
		}
	}
	return nil
}
