package audit

import (
	"fmt"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/robotsmw/evidence/audit"
)

// A record is what -json prints about a record.
type record struct {
	Name       string `json:"name"`
	Lines      int    `json:"lines"`
	Head       string `json:"head"`
	Both       int    `json:"both,omitempty"`
	OnlyRecord int    `json:"only_record,omitempty"`
	OnlyLog    int    `json:"only_log,omitempty"`
}

// shownFaults is how many faults of records are shown in the result.
const shownFaults = 10

// recordNotes returns sentences about the records themselves. faults are the
// first faults in them.
func recordNotes(r *audit.Result, faults []string) (notes []string) {
	all, overridden := 0, 0
	for _, one := range r.Records {
		notes = append(notes, fmt.Sprintf("%s: %s. The last one has the hash %s", command.Printable(one.Name), command.Count(one.Lines, "line"), one.Head))
		all += one.Faults
		overridden += one.Overridden
		if one.Changed > 0 {
			notes = append(notes, fmt.Sprintf("%s was changed in %s.", command.Printable(one.Name), command.Count(one.Changed, "place")))
		}
		if one.Contradict > 0 {
			notes = append(notes, fmt.Sprintf("%s contradicts itself, or the log, in %s.", command.Printable(one.Name), command.Count(one.Contradict, "place")))
		}
		if one.Both+one.OnlyLog+one.OnlyRecord > 0 {
			notes = append(notes, fmt.Sprintf("%s are in the record and in the log, %s only in the record, %s only in the log.", command.Count(one.Both, "request"), command.Thousands(one.OnlyRecord), command.Thousands(one.OnlyLog)))
		}
	}
	for _, fault := range faults {
		notes = append(notes, command.Printable(fault))
	}
	if n := all - len(faults); n > 0 {
		notes = append(notes, "… and "+command.Count(n, "more fault")+" in the record, on standard error")
	}
	if overridden > 0 {
		notes = append(notes, command.Count(overridden, "request")+" obeyed the operator's file, not the site's.")
	}
	return notes
}
