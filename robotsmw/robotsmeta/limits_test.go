package robotsmeta

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// A page has more rules than are kept, and one of them reserves text and data
// mining. Says knows about the rule, although Rules does not yield it. So does
// a Directives that was stored and read again.
func TestSays_ReservationBeyondTheRulesThatAreKept(t *testing.T) {
	for _, before := range []int{0, maxRules - 1, maxRules, 2 * maxRules} {
		for _, content := range []string{"1", " 1\n", "0", "11", ""} {
			var d Directives
			for i := range before {
				d = d.Union(ParseMeta("robots", fmt.Sprint("unknown", i), 1))
			}
			d = d.Union(ParseMeta("TDM-Reservation", content, 1))
			text, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			var again Directives
			if err := json.Unmarshal(text, &again); err != nil {
				t.Fatal(err)
			}
			want := strings.TrimSpace(content) == "1"
			if d.Says("tdm-reservation") != want || again.Says("tdm-reservation") != want {
				t.Errorf("%d rules, content %q: %v, stored %v", before, content, d.Says("tdm-reservation"), again.Says("tdm-reservation"))
			}
		}
	}
}

// A Directives that was stored before reservations were stored apart has the
// reservation among its rules.
func TestUnmarshalJSON_ReservationAmongTheRules(t *testing.T) {
	var d Directives
	text := `{"rules":[{"name":"tdm-reservation","value":"1","known":true,"source":"meta","raw":"1"}]}`
	if err := json.Unmarshal([]byte(text), &d); err != nil || !d.Says("tdm-reservation") {
		t.Errorf("%v, %+v", err, d)
	}
}

// A number or a date goes beyond what can be read. A number counts as a smaller
// one, which restricts more. A date is listed as a rule that is not known.
func TestLimitsOfValues(t *testing.T) {
	d := ParseContent("max-snippet: 99999999999999999999999, max-video-preview: 67108864")
	if d.Limit("max-snippet") != "67108863" || d.Limit("max-video-preview") != "67108863" {
		t.Errorf("%s, %s", d.Limit("max-snippet"), d.Limit("max-video-preview"))
	}
	d = ParseContent("unavailable_after: 25 Jun" + strings.Repeat(" ", maxDate) + "2010 15:00:00 GMT")
	if _, ok := d.UnavailableAfter(); ok {
		t.Error("a date was read that is longer than what is examined")
	}
	isListed := false
	for r := range d.Rules() {
		isListed = isListed || r.Name == "unavailable_after" && !r.Known
	}
	if !isListed {
		t.Errorf("the date is not listed as unknown: %+v", d)
	}
}
