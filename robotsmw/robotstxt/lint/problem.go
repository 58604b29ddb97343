package lint

import "fmt"

// A Problem is a remark about a place in a robots.txt file. The place may be a
// mistake. Robots may read it differently than the author seems to expect. Or
// the remark may only be worth knowing.
type Problem struct {
	Line     int    // counted from 1; 0 for the file as a whole
	Column   int    // in bytes, counted from 1; 0 if Line is 0
	Code     string // the kind of the problem; the package doc lists the codes
	Severity Severity
	Message  string
	Fix      string // the corrected lines, separated by "\n"; "" if no correction is certain
}

// String returns a problem in the format of compilers: line, column, severity,
// message, code.
func (p Problem) String() string {
	return fmt.Sprintf("%d:%d: %s: %s [%s]", p.Line, p.Column, p.Severity, p.Message, p.Code)
}

// A Severity says how bad a [Problem] is.
type Severity uint8

const (
	Info    Severity = iota // worth knowing; perhaps nothing is wrong
	Warning                 // probably a mistake: perhaps robots do not read this as its author expects
	Error                   // this has no effect, or an effect that nobody wants
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

type report struct {
	problems []Problem
	more     int  // problems beyond maxProblems
	skipped  int  // rules that were not compared with others, because of maxWork
	mixed    bool // the file has rules that allow and rules that disallow
}

const maxProblems = 1000

func (r *report) add(line uint32, column int, code string, severity Severity, fix, message string, args ...any) {
	if len(r.problems) >= maxProblems {
		r.more++
		return
	}
	r.problems = append(r.problems, Problem{int(line), column, code, severity, fmt.Sprintf(message, args...), fix})
}

// clip shortens a text for use in a message. From a text of more than 60 bytes,
// it keeps the first 60 and adds a "…".
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
