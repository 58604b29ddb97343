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

// Says returns all statements, so that a crawler can log them as evidence.
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

// The file /.well-known/tdmrep.json lists the pages for which a site reserves
// the right to text and data mining. The caller fetches this file.
func ExampleInput_tdmRep() {
	file := []byte(`[
		{"location": "/open/", "tdm-reservation": 0},
		{"location": "/", "tdm-reservation": 1, "tdm-policy": "https://example.com/terms"}
	]`)
	for _, target := range []string{"/open/data", "/article"} {
		in := preference.Input{TDMRep: file, Target: target}
		for _, s := range in.For(preference.TrainAI).Evidence {
			fmt.Printf("%s: %v, terms %q\n", target, s.Answer, s.Policy)
		}
	}
	// Output:
	// /open/data: allow, terms ""
	// /article: deny, terms "https://example.com/terms"
}

// Content-Signal also limits how far a page may be reused.
func ExampleInput_ContentUse() {
	in := preference.Input{
		Robots: robotstxt.Parse([]byte("User-agent: *\nContent-Signal: search=yes, use=full\n")),
		Header: http.Header{"Content-Signal": {"use=reference"}},
	}
	use, by := in.ContentUse()
	fmt.Printf("%s: %s, line %d\n", use, by.Where, by.Line)
	// Output:
	// reference: header, line 1
}

// An RSL file contains what an owner permits and prohibits, and the conditions
// of permissions. Input.Licenses returns the URL of the file, which the caller
// must fetch.
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
	file := robotstxt.Parse([]byte("User-agent: Google-Extended\n" +
		"Disallow: /\n" +
		"\n" +
		"User-agent: *\n" +
		"Allow: /\n"))
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
