package collyrobots

import (
	"reflect"
	"testing"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/queue"
)

func Marks(x *Extension) (n int) {
	x.pageMarks.marks.Range(func(any, any) bool { n++; return true })
	return n
}

// HostQueues returns for how many hosts the extension has a queue of requests.
func HostQueues(x *Extension) (n int) {
	x.hostQueues.Range(func(any, any) bool { n++; return true })
	return n
}

// Known returns the error that Attach would return if colly had these types.
func Known(collector, rule reflect.Type) error {
	return newLayout(collector, rule, reflect.TypeFor[colly.Request]()).err
}

// NotFatal are the names of the fields without which Attach works.
func NotFatal() (names []string) {
	for _, f := range fields {
		if !f.fatal {
			names = append(names, f.name)
		}
	}
	return names
}

// WithoutField makes the package believe that colly lacks a field, until the
// test ends. An unknown name stands for a fatal field.
func WithoutField(t testing.TB, name string) {
	real := collyLayout
	t.Cleanup(func() { collyLayout = real })
	without := layout{err: unknown("no " + name)}
	for _, f := range fields {
		if f.name == name && !f.fatal {
			without = layout{missing: map[string]string{name: f.lost}}
		}
	}
	collyLayout = func() layout { return without }
}

// WakeOf returns the channel on which AddRequest wakes a queue that runs.
func WakeOf(q *queue.Queue) chan struct{} { return *field[chan struct{}](q, "wake") }
