package record

import "fmt"

// A Rule is the line of a robots.txt that disallowed a URL, in the form that a
// report shows.
type Rule struct {
	Robots string   `json:"robots"` // the URL of the robots.txt
	SHA256 string   `json:"sha256"` // the hash of the file
	Line   int      `json:"line"`
	Text   string   `json:"text"`            // the rule, such as "Disallow: /attic/"
	Group  []int    `json:"group,omitempty"` // the line numbers of the group's user-agent lines
	Lines  []string `json:"lines,omitempty"` // all lines of the file; nil if an earlier Rule has them
}

// DisallowedBy returns the rule that disallowed the record's URL, or nil if no
// rule did. The keys of known are the hashes of the robots.txt files whose
// lines are part of an earlier Rule. If the hash of the rule's file is new,
// DisallowedBy adds it to known and sets Rule.Lines.
func (r Record) DisallowedBy(known map[string]bool) *Rule {
	d := r.Decision
	if r.Verdict != Disallowed || d == nil {
		return nil
	}
	rule := &Rule{
		Robots: d.RobotsURL,
		SHA256: d.SHA256(),
		Line:   d.Line,
		Text:   fmt.Sprintf("%v: %s", d.Kind, d.Rule),
	}
	for _, agent := range d.Group {
		rule.Group = append(rule.Group, agent.Line)
	}
	if file := d.File(); file != nil && !known[rule.SHA256] {
		known[rule.SHA256] = true
		for _, line := range file.Lines() {
			rule.Lines = append(rule.Lines, line)
		}
	}
	return rule
}
