package preference

import (
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

// A check is an Input and the expected answers.
type check struct {
	name string
	in   Input
	want string // the answers about Search, TrainAI and AIInput, such as "allow deny unknown"
}

func run(t *testing.T, checks []check) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			var answers []string
			for _, use := range []Use{Search, TrainAI, AIInput} {
				answers = append(answers, string(c.in.For(use).Answer))
			}
			if got := strings.Join(answers, " "); got != c.want {
				t.Errorf("For returns the answers %q, want %q; Says() = %v", got, c.want, c.in.Says())
			}
		})
	}
}

// TestContentUsage_RobotsTxt has rows according to the drafts of AIPREF, whose
// versions are in the map drafts.
func TestContentUsage_RobotsTxt(t *testing.T) {
	run(t, []check{
		{
			name: "without a path",
			in: Input{
				Robots: robots("User-agent: *", "Content-Usage: train-ai=n, search=y", "Allow: /"),
			},
			want: "allow deny unknown",
		},
		{
			name: "a path that matches",
			in: Input{
				Robots: robots("User-agent: *", "Content-Usage: /a train-ai=n", "Allow: /"),
				Target: "/a/b",
			},
			want: "unknown deny unknown",
		},
		{
			name: "a path that does not match",
			in: Input{
				Robots: robots("User-agent: *", "Content-Usage: /a train-ai=n", "Allow: /"),
				Target: "/b",
			},
			want: "unknown unknown unknown",
		},
		{
			name: "paths of different lengths",
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
			name: "a path with wildcards",
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
			name: "a percent-encoded path",
			in: Input{
				Robots: robots("User-agent: *", "Content-Usage: /%7Ejoe train-ai=n"),
				Target: "/~joe/x",
			},
			want: "unknown deny unknown",
		},
		{
			name: "equal paths with n and y",
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
			name: "equal paths with different labels",
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
			name: "no path and the path /",
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
			name: "a group for * and a group of the robot without a preference",
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
			name: "two groups of the robot",
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
			name: "a disallowed target",
			in: Input{
				Robots: robots("User-agent: *", "Content-Usage: train-ai=n", "Disallow: /a"),
				Target: "/a",
			},
			want: "unknown unknown unknown",
		},
		{
			name: "a repeated label",
			in:   Input{Robots: robots("User-agent: *", "Content-Usage: train-ai=n, train-ai=y")},
			want: "unknown allow unknown",
		},
		{
			name: "a repeated label whose last value is unknown",
			in:   Input{Robots: robots("User-agent: *", "Content-Usage: train-ai=n, train-ai=x")},
			want: "unknown unknown unknown",
		},
		{
			name: "a label in upper case",
			in:   Input{Robots: robots("User-agent: *", "Content-Usage: Train-AI=n")},
			want: "unknown unknown unknown",
		},
		{
			name: "an invalid label",
			in:   Input{Robots: robots("User-agent: *", "Content-Usage: train-ai=n, INVALID=y")},
			want: "unknown unknown unknown",
		},
		{
			name: "an invalid label in another line",
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
			name: "a value in quotes",
			in:   Input{Robots: robots("User-agent: *", `Content-Usage: train-ai="n"`)},
			want: "unknown unknown unknown",
		},
		{
			name: "Booleans",
			in:   Input{Robots: robots("User-agent: *", "Content-Usage: train-ai=?0, search")},
			want: "unknown unknown unknown",
		},
		{
			name: "unknown labels and parameters",
			in: Input{
				Robots: robots(
					"User-agent: *",
					`Content-Usage: bots=n, train-ai=n;why="x;,y", x=(a "b" 1);p, y=1.5, z=:YQ==:`,
				),
			},
			want: "unknown deny unknown",
		},
		{
			name: "a comment",
			in:   Input{Robots: robots("User-agent: *", "Content-Usage: train-ai=n # , search=y")},
			want: "unknown deny unknown",
		},
		{
			name: "labels of earlier drafts",
			in: Input{
				Robots: robots("User-agent: *", "Content-Usage: ai-train=n, train-genai=n, all=n"),
			},
			want: "unknown unknown unknown",
		},
		{
			name: "the label ai-use with n",
			in:   Input{Robots: robots("User-agent: *", "Content-Usage: ai-use=n")},
			want: "unknown unknown deny",
		},
		{
			name: "the label ai-use with y",
			in:   Input{Robots: robots("User-agent: *", "Content-Usage: ai-use=y")},
			want: "unknown unknown allow",
		},
		{
			name: "the label train-ai",
			in:   Input{Robots: robots("User-agent: *", "Content-Usage: train-ai=n")},
			want: "unknown deny unknown",
		},
		{
			name: "the labels search and ai-use",
			in:   Input{Robots: robots("User-agent: *", "Content-Usage: search=y, ai-use=n")},
			want: "allow unknown deny",
		},
		{
			name: "ai-use with a path that matches",
			in: Input{
				Robots: robots("User-agent: *", "Content-Usage: /a ai-use=n"),
				Target: "/a/b",
			},
			want: "unknown unknown deny",
		},
		{
			name: "ai-use with a path that does not match",
			in: Input{
				Robots: robots("User-agent: *", "Content-Usage: /a ai-use=n"),
				Target: "/b",
			},
			want: "unknown unknown unknown",
		},
		{
			name: "a repeated ai-use",
			in:   Input{Robots: robots("User-agent: *", "Content-Usage: ai-use=y, ai-use=n;why=x")},
			want: "unknown unknown deny",
		},
		{
			name: "a label of Content-Signal",
			in:   Input{Robots: robots("User-agent: *", "Content-Usage: ai-input=n")},
			want: "unknown unknown unknown",
		},
	})
}

func TestContentUsage_Header(t *testing.T) {
	run(t, []check{
		{
			name: "one line",
			in:   Input{Header: header("Content-Usage", "train-ai=n, search=y")},
			want: "allow deny unknown",
		},
		{
			name: "two lines with the same label",
			in: Input{
				Header: header("Content-Usage", "train-ai=n", "Content-Usage", "train-ai=y"),
			},
			want: "unknown allow unknown",
		},
		{
			name: "two lines, one of which is invalid",
			in:   Input{Header: header("Content-Usage", "train-ai=n", "Content-Usage", "=")},
			want: "unknown unknown unknown",
		},
		{
			name: "n in the header and y in robots.txt",
			in: Input{
				Robots: robots("User-agent: *", "Content-Usage: train-ai=y"),
				Header: header("Content-Usage", "train-ai=n"),
			},
			want: "unknown deny unknown",
		},
		{
			name: "y in the header and n in robots.txt",
			in: Input{
				Robots: robots("User-agent: *", "Content-Usage: train-ai=n"),
				Header: header("Content-Usage", "train-ai=y"),
			},
			want: "unknown deny unknown",
		},
		{
			name: "a path in the header",
			in:   Input{Header: header("Content-Usage", "/ train-ai=n")},
			want: "unknown unknown unknown",
		},
	})
}

// TestContentSignal has rows according to contentsignals.org, and rows with
// spellings that are also accepted.
func TestContentSignal(t *testing.T) {
	run(t, []check{
		{
			name: "labels in robots.txt",
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
			name: "labels in any case, with spaces",
			in: Input{
				Robots: robots("User-agent: *", "content-signal:  AI-Train = NO ,  search = Yes "),
			},
			want: "allow deny unknown",
		},
		{
			name: "values as digits",
			in: Input{
				Robots: robots("User-agent: *", "ContentSignal: ai-train=0, search=1, ai-input=1"),
			},
			want: "allow deny allow",
		},
		{
			name: "a path that matches",
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
			name: "a path that does not match",
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
			name: "a group of another robot",
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
			name: "two lines in the header",
			in: Input{
				Header: header("Content-Signal", "ai-train=no", "Content-Signal", "ai-input=yes"),
			},
			want: "unknown deny allow",
		},
		{
			name: "no and yes in the header",
			in: Input{
				Header: header("Content-Signal", "ai-train=no", "Content-Signal", "ai-train=yes"),
			},
			want: "unknown deny unknown",
		},
		{
			name: "labels without commas",
			in:   Input{Header: header("Content-Signal", "search=yes ai-train=no;ai-input = no")},
			want: "allow deny deny",
		},
		{
			name: "a value in quotes",
			in:   Input{Header: header("Content-Signal", `ai-train="no"`)},
			want: "unknown deny unknown",
		},
		{
			name: "labels without values",
			in:   Input{Header: header("Content-Signal", "ai-train=, search=yes, =no, ai-input=")},
			want: "allow unknown unknown",
		},
		{
			name: "unknown labels and values",
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
			name: "a meta and the header",
			in: Input{
				Page:   metas(t, "tdm-reservation", "0"),
				Header: header("TDM-Reservation", "1"),
			},
			want: "unknown allow unknown",
		},
		{
			name: "a meta with an unknown value and the header",
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
			name: "the header and the file",
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
}

// onlyStatement returns the statement about training, of which there must be
// one.
func onlyStatement(t *testing.T, in Input) Statement {
	t.Helper()
	v := in.For(TrainAI)
	if len(v.Evidence) != 1 {
		t.Fatalf("For(TrainAI) has the evidence %v, want one statement", v.Evidence)
	}
	return v.Evidence[0]
}

func TestTDMRep_Evidence(t *testing.T) {
	file := []byte(`[{"location": "/*", "tdm-reservation": 1, "tdm-policy": "https://a.example/terms"}]`)
	s := onlyStatement(t, Input{TDMRep: file})
	if s.Policy != "https://a.example/terms" || s.Path != "/*" {
		t.Errorf("the statement is %+v, want the policy and path of the file", s)
	}
	page := metas(t, "tdm-reservation", "1", "tdm-policy", "https://a.example/t")
	s = onlyStatement(t, Input{Page: page})
	if s.Policy != "https://a.example/t" || s.Line != 7 {
		t.Errorf("the statement is %+v, want the policy of the page and line 7", s)
	}
}

func TestTDMRep_InvalidFiles(t *testing.T) {
	tooLong := "[" + strings.Repeat(" ", 1<<20) + "]"
	for _, file := range []string{"", "{}", "null1", `"x"`, tooLong} {
		s := onlyStatement(t, Input{TDMRep: []byte(file)})
		if s.Answer != Unknown || !strings.HasPrefix(s.Raw, "cannot be read") {
			t.Errorf("the file %.9q has the statement %v, want unknown: cannot be read", file, s)
		}
	}
}

// TestTDMRep_PolicyOfAnotherType checks that a reservation applies although the
// policy is not a string. Otherwise, a later entry would allow the page.
func TestTDMRep_PolicyOfAnotherType(t *testing.T) {
	for _, policy := range []string{
		`{"terms": "https://a.example/"}`,
		`["https://a.example/"]`,
		`null`,
		`false`,
	} {
		file := `[{"location": "/page", "tdm-reservation": 1, "tdm-policy": ` + policy + `},` +
			`{"location": "/", "tdm-reservation": 0}]`
		s := onlyStatement(t, Input{TDMRep: []byte(file), Target: "/page"})
		if s.Answer != Deny || s.Policy != "" {
			t.Errorf("policy %s: the statement has the answer %s and the policy %q, want deny and none",
				policy, s.Answer, s.Policy)
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
			name: "noai for the robot",
			in: Input{
				Page: robotsmeta.ParseHeader(header("X-Robots-Tag", "mybot: noai"), "mybot"),
			},
			want: "unknown deny unknown",
		},
		{
			name: "noai for another robot",
			in: Input{
				Page: robotsmeta.ParseHeader(header("X-Robots-Tag", "otherbot: noai"), "mybot"),
			},
			want: "unknown unknown unknown",
		},
		{
			name: "noimageai",
			in:   Input{Page: metas(t, "robots", "noimageai")},
			want: "unknown unknown unknown",
		},
		{
			name: "noindex and noarchive",
			in:   Input{Page: metas(t, "robots", "noindex, noarchive")},
			want: "unknown unknown unknown",
		},
	})
	for _, text := range []string{"noai", "noimageai", "noml"} {
		if v := (Input{Page: metas(t, "robots", text)}).For(TrainAIImages); v.Answer != Deny {
			t.Errorf("%s: the verdict on images is %v, want deny", text, v)
		}
	}
}

// TestNoAI_AfterManyRules checks directives that Directives.Says reports, but
// that Rules does not yield, because a page has more than 256 rules.
func TestNoAI_AfterManyRules(t *testing.T) {
	many := strings.Repeat("a,", 300)
	for text, want := range map[string]string{
		"noai":      "deny by noai in header or meta: noai",
		"noml":      "deny by noml in header or meta: noml",
		"noimageai": "deny by noimageai in header or meta: noimageai",
	} {
		in := Input{Page: robotsmeta.ParseHeader(header("X-Robots-Tag", many+text))}
		if got := in.For(TrainAIImages); got.String() != want || len(got.Evidence) != 1 {
			t.Errorf("%s: the verdict on images is %v with %d statements, want %s with one",
				text, got, len(got.Evidence), want)
		}
		wantTraining := Deny
		if text == "noimageai" {
			wantTraining = Unknown
		}
		if got := in.For(TrainAI).Answer; got != wantTraining {
			t.Errorf("%s: the answer about training is %v, want %v", text, got, wantTraining)
		}
	}
}

// TestStatement_StringIsPrintable checks that String replaces control
// characters, because a crawler may log the statements of a site.
func TestStatement_StringIsPrintable(t *testing.T) {
	in := Input{
		Robots: robots("User-agent: *", "Content-Signal: ai-train=no, \x1b[2Jx=\u202ey\xff"),
	}
	const want = "deny by Content-Signal in robots.txt, line 2: ai-train=no, \ufffd[2Jx=\ufffdy\ufffd"
	if got := in.For(TrainAI).String(); got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
}

// TestPolicyTokens has rows according to the draft about policy tokens, whose
// version is in the map drafts.
func TestPolicyTokens(t *testing.T) {
	tokens := map[Use][]string{TrainAI: {"Some-Extended"}, AIInput: {"Some-Input"}}
	run(t, []check{
		{
			name: "a group that disallows everything",
			in: Input{
				PolicyTokens: tokens,
				Robots:       robots("User-agent: some-extended", "Disallow: /"),
			},
			want: "unknown deny unknown",
		},
		{
			name: "a group that disallows another path",
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
			name: "a group for * that disallows everything",
			in:   Input{PolicyTokens: tokens, Robots: robots("User-agent: *", "Disallow: /")},
			want: "unknown deny deny",
		},
		{
			name: "a group for * that allows everything",
			in:   Input{PolicyTokens: tokens, Robots: robots("User-agent: *", "Allow: /")},
			want: "unknown unknown unknown",
		},
		{
			name: "a token that is not in PolicyTokens",
			in:   Input{Robots: robots("User-agent: Google-Extended", "Disallow: /")},
			want: "unknown unknown unknown",
		},
	})
	in := Input{
		PolicyTokens: tokens,
		Robots:       robots("User-agent: Some-Extended", "Disallow: /"),
	}
	if v := in.For(TrainAIImages); v.Answer != Deny {
		t.Errorf("the verdict on images is %v, want deny", v)
	}
}

// TestFor_SeveralSignals checks that a signal that denies overrides others that
// allow, and that the evidence contains all of them.
func TestFor_SeveralSignals(t *testing.T) {
	in := Input{
		Robots: robots("User-agent: *", "Content-Usage: train-ai=y, search=y"),
		Header: header("Content-Signal", "ai-train=no", "TDM-Reservation", "0"),
	}
	v := in.For(TrainAI)
	if v.Answer != Deny || len(v.Evidence) != 3 {
		t.Errorf("For(TrainAI) = %v with the evidence %v, want deny with 3 statements", v, v.Evidence)
	}
	if got, want := v.String(), "deny by Content-Signal in header, line 1: ai-train=no"; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
	if v := (Input{}).For(Search); v.String() != "unknown" || v.Evidence != nil {
		t.Errorf("For(Search) without signals = %+v, want unknown without evidence", v)
	}
	// One statement is about search, three are about training, and the same
	// three are about training on images.
	if n := len(in.Says()); n != 7 {
		t.Errorf("Says() returns %d statements, want 7: %v", n, in.Says())
	}
}

// TestStatement_Draft checks that statements include the version of a draft,
// because drafts change.
func TestStatement_Draft(t *testing.T) {
	in := Input{
		Header: header(
			"Content-Usage", "train-ai=n",
			"Content-Signal", "ai-train=no",
			"TDM-Reservation", "1",
		),
		Page:         metas(t, "robots", "noai"),
		PolicyTokens: map[Use][]string{TrainAI: {"x-extended"}},
		Robots:       robots("User-agent: x-extended", "Disallow: /"),
	}
	hasDraft := map[string]bool{
		contentUsage:   true,
		policyToken:    true,
		tdmReservation: true,
		contentSignal:  false,
		"noai":         false,
	}
	for _, s := range in.For(TrainAI).Evidence {
		want, ok := hasDraft[s.Signal]
		if !ok {
			t.Errorf("the statement %v has the signal %s, want only signals of the table", s, s.Signal)
		}
		if got := s.Draft != ""; got != want {
			t.Errorf("%s has the draft %q, want one: %t", s.Signal, s.Draft, want)
		}
		delete(hasDraft, s.Signal)
	}
	if len(hasDraft) > 0 {
		t.Errorf("there are no statements of the signals %v, want one each", hasDraft)
	}
}

// TestDrafts_OneMention checks that versions of drafts are only in the map
// drafts, so that the next version is a single change.
func TestDrafts_OneMention(t *testing.T) {
	name := regexp.MustCompile(`draft-[a-z]+-aipref-[a-z-]+-\d\d`)
	found := 0
	root := filepath.Join("..", "..")
	place := filepath.Join(root, "robotsmw", "preference", "preference.go")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		isText := slices.Contains([]string{".go", ".md", ".txt"}, filepath.Ext(path))
		if err != nil || entry.IsDir() || !isText {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		mentions := name.FindAll(text, -1)
		if len(mentions) > 0 && path != place {
			t.Errorf("%s mentions %s, want this version only in the map drafts", path, mentions[0])
		}
		found += len(mentions)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 3 {
		t.Errorf("the source files have %d versions of drafts, want at least 3", found)
	}
	date := regexp.MustCompile(`\(20\d\d-\d\d-\d\d\)$`)
	for signal, draft := range drafts {
		if !date.MatchString(draft) {
			t.Errorf("the draft of %s is %q, want a date at its end", signal, draft)
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
		Header: header(
			"Link", `<https://a.example/a,b>; rel="license"; type="application/rsl+xml", `+
				`</style.css>; rel=preload`,
			"Link", `</c>;title="a, b";rel="x License"`,
			"Link", "broken; rel=license",
		),
	}
	var got []string
	for _, l := range in.Licenses() {
		got = append(got, l.Where+" "+l.URL)
	}
	want := []string{
		"robots.txt https://a.example/l.xml",
		"robots.txt https://a.example/2.xml",
		"header https://a.example/a,b",
		"header /c",
	}
	if !slices.Equal(got, want) {
		t.Errorf("Licenses() = %q, want %q", got, want)
	}
	many := Input{
		Robots: robots(slices.Repeat([]string{"License: x"}, 1000)...),
		Header: header("Link", strings.Repeat("<x>;rel=license,", 1000)),
	}
	if n := len(many.Licenses()); n != maxFields {
		t.Errorf("Licenses() returns %d of 2,000 licenses, want %d", n, maxFields)
	}
	many.Robots = nil
	if n := len(many.Licenses()); n != maxFields {
		t.Errorf("Licenses() returns %d of 1,000 licenses in a header, want %d", n, maxFields)
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
				"Content-Usage", usage,
				"Content-Signal", usage,
				"Link", link,
				"Tdm-Reservation", link,
			),
			TDMRep:       []byte(txt),
			PolicyTokens: map[Use][]string{TrainAI: {"x-extended"}},
		}
		checkStatements(t, in)
		in.Licenses()
	})
}

// checkStatements checks that the statements of an input are complete and
// within the limits, and that they agree with the verdicts.
func checkStatements(t *testing.T, in Input) {
	t.Helper()
	verdicts := make(map[Use]Verdict)
	for _, s := range in.Says() {
		v, ok := verdicts[s.Use]
		if !ok {
			v = in.For(s.Use)
			verdicts[s.Use] = v
		}
		isComplete := s.Where != "" && s.Raw != "" && s.Signal != ""
		if !isComplete || len(s.Raw) > maxRaw {
			t.Fatalf("got the statement %+v, want Where, Signal, and Raw of at most %d bytes", s, maxRaw)
		}
		if s.Answer == Deny && v.Answer != Deny {
			t.Fatalf("the verdict is %v, want deny because of %v", v, s)
		}
		if s.Answer == Allow && v.Answer == Unknown {
			t.Fatalf("the verdict is unknown, want allow or deny because of %v", s)
		}
		if s.Answer != Unknown && !slices.Contains(uses, s.Use) {
			t.Fatalf("got the statement %v, want unknown, because the use is not known", s)
		}
	}
}
