package doubt

import "github.com/goodbots/courtesy/examples/robotscheck/internal/output"

// A Doubtful names a doubtful robots.txt and says why it is doubtful. Commands
// that read several robots.txt files print the name, so that users know which
// file is meant.
type Doubtful struct {
	Source string `json:"source"`
	Doubt  string `json:"doubt"`
}

func (d Doubtful) String() string {
	return "doubtful: " + output.Printable(d.Source) + ": " + output.Printable(d.Doubt)
}
