package collyrobots

// Marks is how many pages have a mark.
func Marks(x *Extension) int64 { return x.marks.size.Load() }
