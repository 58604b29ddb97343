package robotsmeta

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// TestDirectives_JSON checks that UnmarshalJSON restores the Directives from
// the result of MarshalJSON.
func TestDirectives_JSON(t *testing.T) {
	for name, d := range map[string]Directives{
		"no directives": {},
		"noindex":       ParseContent("noindex"),
		"all directives without a value": ParseContent("none, noarchive, nosnippet, noimageindex, " +
			"notranslate, indexifembedded, noai, noimageai, noml"),
		"limits":              ParseContent("max-snippet:20, max-video-preview:-1, max-image-preview:standard"),
		"a date":              ParseContent("unavailable_after: 2030-01-02T03:04:05Z"),
		"an unknown word":     ParseContent("nofllow"),
		"a truncated content": ParseContent("noindex," + strings.Repeat("x", 9<<10)),
		"more than 256 rules": ParseContent(strings.Repeat("index,", 300) + "noindex"),
		"a header with a scope": ParseHeader(
			http.Header{"X-Robots-Tag": {"bot: nofollow, max-snippet: 0"}},
			"bot",
		),
	} {
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatalf("%s: Marshal returns the error %v, want none", name, err)
		}
		var got Directives
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("%s: Unmarshal returns the error %v, want none", name, err)
		}
		if len(d.rules) == 0 {
			d.rules = nil
		}
		if !reflect.DeepEqual(got, d) {
			t.Errorf("%s: Unmarshal of %s returns\n%+v\nwant\n%+v", name, text, got, d)
		}
	}
}

// TestDirectives_InvalidJSON checks that texts of later versions, and damaged
// ones, are errors, and that the Directives do not change then.
func TestDirectives_InvalidJSON(t *testing.T) {
	for name, text := range map[string]string{
		"a truncated text":              `{"says":"noin`,
		"an unknown directive":          `{"says":"nothinking"}`,
		"a directive without its value": `{"says":"max-snippet"}`,
		"an unknown value":              `{"says":"max-image-preview: huge"}`,
		"a list of directives":          `{"says":["noindex"]}`,
	} {
		d := ParseContent("nofollow")
		if err := json.Unmarshal([]byte(text), &d); err == nil {
			t.Errorf("%s: Unmarshal of %s returns no error, want one", name, text)
		}
		if !d.NoFollow() {
			t.Errorf("%s: Unmarshal of %s removes nofollow although it fails, want no change", name, text)
		}
	}
}

// TestSays_ReservationAfterManyRules checks that Says reports a reservation of
// text and data mining that Rules does not yield, because the page has too many
// rules, and that this is part of the JSON form.
func TestSays_ReservationAfterManyRules(t *testing.T) {
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
			if got := d.Says("tdm-reservation"); got != want {
				t.Errorf("content %q after %d rules: Says returns %t, want %t",
					content, before, got, want)
			}
			if got := again.Says("tdm-reservation"); got != want {
				t.Errorf("content %q after %d rules: Says returns %t after Unmarshal, want %t",
					content, before, got, want)
			}
		}
	}
}

// TestUnmarshalJSON_ReservationInRules checks a text of an earlier version,
// which has the reservation only in its rules.
func TestUnmarshalJSON_ReservationInRules(t *testing.T) {
	var d Directives
	text := `{"rules":[{"name":"tdm-reservation","value":"1","known":true,"source":"meta","raw":"1"}]}`
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	if !d.Says("tdm-reservation") {
		t.Errorf("Says returns false for %+v, want true", d)
	}
}

func TestRule_JSON(t *testing.T) {
	for source, text := range map[string]string{
		Content:    "content",
		XRobotsTag: "X-Robots-Tag",
		RobotsTag:  "Robots-Tag",
		Meta:       "meta",
	} {
		rule := Rule{Name: "noindex", Known: true, Source: source, Line: 2, Raw: "NoIndex"}
		line, err := json.Marshal(rule)
		if err != nil {
			t.Fatal(err)
		}
		if want := `"source":"` + text + `"`; !strings.Contains(string(line), want) {
			t.Errorf("Marshal returns %s, want it to contain %s", line, want)
		}
		var got Rule
		if err := json.Unmarshal(line, &got); err != nil || got != rule {
			t.Errorf("Unmarshal of %s = %+v, %v, want %+v", line, got, err, rule)
		}
	}
}
