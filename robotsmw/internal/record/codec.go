package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"

	"github.com/goodbots/courtesy/robotsmw/internal/origin"
)

// storedRecord is the first line of a stored value, as JSON. The rest of the
// value is the body of the robots.txt, or empty if the origin has none. The
// body is stored whole, because only some crawlers keep it in memory.
type storedRecord struct {
	Version      int            `json:"v"`
	Origin       string         `json:"origin"`
	Robot        string         `json:"robot"` // see Kind.Robot
	State        string         `json:"state"` // good, unavailable, none
	Status       int            `json:"status,omitzero"`
	Redirects    int            `json:"redirects,omitzero"`
	URL          string         `json:"url,omitempty"`
	Host         string         `json:"host,omitempty"`
	ETag         string         `json:"etag,omitempty"`
	LastModified string         `json:"last_modified,omitempty"`
	SHA256       string         `json:"sha256,omitempty"`
	Fetched      time.Time      `json:"fetched,omitzero"`
	Expires      time.Time      `json:"expires,omitzero"`
	Failure      *storedFailure `json:"failure,omitempty"`
}

type storedFailure struct {
	Since  time.Time `json:"since"`
	Last   time.Time `json:"last"`
	Count  int       `json:"count"`
	Status int       `json:"status,omitzero"`
	Cause  string    `json:"cause"`
	Retry  time.Time `json:"retry"`
}

// isValid reports whether the times and the count are possible.
func (f *storedFailure) isValid() bool {
	if f.Last.Before(f.Since) || f.Retry.Sub(f.Last) > MaxLifetime {
		return false
	}
	return f.Count >= 1 && f.Count < math.MaxInt32
}

// storedVersion changes with the format of a stored value. Version 1 did not
// contain the robot to which a robots.txt was served.
const storedVersion = 2

// maxSourceBytes limits the URL and the Host in a stored value together. A URL
// that was followed has at most 8 KiB, and a host a few hundred bytes.
const maxSourceBytes = 16 << 10

// Encode returns the stored form of an origin's record and of its body. The
// body is left out unless the state is Good.
func (k *Kind) Encode(name string, rec *Record, body []byte) []byte {
	s := storedRecord{
		Version:   storedVersion,
		Origin:    name,
		Robot:     k.Robot(),
		Status:    int(rec.Status),
		Redirects: int(rec.Hops),
		Fetched:   rec.Fetched,
		Expires:   rec.Expires,
	}
	switch rec.State {
	case Good:
		s.State = "good"
		src := rec.From()
		s.URL = src.URL
		s.Host = src.Host
		s.ETag = src.ETag
		s.LastModified = src.LastModified
		s.SHA256 = hex.EncodeToString(rec.Doc.Hash[:])
	case None:
		s.State = "none"
	default:
		s.State = "unavailable"
	}
	if s.State != "good" {
		body = nil
	}
	if f := rec.Failure; f != nil {
		s.Failure = &storedFailure{f.Since, f.Last, f.Count, f.Status, f.Cause, f.Retry}
	}
	head, err := json.Marshal(s)
	if err != nil { // a year beyond 9999, which no clock returns
		panic(err)
	}
	return append(append(head, '\n'), body...)
}

// Decode decodes a stored value of an origin. It returns an error unless the
// value is for this origin and this robot, its body has the hash in the first
// line, and no lifetime or pause is longer than this package would set.
func (k *Kind) Decode(name string, value []byte) (*Record, error) {
	head, body, ok := bytes.Cut(value, []byte{'\n'})
	if !ok {
		return nil, errors.New("stored record has no first line")
	}
	var s storedRecord
	if err := json.Unmarshal(head, &s); err != nil {
		return nil, fmt.Errorf("stored record is not JSON: %w", err)
	}
	if err := s.check(name); err != nil {
		return nil, err
	}
	if s.Robot != k.Robot() {
		return nil, errors.New("stored record is for another robot")
	}
	rec := &Record{
		URL:     origin.RobotsTxt(name),
		Hops:    uint8(s.Redirects),
		Status:  int16(s.Status),
		Fetched: s.Fetched,
		Expires: s.Expires,
	}
	switch s.State {
	case "good":
		rec.State = Good
		var hash [sha256.Size]byte
		if h, err := hex.DecodeString(s.SHA256); err != nil || copy(hash[:], h) != len(hash) {
			return nil, fmt.Errorf("stored record has invalid SHA-256 %q", s.SHA256)
		}
		if sha256.Sum256(body) != hash {
			return nil, fmt.Errorf("stored robots.txt (%d bytes) does not match its SHA-256 %s",
				len(body), s.SHA256)
		}
		rec.Doc = k.Document(body)
		src := Source{
			URL:          s.URL,
			Host:         s.Host,
			ETag:         Validator(s.ETag),
			LastModified: Validator(s.LastModified),
		}
		if src != (Source{}) {
			rec.Source = &src
		}
	case "unavailable":
		rec.State = k.WithoutFile(s.Status)
	case "none":
		if s.Failure == nil {
			return nil, errors.New("stored record has neither a state nor a failure")
		}
	default:
		return nil, fmt.Errorf("stored record has invalid state %q", s.State)
	}
	if f := s.Failure; f != nil {
		rec.Failure = &Failure{
			Since:  f.Since,
			Last:   f.Last,
			Count:  f.Count,
			Status: f.Status,
			Cause:  cleanCause(f.Cause),
			Retry:  f.Retry,
		}
	}
	return rec, nil
}

// check returns an error if the first line of a stored value has contents that
// Encode would not have written for the origin.
func (s *storedRecord) check(name string) error {
	switch f := s.Failure; {
	case s.Version != storedVersion:
		return fmt.Errorf("stored record has version %d, not %d", s.Version, storedVersion)
	case s.Origin != name:
		return fmt.Errorf("stored record is for the origin %q", s.Origin)
	case s.Expires.Sub(s.Fetched) > MaxLifetime:
		return fmt.Errorf("stored record has invalid lifetime %v", s.Expires.Sub(s.Fetched))
	case s.Redirects < 0 || s.Redirects > 255 || s.Status < 0 || s.Status > 9999:
		return fmt.Errorf("stored record has invalid redirects %d or status %d",
			s.Redirects, s.Status)
	case len(s.URL)+len(s.Host) > maxSourceBytes:
		return fmt.Errorf("stored record has a source of %d bytes, which is too long",
			len(s.URL)+len(s.Host))
	case f != nil && !f.isValid():
		return fmt.Errorf("stored record has invalid failures: %d from %v to %v, next try at %v",
			f.Count, f.Since, f.Last, f.Retry)
	}
	return nil
}

// Body returns the robots.txt in a stored value, or nil if the robots.txt has
// another hash. For an empty robots.txt it returns an empty slice that is not
// nil.
func Body(value []byte, hash [sha256.Size]byte) []byte {
	_, body, ok := bytes.Cut(value, []byte{'\n'})
	if !ok || sha256.Sum256(body) != hash {
		return nil
	}
	return body
}

// Validator returns s if s may be sent back as a validator, and otherwise "". A
// long validator is not sent: a server may respond with 4xx to a header of some
// kilobytes, which would mean that there is no robots.txt.
func Validator(s string) string {
	const maxValidatorBytes = 1 << 10
	if len(s) > maxValidatorBytes || strings.ContainsFunc(s, unicode.IsControl) {
		return ""
	}
	return strings.Clone(s)
}
