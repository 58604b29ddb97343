package preference

import (
	"encoding/json"
	"net/http"
	"reflect"
	"testing"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// TestVerdict_JSON checks the JSON form of a Verdict, and that Unmarshal
// returns the same Verdict.
func TestVerdict_JSON(t *testing.T) {
	in := Input{
		Robots: robotstxt.Parse([]byte("User-agent: *\nContent-Usage: /a train-ai=y\n")),
		Target: "/a",
		Header: http.Header{"Tdm-Reservation": {"1"}, "Tdm-Policy": {"/terms"}},
	}
	v := in.For(TrainAI)
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"use":"train-ai","answer":"deny","evidence":[` +
		`{"use":"train-ai","answer":"allow","signal":"Content-Usage","where":"robots.txt",` +
		`"line":2,"path":"/a","raw":"train-ai=y","draft":"` + drafts[contentUsage] + `"},` +
		`{"use":"train-ai","answer":"deny","signal":"TDM-Reservation","where":"header",` +
		`"line":1,"raw":"TDM-Reservation: 1","policy":"/terms",` +
		`"draft":"` + drafts[tdmReservation] + `"}]}`
	if string(text) != want {
		t.Errorf("Marshal returns\n%s, want\n%s", text, want)
	}
	var got Verdict
	if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, v) {
		t.Errorf("Unmarshal = %+v, %v, want %+v", got, err, v)
	}
}
