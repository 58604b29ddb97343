package preference_test

import (
	"fmt"
	"log"
	"net/http"

	"github.com/goodbots/courtesy/robotsmw/preference"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

func ExampleInput_For() {
	file := robotstxt.Parse([]byte(`User-agent: *
Content-Usage: train-ai=n
Content-Usage: /open/ train-ai=y
Content-Signal: search=yes
Allow: /
`))
	for _, target := range []string{"/article", "/open/data"} {
		in := preference.Input{Robots: file, Tokens: []string{"ExampleBot"}, Target: target}
		for _, use := range []preference.Use{preference.TrainAI, preference.Search, preference.AIInput} {
			fmt.Println(target, use, "-", in.For(use))
		}
	}
	// Output:
	// /article train-ai - deny by Content-Usage in robots.txt, line 2: train-ai=n
	// /article search - allow by Content-Signal in robots.txt, line 4: search=yes
	// /article ai-input - unknown
	// /open/data train-ai - allow by Content-Usage in robots.txt, line 3: train-ai=y
	// /open/data search - allow by Content-Signal in robots.txt, line 4: search=yes
	// /open/data ai-input - unknown
}

// Says returns everything that was said, so a crawler can log it as evidence.
func ExampleInput_Says() {
	h := http.Header{"X-Robots-Tag": {"noai"}, "Tdm-Reservation": {"1"}}
	in := preference.Input{Header: h, Page: robotsmeta.ParseHeader(h)}
	for _, s := range in.Says() {
		fmt.Println(s.Use, s)
	}
	// Output:
	// train-ai deny by TDM-Reservation in header, line 1: TDM-Reservation: 1
	// train-ai deny by noai in header, line 1: noai
	// train-ai-images deny by TDM-Reservation in header, line 1: TDM-Reservation: 1
	// train-ai-images deny by noai in header, line 1: noai
}

// The file /.well-known/tdmrep.json says for which pages a site reserves the
// right to text and data mining. The caller fetches this file.
func ExampleParseTDMRep() {
	rep, err := preference.ParseTDMRep([]byte(`[
		{"location": "/open/", "tdm-reservation": 0},
		{"location": "/", "tdm-reservation": 1, "tdm-policy": "https://example.com/terms"}
	]`))
	if err != nil {
		log.Fatal(err)
	}
	for _, target := range []string{"/open/data", "/article"} {
		in := preference.Input{TDMRep: rep, Target: target}
		for _, s := range in.For(preference.TrainAI).Evidence {
			fmt.Printf("%s: %v, terms %q\n", target, s.Answer, s.Policy)
		}
	}
	rule, ok := rep.Match("/article")
	fmt.Println(rule.Location, rule.Reserved, rule.Policy, ok)
	// Output:
	// /open/data: allow, terms ""
	// /article: deny, terms "https://example.com/terms"
	// / true https://example.com/terms true
}

// An RSL file says what an owner permits and prohibits, and what the owner asks
// in return for a permission. Input.Licenses returns the file's address, and
// the caller fetches the file.
func ExampleParseRSL() {
	terms, err := preference.ParseRSL([]byte(`<rsl xmlns="https://rslstandard.org/rsl">
  <content url="/">
    <license>
      <permits type="usage">search</permits>
      <prohibits type="usage">ai-train</prohibits>
    </license>
    <license>
      <permits type="usage">ai-input</permits>
      <payment type="use"><custom>https://example.com/terms</custom></payment>
    </license>
  </content>
</rsl>`))
	if err != nil {
		log.Fatal(err)
	}
	in := preference.Input{RSL: []*preference.RSL{terms}, Target: "/article"}
	for _, use := range []preference.Use{preference.Search, preference.TrainAI, preference.AIInput} {
		fmt.Println(use, "-", in.For(use))
	}
	// Output:
	// search - allow by RSL in RSL file, line 4: permits search
	// train-ai - deny by RSL in RSL file, line 5: prohibits ai-train
	// ai-input - unknown by RSL in RSL file, line 8: permits ai-input, payment use
}

// Policy tokens are names that no crawler sends. With rules for such a name in
// robots.txt, an owner permits or forbids a use.
func ExampleInput_policyTokens() {
	file := robotstxt.Parse([]byte("User-agent: Google-Extended\nDisallow: /\n\nUser-agent: *\nAllow: /\n"))
	in := preference.Input{
		Robots:       file,
		Tokens:       []string{"ExampleBot"},
		Target:       "/article",
		PolicyTokens: map[preference.Use][]string{preference.TrainAI: {"Google-Extended"}},
	}
	fmt.Println(in.For(preference.TrainAI))
	// Output:
	// deny by policy token in robots.txt, line 2: Disallow: / for Google-Extended
}
