package collyrobots

import "reflect"

// Marks is how many pages have a mark.
func Marks(x *Extension) int64 { return x.marks.size.Load() }

// Known reports what Attach would find wrong with a colly of such types.
func Known(collector, rule reflect.Type) error {
	_, err := findFields(collector, rule)
	return unknown(err)
}
