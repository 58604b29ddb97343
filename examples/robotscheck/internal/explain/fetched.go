package explain

import (
	"time"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/source"
)

// fetchInfo says how a robots.txt was fetched, as -json prints it.
type fetchInfo struct {
	Status  int       `json:"status,omitempty"` // the status of the last answer; 0 means there was no answer
	From    string    `json:"from,omitempty"`   // the URL of the last answer, after redirects
	Time    time.Time `json:"time,omitzero"`
	Expires time.Time `json:"expires,omitzero"`
	Cause   string    `json:"cause,omitempty"` // why robots.txt is unreachable
	NextTry time.Time `json:"next_try,omitzero"`
	SHA256  string    `json:"sha256,omitempty"`
}

const fetchedHelp = `  fetched   for a URL, how its robots.txt was fetched: status, from (the URL after redirects), time, expires, cause,
            next_try, sha256`

func fetchedOf(s *source.Source) *fetchInfo {
	if s.Decision == nil {
		return nil
	}
	d := s.Decision
	return &fetchInfo{d.Status, s.From, d.Fetched.UTC(), d.Expires.UTC(), d.Cause, d.NextTry.UTC(), d.SHA256()}
}
