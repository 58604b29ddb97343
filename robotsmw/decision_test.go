package robotsmw

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/goodbots/courtesy/robotsmw/internal/record"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// String and MarshalJSON include the reason of a decision. The times in them
// are those of synctest's clock, which starts at midnight UTC on 1 January
// 2000.
func TestDecisionSaysWhy(t *testing.T) {
	const a = "http://a.example/robots.txt"
	for _, tt := range []struct {
		name   string
		robots http.Handler
		url    string
		edit   func(*Options)
		text   string
		json   string
	}{
		{
			name:   "rule",
			robots: robots("User-agent: ExampleBot\nUser-agent: Other\nCrawl-delay: 1.5\nDisallow: /p*q$\n"),
			url:    "http://u:secret@a.example/pq",
			text:   `disallowed: http://u:xxxxx@a.example/pq (rule "Disallow: /p*q$", line 4 of http://a.example/robots.txt)`,
			json:   `{"url":"http://u:xxxxx@a.example/pq","allowed":false,"reason":"rule","rule":"Disallow: /p*q$","line":4,"group":["ExampleBot"],"crawl_delay_seconds":1.5,"robots_url":"http://a.example/robots.txt","status":200,"fetched":"2000-01-01T00:00:00Z","expires":"2000-01-02T00:00:00Z","sha256":"45fdbc8ce34299a164f5bea1d10a5d8aaf90bd78b9d5d60e373152f2f18dfce3"}`,
		},
		{
			name: "allowed by a rule", robots: robots("User-agent: *\nAllow: /p\n"), url: "http://a.example/p",
			text: `allowed: http://a.example/p (rule "Allow: /p", line 2 of http://a.example/robots.txt)`,
		},
		{
			name: "no rule matches", robots: robots(someRules), url: "http://a.example/",
			text: "allowed: http://a.example/ (no rule matches in http://a.example/robots.txt)",
		},
		{
			name: "empty group", robots: robots("User-agent: *\nDisallow:\n"), url: "http://a.example/",
			text: "allowed: http://a.example/ (the group has no rules in http://a.example/robots.txt)",
		},
		{
			name: "no group", robots: robots("User-agent: Other\nDisallow: /\n"), url: "http://a.example/",
			text: "allowed: http://a.example/ (no group for this crawler in http://a.example/robots.txt)",
		},
		{
			name: "robots.txt itself", robots: robots(shutRules), url: a,
			text: "allowed: http://a.example/robots.txt (robots.txt itself)",
			json: `{"url":"http://a.example/robots.txt","allowed":true,"reason":"robots-txt"}`,
		},
		{
			name: "unavailable", robots: status(404), url: "http://a.example/",
			text: "allowed: http://a.example/ (no robots.txt: http://a.example/robots.txt returned status 404)",
			json: `{"url":"http://a.example/","allowed":true,"reason":"unavailable","robots_url":"http://a.example/robots.txt","status":404,"fetched":"2000-01-01T00:00:00Z","expires":"2000-01-02T00:00:00Z"}`,
		},
		{
			name: "forbidden", robots: status(403), url: "http://a.example/", edit: forbiddenIsDisallow,
			text: "disallowed: http://a.example/ (http://a.example/robots.txt returned status 403, which counts as a disallow)",
		},
		{
			name: "unreachable", robots: status(503), url: "http://a.example/",
			text: "disallowed: http://a.example/ (http://a.example/robots.txt is unreachable: status 503 Service Unavailable; next try at 2000-01-01T00:01:00Z)",
			json: `{"url":"http://a.example/","allowed":false,"reason":"unreachable","robots_url":"http://a.example/robots.txt","status":503,"expires":"2000-01-01T00:01:00Z","cause":"status 503 Service Unavailable","failed_since":"2000-01-01T00:00:00Z","next_try":"2000-01-01T00:01:00Z"}`,
		},
		{
			name: "override", robots: status(500), url: "http://a.example/",
			edit: func(o *Options) { o.Override = map[string]string{"http://a.example": shutRules} },
			text: `disallowed: http://a.example/ (rule "Disallow: /", line 2 of the robots.txt set for this origin)`,
		},
		{
			name: "another scheme", robots: status(200), url: "data:,x",
			text: "allowed: data:,x (robots.txt does not apply to this scheme)",
			json: `{"url":"data:,x","allowed":true,"reason":"not-applicable"}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var web robotstest.Internet
				web.Handle("a.example", tt.robots)
				edit := tt.edit
				if edit == nil {
					edit = func(*Options) {}
				}
				d := decide(t, newTestTransport(t, &web, edit).Checker(), tt.url)
				if got := d.String(); got != tt.text {
					t.Errorf("String() = %s\n    want %s", got, tt.text)
				}
				_, why, _ := strings.Cut(strings.TrimSuffix(tt.text, ")"), " (")
				want := "robotsmw: disallowed: " + strings.ReplaceAll(why, "http://a.example/robots.txt", "robots.txt")
				if d.Reason == Unreachable {
					want = "robotsmw: robots.txt of http://a.example" + strings.TrimPrefix(why,
						"http://a.example/robots.txt")
				}
				if got := (&DisallowedError{d}).Error(); got != want {
					t.Errorf("the DisallowedError's text is %s\nwant %s", got, want)
				}
				b, err := json.Marshal(d)
				if err != nil {
					t.Fatal(err)
				}
				if tt.json != "" && string(b) != tt.json {
					t.Errorf("the JSON is %s\nwant        %s", b, tt.json)
				}
			})
		})
	}
}

func TestStaleDecisionSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(someRules))
		c := newTestTransport(t, &web).Checker()
		decide(t, c, "http://a.example/")
		web.Handle("a.example", status(502))
		time.Sleep(25 * time.Hour)
		d := decide(t, c, "http://a.example/private/")
		if s := d.String(); !strings.Contains(s, "a stale copy: status 502 Bad Gateway") {
			t.Errorf("String() = %q, want it to contain the stale copy and its cause", s)
		}
		var v map[string]any
		b, _ := json.Marshal(d)
		err := json.Unmarshal(b, &v)
		isStale := v["stale"] == true && v["cause"] == "status 502 Bad Gateway"
		if err != nil || !isStale || v["fetched"] != "2000-01-01T00:00:00Z" {
			t.Errorf("the JSON is %s (error %v), want stale, the cause and the time of the fetch", b, err)
		}
		if !errors.Is(&DisallowedError{d}, ErrDisallowed) {
			t.Error("errors.Is with ErrDisallowed reports false, want true, because a rule of a stale copy disallows the URL")
		}
	})
}

func TestEveryReasonOfTheParser(t *testing.T) {
	unknown := robotstxt.Reason(255).String()
	for r := robotstxt.Reason(0); r.String() != unknown; r++ {
		if int(r) >= len(fromMatch) {
			t.Errorf("fromMatch has no Reason for %q of package robotstxt, want one for each of its reasons", r)
		}
	}
}

// With Options.KeepFiles, Decision.File has all lines of the robots.txt,
// whether the file was fetched, was loaded from the Store or is an override.
// Without KeepFiles, File returns nil.
func TestDecisionHasTheFileIfAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(someRules+"License: https://a.example/terms\n"))
		web.Handle("none.example", status(404))
		store := new(memoryStore)
		keep := func(o *Options) {
			o.KeepFiles, o.Store = true, store
			o.Override = map[string]string{"http://mine.example": "License: https://mine.example/terms\n"}
		}
		for _, c := range []struct {
			name     string
			checker  *Checker
			url      string
			licenses int // in the File; -1 means that there is no File
		}{
			{"fetched", newTestTransport(t, &web, keep).Checker(), "http://a.example/", 1},
			{"from the store", newTestTransport(t, &web, keep).Checker(), "http://a.example/", 1},
			{"overridden", newTestTransport(t, &web, keep).Checker(), "http://mine.example/", 1},
			{"no robots.txt", newTestTransport(t, &web, keep).Checker(), "http://none.example/", -1},
			{"not asked for", newTestTransport(t, &web).Checker(), "http://a.example/", -1},
		} {
			f := decide(t, c.checker, c.url).File()
			synctest.Wait()
			got := -1
			if f != nil {
				got = 0
				for range f.Fields("License") {
					got++
				}
			}
			if got != c.licenses {
				t.Errorf("%s: %d License lines, want %d", c.name, got, c.licenses)
			}
		}
		if n := robotsFetches(&web, "a.example"); n != 2 {
			t.Errorf("%d fetches of robots.txt, want 2: one for the Store and one without it", n)
		}
		with := (&record.Kind{KeepFiles: true}).Document([]byte(someRules))
		without := new(record.Kind).Document([]byte(someRules))
		if with.Cost() != without.Cost()+int64(with.File.Size()) || with.File.Size() < 2*len(someRules) {
			t.Errorf("a file of %d bytes: the cost is %d with the File and %d without it, want a difference of File.Size",
				len(someRules), with.Cost(), without.Cost())
		}
	})
}

// The hash of a large file covers its first 500 KiB and one byte more.
func TestHashOfALargeFile(t *testing.T) {
	var web robotstest.Internet
	text := "User-agent: *\nDisallow: /a\n" + strings.Repeat("# filler\n", 70_000)
	web.Handle("a.example", robots(text))
	c := newTestTransport(t, &web).Checker()
	d := decide(t, c, "http://a.example/a")
	if d.SHA256() != sha256Hex(text[:robotstxt.MaxSize+1]) {
		t.Errorf("SHA256() = %s, want the hash of the first 512,001 bytes", d.SHA256())
	}
}

// A robots.txt of more than 500 KiB begins with a byte order mark. The part
// that is read ends within the line "Allow: /public", after "Allow: /". The
// incomplete line must be ignored, because it would allow the whole site. The
// file must also be Truncated if it is in UTF-16, because a preference in the
// rest may deny a use.
func TestLargeFile_ByteOrderMark(t *testing.T) {
	begin := "User-agent: *\nDisallow: /\n"
	long := func(mark string) string {
		const half = "\nAllow: /"
		filler := robotstxt.MaxSize + 1 - len(mark) - len(begin) - len(half)
		return mark + begin + strings.Repeat("#", filler) + half + "public\nContent-Usage: train-ai=n\n"
	}
	inUTF16 := func(text string) string {
		var b []byte
		for _, unit := range utf16.Encode([]rune(text)) {
			b = binary.BigEndian.AppendUint16(b, unit)
		}
		return string(b)
	}
	for name, text := range map[string]string{
		"no mark": long(""),
		"UTF-8":   long("\ufeff"),
		"UTF-16":  inUTF16(long("\ufeff")),
	} {
		var web robotstest.Internet
		web.Handle("a.example", robots(text))
		c := newTestTransport(t, &web, func(o *Options) { o.KeepFiles = true }).Checker()
		if d := decide(t, c, "http://a.example/secret"); d.Allowed || d.Line != 2 || !d.File().Truncated() {
			t.Errorf("%s: got %v, truncated %v; want disallowed by line 2, and truncated", name, d,
				d.File().Truncated())
		}
	}
}

// A URL or a rule of 400 KB does not make the error message long.
func TestDecisionInASentenceIsShort(t *testing.T) {
	long := "/" + strings.Repeat("x", 400_000)
	var web robotstest.Internet
	web.Handle("a.example", robots("User-agent: *\nDisallow: "+long+"\n"))
	d := decide(t, newTestTransport(t, &web).Checker(), "http://a.example"+long)
	if s := (&DisallowedError{d}).Error(); d.Allowed || d.Rule != long || len(s) > 2000 {
		t.Errorf("allowed %v, and an error of %d bytes; want disallowed, and at most 2,000 bytes: %.2000s", d.Allowed,
			len(s), s)
	}
	web.Handle("b.example", robots(someRules))
	d = decide(t, newTestTransport(t, &web).Checker(), "http://b.example//private"+long)
	if s := (&DisallowedError{d}).Error(); d.Allowed || d.Resolved != "/private"+long || len(s) > 2000 {
		t.Errorf("other form of a path: allowed %v, and an error of %d bytes; want disallowed, and at most 2,000 bytes: %.2000s",
			d.Allowed, len(s), s)
	}
}

func TestControlCharactersInString(t *testing.T) {
	var web robotstest.Internet
	web.Handle("a.example", robots("User-agent: *\nDisallow: /\x1b[2J\x07\n"))
	c := newTestTransport(t, &web).Checker()
	d := decide(t, c, "http://a.example/%1B[2J%07")
	if d.Allowed {
		t.Fatalf("got %v; want disallowed", d)
	}
	if strings.ContainsAny(d.String(), "\x1b\x07") {
		t.Errorf("%q contains control characters of the URL, want none", d.String())
	}
}

// The JSON of a decision stays short and printable, even if the robots.txt is
// hostile.
func TestDecisionOfAHostileFileAsJSON(t *testing.T) {
	var web robotstest.Internet
	long := strings.Repeat("\u00e9", 20_000)
	web.Handle("a.example", robots("User-agent: ExampleBot\n"+strings.Repeat("User-agent: ExampleBot/\u202ey"+long[:20_000]+"\n", 15)+
		strings.Repeat("User-agent: examplebot\n", 5_000)+"Disallow: /\u009b31m\u202e\U000e0001*"+long+"\n"))
	c := newTestTransport(t, &web).Checker()
	u := mustURL(t, "http://a.example/\u009b31m\u202e\U000e0001"+long)
	d := decide(t, c, u.String())
	if d.Allowed || len(d.Group) < 5_000 || len(d.Rule) < 40_000 {
		t.Fatalf("the reason is %v, with %d user agents and a rule of %d bytes; want disallowed, with at least 5,000 and 40,000",
			d.Reason, len(d.Group), len(d.Rule))
	}
	d.URL = mustURL(t, "http://a.example/")
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 64<<10 {
		t.Errorf("the JSON has %d bytes, want at most 64 KiB", len(text))
	}
	if i := bytes.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
		t.Errorf("the JSON contains %q, want only printable characters", text[i:i+10])
	}
	var back struct {
		Rule  string
		Group []string
	}
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(back.Rule, "Disallow: /\u009b31m\u202e\U000e0001*\u00e9") || !strings.HasSuffix(back.Rule, "\u00e9...") {
		t.Errorf("the rule is %.40q, want its beginning and \"...\"", back.Rule)
	}
	if n := len(back.Group); n != 101 || back.Group[0] != "ExampleBot" || back.Group[100] != "..." {
		t.Errorf("the group has %d user agents, want 100 and \"...\": %.100q", n, back.Group)
	}
	if text := (&DisallowedError{d}).Error(); len(text) > 2<<10 {
		t.Errorf("the error has %d bytes, want at most 2 KiB", len(text))
	}
}
