package tool

import (
	"testing"
	"testing/synctest"
	"time"
)

// A page that is put off again is broken if its host has answered a request for
// another page, or a check, in between. Otherwise the page is not broken.
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
		h.answer("b.example", "/", true)
		putOff("/1", false) // only another host has answered
		time.Sleep(time.Second)
		h.answer("a.example", "/3", true)
		putOff("/4", false) // /4 is put off for the first time
		putOff("/1", true)
		time.Sleep(time.Second)
		h.answer("a.example", "/2", true)
		putOff("/2", false) // /2 itself was answered in between
	})
}

// The host is checked if another 503 would say nothing about the page, or if
// the host fails again and again. After a check that was not answered, the host
// is not checked again until it has sent a page.
func TestHealth_Check(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h health
		check := func(url, want string) {
			t.Helper()
			time.Sleep(time.Second)
			if got := h.check("a.example", url); got != want {
				t.Errorf("before %s: check with %q, want %q", url, got, want)
			}
		}
		h.putOff("a.example", "/1")
		check("/1", "") // the host has sent no page
		h.answer("a.example", "/form", false)
		check("/1", "") // the host has sent no page that a check can ask for
		h.answer("a.example", "/good", true)
		check("/1", "") // the host has answered since

		h.putOff("a.example", "/2")
		check("/3", "") // a first 503 may be that of a broken page
		check("/2", "/good")
		h.checked("a.example", true)
		check("/2", "")

		h.putOff("a.example", "/3")
		check("/4", "/good") // a check was answered, and since then no page was
		h.checked("a.example", true)
		h.answer("a.example", "/4", true)
		h.putOff("a.example", "/5")
		check("/6", "") // a page was answered

		h.putOff("a.example", "/6")
		check("/7", "/4") // two 503 in a row
		h.checked("a.example", false)
		check("/7", "")
		check("/6", "")
		h.answer("a.example", "/7", true)
		h.putOff("a.example", "/8")
		check("/8", "/7")
	})
}
