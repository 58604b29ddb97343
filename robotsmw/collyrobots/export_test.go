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

// HostQueues returns the number of hosts in hostQueues.
func HostQueues(x *Extension) (n int) {
	x.hostQueues.Range(func(any, any) bool { n++; return true })
	return n
}

// Known returns the error that Attach would return if colly had these types.
func Known(collector, rule reflect.Type) error {
	return newLayout(collector, rule, reflect.TypeFor[colly.Request]()).err
}

// NotFatal returns the names of the fields that are not fatal.
func NotFatal() (names []string) {
	for _, f := range fields {
		if !f.fatal {
			names = append(names, f.name)
		}
	}
	return names
}

// WithoutField makes the package behave as if colly lacked a field, until the
// test ends. If NotFatal does not return the name, a fatal field is missing.
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

// WakeOf returns the channel on which AddRequest wakes a running queue.
func WakeOf(q *queue.Queue) chan struct{} { return *field[chan struct{}](q, "wake") }
