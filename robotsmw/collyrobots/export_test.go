package collyrobots

import (
	"reflect"

	"github.com/gocolly/colly/v2"
)

func Marks(x *Extension) int64 { return x.marks.size.Load() }

// Known returns the error that Attach would return if colly had these types.
func Known(collector, rule reflect.Type) error {
	_, err := findFields(collector, rule, reflect.TypeFor[colly.Request]())
	return unknown(err)
}
