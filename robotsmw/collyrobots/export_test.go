package collyrobots

import "reflect"

func Marks(x *Extension) int64 { return x.marks.size.Load() }

// Known returns the error that Attach would return if colly had these types.
func Known(collector, rule reflect.Type) error {
	_, err := findFields(collector, rule)
	return unknown(err)
}
