package collyrobots

import (
	"reflect"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/queue"
)

func Marks(x *Extension) (n int) {
	x.marks.Range(func(any, any) bool { n++; return true })
	return n
}

// Lines returns for how many hosts the extension has a line of requests.
func Lines(x *Extension) (n int) {
	x.lines.Range(func(any, any) bool { n++; return true })
	return n
}

// Known returns the error that Attach would return if colly had these types.
func Known(collector, rule reflect.Type) error {
	return checkFields(collector, rule, reflect.TypeFor[colly.Request]())
}

// WakeOf returns the channel on which AddRequest wakes a queue that runs.
func WakeOf(q *queue.Queue) chan struct{} { return *field[chan struct{}](q, "wake") }
