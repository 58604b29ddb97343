package batch

import "github.com/goodbots/courtesy/examples/robotscheck/internal/robots"

// An answer is what is written for a line, and a failure for a line that cannot
// be answered.
type (
	answer struct {
		URL   string `json:"url"`
		Agent string `json:"agent"`
		robots.Verdict
		Doubt string `json:"doubt,omitempty"`
	}
	failure struct {
		Line  int    `json:"input_line"`
		Error string `json:"error"`
	}
)
