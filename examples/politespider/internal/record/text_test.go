package record

import (
	"fmt"
	"strconv"
	"testing"
	"time"
)

// In JSON, a time has at most three digits after the point.
func TestSeconds(t *testing.T) {
	for ms := range 20_000 {
		d := time.Duration(ms)*time.Millisecond + 400*time.Microsecond
		want, _ := strconv.ParseFloat(fmt.Sprintf("%d.%03d", ms/1000, ms%1000), 64)
		if got := Seconds(d); got != want {
			t.Fatalf("%v: %v, want %v", d, got, want)
		}
	}
}
