package source

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"sync"
)

// A Recorder keeps what responses had in their bodies, as far as they were
// read: of a robots.txt, the text that a Checker obeys.
type Recorder struct {
	Base http.RoundTripper

	mu   sync.Mutex
	seen []*recording
}

// recording is one response.
type recording struct {
	url    string
	coding string
	body   bytes.Buffer
}

// RoundTrip is Base's.
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

// Text returns the body with this SHA-256, in hexadecimal; nil if there was
// none, or none without a content coding.
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
