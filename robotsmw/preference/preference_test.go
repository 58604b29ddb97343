package preference

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

func robots(lines ...string) *robotstxt.File {
	return robotstxt.Parse([]byte(strings.Join(lines, "\n") + "\n"))
}

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

// A check is an Input and the answers that it must give about Search, TrainAI
// and AIInput, in this order, for example "allow deny unknown".
type check struct {
	name string
	in   Input
	want string
}

func run(t *testing.T, checks []check) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			got := fmt.Sprint(
				c.in.For(Search).Answer,
				" ",
				c.in.For(TrainAI).Answer,
				" ",
				c.in.For(AIInput).Answer,
			)
			if got != c.want {
				t.Errorf("%s, want %s; %v", got, c.want, c.in.Says())
			}
		})
	}
}

// The rows follow the drafts of AIPREF (see the map drafts).
func TestContentUsageInRobotsTxt(t *testing.T) {
	run(t, []check{
		{
			name: "without a path",
			in: Input{
				Robots: robots("User-agent: *", "Content-Usage: train-ai=n, search=y", "Allow: /"),
			},
			want: "allow deny unknown",
		},
		{
			name: "with a path",
			in: Input{
				Robots: robots("User-agent: *", "Content-Usage: /a train-ai=n", "Allow: /"),
				Target: "/a/b",
			},
			want: "unknown deny unknown",
		},
		{
			name: "with another path",
			in: Input{
				Robots: robots("User-agent: *", "Content-Usage: /a train-ai=n", "Allow: /"),
				Target: "/b",
			},
			want: "unknown unknown unknown",
		},
		{
			name: "the longest path wins",
			in: Input{
				Robots: robots(
					"User-agent: *",
					"Content-Usage: /a/ train-ai=y",
					"Content-Usage: train-ai=n",
					"Content-Usage: /a train-ai=n",
				),
				Target: "/a/b",
			},
			want: "unknown allow unknown",
		},
		{
			name: "wildcards count as in a rule",
			in: Input{
				Robots: robots(
					"User-agent: *",
					"Content-Usage: /*.pdf$ train-ai=n",
					"Content-Usage: / train-ai=y",
				),
				Target: "/x.pdf",
			},
			want: "unknown deny unknown",
		},
		{
			name: "escapes, too",
			in: Input{
				Robots: robots("User-agent: *", "Content-Usage: /%7Ejoe train-ai=n"),
				Target: "/~joe/x",
			},
			want: "unknown deny unknown",
		},
		{
			name: "equal paths: n outweighs y",
			in: Input{
				Robots: robots(
					"User-agent: *",
					"Content-Usage: /a train-ai=n",
					"Content-Usage: /a train-ai=y",
				),
				Target: "/a",
			},
			want: "unknown deny unknown",
		},
		{
			name: "equal paths: y outweighs silence",
			in: Input{
				Robots: robots(
					"User-agent: *",
					"Content-Usage: /a search=y",
					"Content-Usage: /a train-ai=y",
				),
				Target: "/a",
			},
			want: "allow allow unknown",
		},
		{
			name: "no path is the path /",
			in: Input{
				Robots: robots(
					"User-agent: *",
					"Content-Usage: train-ai=n",
					"Content-Usage: / train-ai=y",
				),
			},
			want: "unknown deny unknown",
		},
		{
			name: "our group alone",
			in: Input{
				Tokens: []string{"mybot"},
				Robots: robots(
					"User-agent: *",
					"Content-Usage: train-ai=n",
					"Allow: /",
					"",
					"User-agent: mybot",
					"Allow: /",
				),
			},
			want: "unknown unknown unknown",
		},
		{
			name: "our group, all of it",
			in: Input{
				Tokens: []string{"mybot"},
				Robots: robots(
					"User-agent: mybot",
					"Allow: /x",
					"User-agent: mybot",
					"Content-Usage: train-ai=n",
				),
			},
			want: "unknown deny unknown",
		},
		{
			name: "not for what may not be fetched",
			in: Input{
				Robots: robots("User-agent: *", "Content-Usage: train-ai=n", "Disallow: /a"),
				Target: "/a",
			},
			want: "unknown unknown unknown",
		},
		{
			name: "of a key given twice the last counts",
			in:   Input{Robots: robots("User-agent: *", "Content-Usage: train-ai=n, train-ai=y")},
			want: "unknown allow unknown",
		},
		{
			name: "even if it says nothing",
			in:   Input{Robots: robots("User-agent: *", "Content-Usage: train-ai=n, train-ai=x")},
			want: "unknown unknown unknown",
		},
		{
			name: "keys are in lower case",
			in:   Input{Robots: robots("User-agent: *", "Content-Usage: Train-AI=n")},
			want: "unknown unknown unknown",
		},
		{
			name: "one fault spoils the line",
			in:   Input{Robots: robots("User-agent: *", "Content-Usage: train-ai=n, INVALID=y")},
			want: "unknown unknown unknown",
		},
		{
			name: "but no other",
			in: Input{
				Robots: robots(
					"User-agent: *",
					"Content-Usage: train-ai=n",
					"Content-Usage: INVALID=y",
				),
			},
			want: "unknown deny unknown",
		},
		{
			name: "a string is no token",
			in:   Input{Robots: robots("User-agent: *", `Content-Usage: train-ai="n"`)},
			want: "unknown unknown unknown",
		},
		{
			name: "nor is a Boolean",
			in:   Input{Robots: robots("User-agent: *", "Content-Usage: train-ai=?0, search")},
			want: "unknown unknown unknown",
		},
		{
			name: "unknown keys and parameters are passed over",
			in: Input{
				Robots: robots(
					"User-agent: *",
					`Content-Usage: bots=n, train-ai=n;why="x;,y", x=(a "b" 1);p, y=1.5, z=:YQ==:`,
				),
			},
			want: "unknown deny unknown",
		},
		{
			name: "a comment ends the line",
			in:   Input{Robots: robots("User-agent: *", "Content-Usage: train-ai=n # , search=y")},
			want: "unknown deny unknown",
		},
		{
			name: "labels that are gone",
			in: Input{
				Robots: robots("User-agent: *", "Content-Usage: ai-train=n, train-genai=n, all=n"),
			},
			want: "unknown unknown unknown",
		},
		{
			name: "ai-use is about input alone",
			in:   Input{Robots: robots("User-agent: *", "Content-Usage: ai-use=n")},
			want: "unknown unknown deny",
		},
		{
			name: "and allows it",
			in:   Input{Robots: robots("User-agent: *", "Content-Usage: ai-use=y")},
			want: "unknown unknown allow",
		},
		{
			name: "train-ai is not about input",
			in:   Input{Robots: robots("User-agent: *", "Content-Usage: train-ai=n")},
			want: "unknown deny unknown",
		},
		{
			name: "search is not about input",
			in:   Input{Robots: robots("User-agent: *", "Content-Usage: search=y, ai-use=n")},
			want: "allow unknown deny",
		},
		{
			name: "ai-use for a path",
			in: Input{
				Robots: robots("User-agent: *", "Content-Usage: /a ai-use=n"),
				Target: "/a/b",
			},
			want: "unknown unknown deny",
		},
		{
			name: "ai-use for another path",
			in: Input{
				Robots: robots("User-agent: *", "Content-Usage: /a ai-use=n"),
				Target: "/b",
			},
			want: "unknown unknown unknown",
		},
		{
			name: "ai-use given twice",
			in:   Input{Robots: robots("User-agent: *", "Content-Usage: ai-use=y, ai-use=n;why=x")},
			want: "unknown unknown deny",
		},
		{
			name: "the name that Content-Signal has for it",
			in:   Input{Robots: robots("User-agent: *", "Content-Usage: ai-input=n")},
			want: "unknown unknown unknown",
		},
	})
}

func TestContentUsageInTheHeader(t *testing.T) {
	run(t, []check{
		{
			name: "one line",
			in:   Input{Header: header("Content-Usage", "train-ai=n, search=y")},
			want: "allow deny unknown",
		},
		{
			name: "two lines are one Dictionary",
			in: Input{
				Header: header("Content-Usage", "train-ai=n", "Content-Usage", "train-ai=y"),
			},
			want: "unknown allow unknown",
		},
		{
			name: "and one fault spoils both",
			in:   Input{Header: header("Content-Usage", "train-ai=n", "Content-Usage", "=")},
			want: "unknown unknown unknown",
		},
		{
			name: "n outweighs robots.txt's y",
			in: Input{
				Robots: robots("User-agent: *", "Content-Usage: train-ai=y"),
				Header: header("Content-Usage", "train-ai=n"),
			},
			want: "unknown deny unknown",
		},
		{
			name: "and the other way round",
			in: Input{
				Robots: robots("User-agent: *", "Content-Usage: train-ai=n"),
				Header: header("Content-Usage", "train-ai=y"),
			},
			want: "unknown deny unknown",
		},
		{
			name: "it has no path",
			in:   Input{Header: header("Content-Usage", "/ train-ai=n")},
			want: "unknown unknown unknown",
		},
	})
}

// The rows follow contentsignals.org. Some rows have other spellings that are
// accepted too.
func TestContentSignal(t *testing.T) {
	run(t, []check{
		{
			name: "robots.txt",
			in: Input{
				Robots: robots(
					"User-agent: *",
					"Content-Signal: search=yes,ai-train=no,use=reference",
					"Allow: /",
				),
			},
			want: "allow deny unknown",
		},
		{
			name: "any case, any space",
			in: Input{
				Robots: robots("User-agent: *", "content-signal:  AI-Train = NO ,  search = Yes "),
			},
			want: "allow deny unknown",
		},
		{
			name: "digits",
			in: Input{
				Robots: robots("User-agent: *", "ContentSignal: ai-train=0, search=1, ai-input=1"),
			},
			want: "allow deny allow",
		},
		{
			name: "a path",
			in: Input{
				Robots: robots(
					"User-agent: *",
					"Content-Signal: /private/ ai-train=no, search=yes",
				),
				Target: "/private/a",
			},
			want: "allow deny unknown",
		},
		{
			name: "another path",
			in: Input{
				Robots: robots(
					"User-agent: *",
					"Content-Signal: /private/ ai-train=no, search=yes",
				),
				Target: "/public/a",
			},
			want: "unknown unknown unknown",
		},
		{
			name: "another's group",
			in: Input{
				Tokens: []string{"mybot"},
				Robots: robots(
					"User-agent: googlebot",
					"Content-Signal: ai-input=no",
					"Allow: /",
					"",
					"User-agent: *",
					"Allow: /",
				),
			},
			want: "unknown unknown unknown",
		},
		{
			name: "the header",
			in: Input{
				Header: header("Content-Signal", "ai-train=no", "Content-Signal", "ai-input=yes"),
			},
			want: "unknown deny allow",
		},
		{
			name: "no outweighs yes",
			in: Input{
				Header: header("Content-Signal", "ai-train=no", "Content-Signal", "ai-train=yes"),
			},
			want: "unknown deny unknown",
		},
		{
			name: "without commas",
			in:   Input{Header: header("Content-Signal", "search=yes ai-train=no;ai-input = no")},
			want: "allow deny deny",
		},
		{
			name: "in quotes",
			in:   Input{Header: header("Content-Signal", `ai-train="no"`)},
			want: "unknown deny unknown",
		},
		{
			name: "no value",
			in:   Input{Header: header("Content-Signal", "ai-train=, search=yes, =no, ai-input=")},
			want: "allow unknown unknown",
		},
		{
			name: "absent is neither",
			in:   Input{Header: header("Content-Signal", "x=yes, ai-train, search=maybe")},
			want: "unknown unknown unknown",
		},
	})
}

func metas(t *testing.T, pairs ...string) (d robotsmeta.Directives) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		d = d.Union(robotsmeta.ParseMeta(pairs[i], pairs[i+1], 7))
	}
	return d
}

func TestTDMRep(t *testing.T) {
	file := []byte(`[
		{"location": "/open", "tdm-reservation": 0},
		{"location": "/strange", "tdm-reservation": 2},
		17, {"location": 5}, {"tdm-reservation": 1},
		{"location": "/*", "tdm-reservation": 1, "tdm-policy": "https://a.example/terms"}
	]`)
	run(t, []check{
		{"header: reserved", Input{Header: header("TDM-Reservation", "1")}, "unknown deny unknown"},
		{
			name: "header: not reserved",
			in:   Input{Header: header("TDM-Reservation", "0")},
			want: "unknown allow unknown",
		},
		{
			name: "header: unset",
			in:   Input{Header: header("TDM-Reservation", "yes")},
			want: "unknown unknown unknown",
		},
		{
			name: "meta supersedes the header",
			in: Input{
				Page:   metas(t, "tdm-reservation", "0"),
				Header: header("TDM-Reservation", "1"),
			},
			want: "unknown allow unknown",
		},
		{
			name: "a meta of another value does not",
			in: Input{
				Page:   metas(t, "tdm-reservation", "2"),
				Header: header("TDM-Reservation", "1"),
			},
			want: "unknown deny unknown",
		},
		{
			name: "two metas",
			in:   Input{Page: metas(t, "tdm-reservation", "1", "TDM-Reservation", "0")},
			want: "unknown deny unknown",
		},
		{
			name: "header supersedes the file",
			in:   Input{TDMRep: file, Header: header("TDM-Reservation", "0")},
			want: "unknown allow unknown",
		},
		{"the file: first match", Input{TDMRep: file, Target: "/open/x"}, "unknown allow unknown"},
		{
			name: "the file: another match",
			in:   Input{TDMRep: file, Target: "/strange"},
			want: "unknown deny unknown",
		},
		{
			name: "the file after a byte order mark",
			in:   Input{TDMRep: append([]byte("\ufeff"), file...), Target: "/strange"},
			want: "unknown deny unknown",
		},
	})
	v := Input{TDMRep: file}.For(TrainAI)
	if len(v.Evidence) != 1 || v.Evidence[0].Policy != "https://a.example/terms" || v.Evidence[0].Path != "/*" {
		t.Errorf("got %+v; want one statement, with the policy and path of the file", v)
	}
	v = Input{
		Page: metas(t, "tdm-reservation", "1", "tdm-policy", "https://a.example/t"),
	}.For(TrainAI)
	if v.Evidence[0].Policy != "https://a.example/t" || v.Evidence[0].Line != 7 {
		t.Errorf("got %+v; want the policy of the page and line 7", v)
	}
	for _, bad := range []string{"", "{}", "null1", `"x"`, "[" + strings.Repeat(" ", 1<<20) + "]"} {
		v := Input{TDMRep: []byte(bad)}.For(TrainAI)
		if v.Answer != Unknown || len(v.Evidence) != 1 || !strings.HasPrefix(v.Evidence[0].Raw, "cannot be read") {
			t.Errorf("%.9q is taken for a tdmrep.json: %v", bad, v.Evidence)
		}
	}
}

// An entry of tdmrep.json reserves a page, and its policy is not a string. The
// reservation applies: without it, a later entry would allow the page.
func TestTDMRep_PolicyOfAnotherType(t *testing.T) {
	for _, policy := range []string{`{"terms": "https://a.example/"}`, `["https://a.example/"]`, `null`, `false`} {
		file := `[{"location": "/page", "tdm-reservation": 1, "tdm-policy": ` + policy + `}, {"location": "/", "tdm-reservation": 0}]`
		v := Input{TDMRep: []byte(file), Target: "/page"}.For(TrainAI)
		if v.Answer != Deny || v.Evidence[0].Policy != "" {
			t.Errorf("%s: %s, %v", policy, v.Answer, v.Evidence)
		}
	}
}

func TestNoAI(t *testing.T) {
	run(t, []check{
		{
			name: "noai",
			in:   Input{Page: robotsmeta.ParseHeader(header("X-Robots-Tag", "noai"))},
			want: "unknown deny unknown",
		},
		{"noml", Input{Page: metas(t, "robots", "noml")}, "unknown deny unknown"},
		{"a bare meta", Input{Page: metas(t, "noai", "")}, "unknown deny unknown"},
		{
			name: "to us",
			in: Input{
				Page: robotsmeta.ParseHeader(header("X-Robots-Tag", "mybot: noai"), "mybot"),
			},
			want: "unknown deny unknown",
		},
		{
			name: "to another",
			in: Input{
				Page: robotsmeta.ParseHeader(header("X-Robots-Tag", "otherbot: noai"), "mybot"),
			},
			want: "unknown unknown unknown",
		},
		{
			name: "noimageai is about images",
			in:   Input{Page: metas(t, "robots", "noimageai")},
			want: "unknown unknown unknown",
		},
		{
			name: "noindex is none of it",
			in:   Input{Page: metas(t, "robots", "noindex, noarchive")},
			want: "unknown unknown unknown",
		},
	})
	for _, text := range []string{"noai", "noimageai", "noml"} {
		if v := (Input{Page: metas(t, "robots", text)}).For(TrainAIImages); v.Answer != Deny {
			t.Errorf("%s: images: %v", text, v)
		}
	}
}

// robotsmeta keeps only the first 256 rules of a page, but it reports a noai,
// later noml or noimageai.
func TestNoAI_BeyondTheRulesKept(t *testing.T) {
	many := strings.Repeat("a,", 300)
	for text, want := range map[string]string{
		"noai":      "deny by noai in header or meta: noai",
		"noml":      "deny by noml in header or meta: noml",
		"noimageai": "deny by noimageai in header or meta: noimageai",
	} {
		in := Input{Page: robotsmeta.ParseHeader(header("X-Robots-Tag", many+text))}
		if got := in.For(TrainAIImages); got.String() != want || len(got.Evidence) != 1 {
			t.Errorf("%s: images: %v", text, got)
		}
		if got := in.For(TrainAI).Answer; (got == Deny) != (text != "noimageai") {
			t.Errorf("%s: training: %v", text, got)
		}
	}
}

// String replaces characters that cannot be printed, because a crawler may log
// the statements of a site.
func TestStatementString_Printable(t *testing.T) {
	in := Input{
		Robots: robots("User-agent: *", "Content-Signal: ai-train=no, \x1b[2Jx=\u202ey\xff"),
	}
	const want = "deny by Content-Signal in robots.txt, line 2: ai-train=no, \ufffd[2Jx=\ufffdy\ufffd"
	if got := in.For(TrainAI).String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The rows follow the draft about policy tokens (see the map drafts).
func TestPolicyTokens(t *testing.T) {
	tokens := map[Use][]string{TrainAI: {"Some-Extended"}, AIInput: {"Some-Input"}}
	run(t, []check{
		{
			name: "a group denies",
			in: Input{
				PolicyTokens: tokens,
				Robots:       robots("User-agent: some-extended", "Disallow: /"),
			},
			want: "unknown deny unknown",
		},
		{
			name: "a group denies elsewhere",
			in: Input{
				PolicyTokens: tokens,
				Target:       "/b",
				Robots:       robots("User-agent: Some-Extended", "Disallow: /a"),
			},
			want: "unknown allow unknown",
		},
		{
			name: "a group without rules",
			in: Input{
				PolicyTokens: tokens,
				Robots:       robots("User-agent: Some-Extended", "Disallow:"),
			},
			want: "unknown allow unknown",
		},
		{
			name: "no group",
			in:   Input{PolicyTokens: tokens, Robots: robots("User-agent: mybot", "Disallow: /")},
			want: "unknown unknown unknown",
		},
		{
			name: "everybody's group denies",
			in:   Input{PolicyTokens: tokens, Robots: robots("User-agent: *", "Disallow: /")},
			want: "unknown deny deny",
		},
		{
			name: "but does not allow",
			in:   Input{PolicyTokens: tokens, Robots: robots("User-agent: *", "Allow: /")},
			want: "unknown unknown unknown",
		},
		{
			name: "none is built in",
			in:   Input{Robots: robots("User-agent: Google-Extended", "Disallow: /")},
			want: "unknown unknown unknown",
		},
	})
	if v := (Input{
		PolicyTokens: tokens,
		Robots:       robots("User-agent: Some-Extended", "Disallow: /"),
	}).For(TrainAIImages); v.Answer != Deny {
		t.Errorf("images: %v", v)
	}
}

func TestSignalsAddUp(t *testing.T) {
	in := Input{
		Robots: robots("User-agent: *", "Content-Usage: train-ai=y, search=y"),
		Header: header("Content-Signal", "ai-train=no", "TDM-Reservation", "0"),
	}
	v := in.For(TrainAI)
	if v.Answer != Deny || len(v.Evidence) != 3 {
		t.Errorf("%v: %v", v, v.Evidence)
	}
	if got, want := v.String(), "deny by Content-Signal in header, line 1: ai-train=no"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if v := (Input{}).For(Search); v.String() != "unknown" || v.Evidence != nil {
		t.Errorf("nothing said: %+v", v)
	}
	if n := len(in.Says()); n != 7 { // 1 about search, 3 about training, and the same 3 about training on images
		t.Errorf("%d statements: %v", n, in.Says())
	}
}

// Drafts change, so a crawler may want to log which draft it has followed.
func TestDraftsAreLabelled(t *testing.T) {
	in := Input{
		Header: header(
			"Content-Usage",
			"train-ai=n",
			"Content-Signal",
			"ai-train=no",
			"TDM-Reservation",
			"1",
		),
		Page:         metas(t, "robots", "noai"),
		PolicyTokens: map[Use][]string{TrainAI: {"x-extended"}},
		Robots:       robots("User-agent: x-extended", "Disallow: /"),
	}
	want := map[string]bool{contentUsage: true, policyToken: true, tdmReservation: true, contentSignal: false, "noai": false}
	for _, s := range in.For(TrainAI).Evidence {
		if isDraft, ok := want[s.Signal]; !ok || isDraft != (s.Draft != "") {
			t.Errorf("%s: %q", s.Signal, s.Draft)
		}
		delete(want, s.Signal)
	}
	if len(want) > 0 {
		t.Errorf("nothing is said by %v", want)
	}
}

// So the next revision of a draft is one change.
func TestDraftsAreNamedInOnePlace(t *testing.T) {
	name := regexp.MustCompile(`draft-[a-z]+-aipref-[a-z-]+-\d\d`)
	found := 0
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !slices.Contains([]string{".go", ".md", ".txt"}, filepath.Ext(path)) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if named := name.FindAll(text, -1); named != nil && path != filepath.Join("..", "..", "robotsmw", "preference", "preference.go") {
			t.Errorf("%s names %s; the map drafts is the place", path, named[0])
		}
		found += len(name.FindAll(text, -1))
		return nil
	})
	if err != nil || found < 3 {
		t.Errorf("%d drafts are named: %v", found, err)
	}
	for signal, draft := range drafts {
		if !regexp.MustCompile(`\(20\d\d-\d\d-\d\d\)$`).MatchString(draft) {
			t.Errorf("%s: %q has no date", signal, draft)
		}
	}
}

func TestLicenses(t *testing.T) {
	in := Input{
		Robots: robots(
			"License: https://a.example/l.xml",
			"User-agent: *",
			"Disallow: /x",
			"license: https://a.example/2.xml # terms",
		),
		Header: header("Link", `<https://a.example/a,b>; rel="license"; type="application/rsl+xml", </style.css>; rel=preload`,
			"Link", `</c>;title="a, b";rel="x License"`, "Link", "broken; rel=license"),
	}
	var got []string
	for _, l := range in.Licenses() {
		got = append(got, l.Where+" "+l.URL)
	}
	want := "robots.txt https://a.example/l.xml|robots.txt https://a.example/2.xml|header https://a.example/a,b|header /c"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("%s\nwant %s", s, want)
	}
	many := Input{
		Robots: robots(slices.Repeat([]string{"License: x"}, 1000)...),
		Header: header("Link", strings.Repeat("<x>;rel=license,", 1000)),
	}
	if n := len(many.Licenses()); n != maxFields {
		t.Errorf("%d licenses of a thousand", n)
	}
	many.Robots = nil
	if n := len(many.Licenses()); n != maxFields {
		t.Errorf("%d licenses of a thousand in a header", n)
	}
}

func FuzzInput(f *testing.F) {
	f.Add("User-agent: *\nContent-Usage: /a train-ai=n;x=\"y\"\nContent-Signal: ai-train=no",
		`train-ai=(a "b" 1);p`, `</x>; rel="license"`, "/a/b")
	f.Add("License: x\nUser-agent: x-extended\nDisallow: /*$",
		"search=y, train-ai=%\"x\"", "<", "?")
	f.Fuzz(func(t *testing.T, txt, usage, link, target string) {
		in := Input{
			Robots: robotstxt.Parse([]byte(txt)),
			Target: target,
			Header: header(
				"Content-Usage",
				usage,
				"Content-Signal",
				usage,
				"Link",
				link,
				"Tdm-Reservation",
				link,
			),
			TDMRep:       []byte(txt),
			PolicyTokens: map[Use][]string{TrainAI: {"x-extended"}},
		}
		checkSaid(t, in)
		in.Licenses()
	})
}

// checkSaid checks what holds for any input.
func checkSaid(t *testing.T, in Input) {
	t.Helper()
	verdicts := make(map[Use]Verdict)
	for _, s := range in.Says() {
		v, ok := verdicts[s.Use]
		if !ok {
			v = in.For(s.Use)
			verdicts[s.Use] = v
		}
		switch {
		case s.Where == "" || s.Raw == "" || s.Signal == "" || len(s.Raw) > maxRaw:
			t.Fatalf("got the incomplete statement %+v", s)
		case s.Answer == Deny && v.Answer != Deny, s.Answer == Allow && v.Answer == Unknown:
			t.Fatalf("%v outweighs nothing", s)
		case s.Answer != Unknown && !slices.Contains(uses, s.Use):
			t.Fatalf("%v decides", s)
		}
	}
}
