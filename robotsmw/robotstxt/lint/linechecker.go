package lint

import "github.com/goodbots/courtesy/robotsmw/robotstxt/internal/syntax"

// A lineChecker checks one line of a file.
type lineChecker struct {
	report       *report
	text         string // the text of the file
	number       uint32
	line         syntax.Span
	comment      uint32      // the position of the comment, or the end of the line
	name, value  syntax.Span // the field
	hasBothKinds bool        // whether the file has rules that allow and rules that disallow
}

// add adds a problem at position pos of the text.
func (c *lineChecker) add(
	pos uint32, code string, severity Severity, fix, message string, args ...any,
) {
	column := int(pos-c.line.From) + 1
	c.report.add(c.number, column, code, severity, fix, message, args...)
}

// addValue adds a problem at byte i of the value.
func (c *lineChecker) addValue(
	i int, code string, severity Severity, fix, message string, args ...any,
) {
	c.add(c.value.From+uint32(i), code, severity, fix, message, args...)
}
