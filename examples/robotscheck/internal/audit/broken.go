package audit

import (
	"fmt"
	"io"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
)

const (
	// maxReported is how many lines of an input are reported for one problem.
	maxReported = 3
	// shownFaults is how many faults of records are shown in the result.
	shownFaults = 10
)

// brokenLines reports broken lines and records. Many lines of an input may have
// the same problem, for example if the input is a picture. Then only the first
// ones are reported, and the others are counted.
type brokenLines struct {
	w      io.Writer
	seen   map[problem]*repeats
	order  []*repeats
	faults []string // the first faults of records
}

type problem struct{ input, text string }

type repeats struct {
	times int
	last  string
}

func (l *brokenLines) say(format string, args ...any) {
	fmt.Fprintf(l.w, "robotscheck audit: "+format+"\n", args...)
}

func (l *brokenLines) add(input string, line int, err error) {
	if l.seen == nil {
		l.seen = make(map[problem]*repeats)
	}
	p := problem{input, err.Error()}
	r := l.seen[p]
	if r == nil {
		r = new(repeats)
		l.seen[p], l.order = r, append(l.order, r)
	}
	r.last = describe(input, line, err)
	if r.times++; r.times <= maxReported {
		l.say("%s", r.last)
	}
}

// end says how many lines and records were not reported.
func (l *brokenLines) end() {
	for _, r := range l.order {
		if n := r.times - maxReported; n > 0 {
			l.say("… and %s like it, up to %s", linesOrRecords(n, "more "), r.last)
		}
	}
}

// addFault reports a fault of a record. It reports repeated ones too, because
// each may show that the record was changed.
func (l *brokenLines) addFault(input string, line int, err error) {
	fault := describe(input, line, err)
	l.say("%s", fault)
	if len(l.faults) < shownFaults {
		l.faults = append(l.faults, fault)
	}
}

func describe(input string, line int, err error) string {
	return fmt.Sprintf("%s:%d: %v", input, line, err)
}

// linesOrRecords writes a count of log lines and archive records in words, such
// as "1 broken line or record". kind is "" or a word with a space after it.
func linesOrRecords(n int, kind string) string {
	return command.Count(n, kind+"line") + " or " + command.Noun(n, "record")
}
