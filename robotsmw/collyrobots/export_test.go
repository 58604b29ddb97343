package collyrobots

import "github.com/gocolly/colly/v2"

// Marks is how many pages have a mark.
func Marks(x *Extension) int64 { return x.marks.size.Load() }

// Probe looks for the extension the way it does where colly's fields are
// unknown.
func Probe(c *colly.Collector) bool { return probe(c) }
