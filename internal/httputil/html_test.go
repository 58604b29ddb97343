package httputil

import (
	"net/http"
	"testing"
)

func TestMayBeHTML(t *testing.T) {
	for _, tt := range []struct {
		status int
		types  []string
		want   bool
	}{
		{200, nil, true},
		{200, []string{""}, true},
		{200, []string{"text/html"}, true},
		{404, []string{" Text/HTML ; charset=utf-8"}, true},
		{200, []string{"text/html charset=utf-8"}, true},
		{200, []string{"text/html,text/plain"}, true},
		{200, []string{"application/xhtml+xml"}, true},
		{200, []string{"application/unknown"}, true},
		{200, []string{"unknown/unknown"}, true},
		{200, []string{"*/*"}, true},
		{200, []string{"html"}, true},
		{200, []string{"text/plain", "text/html"}, true},
		{200, []string{"text/plain"}, false},
		{200, []string{"text/html5"}, false},
		{200, []string{"application/pdf", "image/png"}, false},
		{101, []string{"text/html"}, false},
		{204, []string{"text/html"}, false},
		{206, []string{"text/html"}, false},
		{304, []string{"text/html"}, false},
	} {
		if got := MayBeHTML(tt.status, http.Header{"Content-Type": tt.types}); got != tt.want && tt.types != nil {
			t.Errorf("MayBeHTML(%d) with the Content-Type lines %q = %v, want %v", tt.status, tt.types, got, tt.want)
		}
	}
	if !MayBeHTML(200, nil) || MayBeHTML(204, nil) {
		t.Errorf("without a header: MayBeHTML(200) = %t, MayBeHTML(204) = %t; want true, false", MayBeHTML(200, nil), MayBeHTML(204, nil))
	}
}
