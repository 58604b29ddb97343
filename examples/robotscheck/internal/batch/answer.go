package batch

import "github.com/goodbots/courtesy/examples/robotscheck/internal/robots"

// An answer is the output for a question.
type answer struct {
	URL   string `json:"url"`
	Agent string `json:"agent"`
	robots.Verdict
	Doubt string `json:"doubt,omitempty"`
}

// A failure is the output for a line that cannot be answered.
type failure struct {
	Line  int    `json:"input_line"`
	Error string `json:"error"`
}
