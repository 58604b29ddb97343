package tool

import (
	"testing"
	"testing/synctest"
	"time"
)

// A page that is put off again is broken if its host has answered a request for
// another page in between. Otherwise the page is not broken.
func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h health
		putOff := func(url string, want bool) {
			t.Helper()
			time.Sleep(time.Second)
			if got := h.putOff("a.example", url); got != want {
				t.Errorf("%s is broken: %t, want %t", url, got, want)
			}
		}
		putOff("/1", false)
		putOff("/1", false) // nothing else was answered
		putOff("/2", false)
		time.Sleep(time.Second)
		h.answer("b.example", "/")
		putOff("/1", false) // only another host has answered
		time.Sleep(time.Second)
		h.answer("a.example", "/3")
		putOff("/4", false) // /4 is put off for the first time
		putOff("/1", true)
		time.Sleep(time.Second)
		h.answer("a.example", "/2")
		putOff("/2", false) // /2 itself was answered in between
	})
}
