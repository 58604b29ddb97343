package lint

import (
	"fmt"
	"strings"
)

// A Problem is a finding about a robots.txt file: an error, a probable mistake,
// or information.
type Problem struct {
	Line     int    // line number, counted from 1; 0 for the file as a whole
	Column   int    // in bytes, counted from 1; 0 if Line is 0
	Code     string // one of the codes in the package documentation
	Severity Severity
	Message  string
	Fix      string // the corrected lines, separated by "\n"; "" if no correction is certain
}

// String formats the problem like a compiler, such as
// "2:1: warning: message [code]".
func (p Problem) String() string {
	return fmt.Sprintf("%d:%d: %s: %s [%s]", p.Line, p.Column, p.Severity, p.Message, p.Code)
}

// A Severity is the severity of a [Problem].
type Severity uint8

const (
	Info    Severity = iota // not necessarily a mistake
	Warning                 // probably a mistake: robots may not do what the author expects
	Error                   // certainly a mistake: the line has no effect, or not the intended one
)

// String returns "info", "warning" or "error".
func (s Severity) String() string {
	switch s {
	case Info:
		return "info"
	case Warning:
		return "warning"
	case Error:
		return "error"
	}
	return "unknown severity"
}

// A report collects problems.
type report struct {
	problems []Problem
	omitted  int // number of problems that exceed maxProblems
	skipped  int // number of rules that were not compared with others because of maxWork
}

const maxProblems = 1000

// add adds a problem. The message and args are those of fmt.Sprintf.
func (r *report) add(
	line uint32, column int, code string, severity Severity, fix, message string, args ...any,
) {
	if len(r.problems) >= maxProblems {
		r.omitted++
		return
	}
	r.problems = append(r.problems, Problem{
		Line:     int(line),
		Column:   column,
		Code:     code,
		Severity: severity,
		Message:  fmt.Sprintf(message, args...),
		Fix:      fix,
	})
}

// clip truncates text from a file for use in a message.
func clip(s string) string {
	const maxBytes = 60
	if len(s) <= maxBytes {
		return s
	}
	return strings.ToValidUTF8(s[:maxBytes], "") + "…"
}
