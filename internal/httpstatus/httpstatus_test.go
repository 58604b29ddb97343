package httpstatus

import "testing"

func TestStatuses(t *testing.T) {
	throttled := map[int]bool{429: true, 430: true}
	overloaded := map[int]bool{503: true, 529: true}
	for status := range 1000 {
		if IsThrottled(status) != throttled[status] || IsOverloaded(status) != overloaded[status] {
			t.Errorf("status %d: IsThrottled = %t, IsOverloaded = %t; want %t, %t",
				status, IsThrottled(status), IsOverloaded(status), throttled[status], overloaded[status])
		}
	}
}
