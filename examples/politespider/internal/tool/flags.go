package tool

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/tool/keep"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool/output"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/preference"
)

// demoAgent is the User-Agent for the demo. Some sites of the demo have rules
// that name ExampleBot.
const demoAgent = "ExampleBot/1.0 (+https://example.com/bot)"

// A Sharing keeps a crawl in which several processes take part. Define defines
// its flags, and Check returns an error if one of them has a bad value. Open
// joins the crawl, or begins it.
type Sharing interface {
	Define(flags *flag.FlagSet)
	Check() error
	Open(ctx context.Context, opts keep.Options) (*keep.Kept, error)
}

// Settings are the flags that a Crawler obeys itself.
type Settings struct {
	UserAgent string
	Workers   int               // how many hosts to crawl at a time
	Delay     time.Duration     // least time between requests to a host; negative means none
	FromEnd   bool              // whether an interval begins at the end of a request
	Adaptive  float64           // see politeness.Adaptive; 0 means off
	Budget    politeness.Budget // the budget of each host for a day
}

type options struct {
	Settings
	output       output.Options // how to show the crawl
	keep         keep.Options   // which crawl it is, and how many pages it may fetch
	signing      signing
	card         *card // nil means that no card is wanted
	scope        scope
	maxDepth     int // a page may be at most so many links away from a start URL
	maxTime      time.Duration
	sitemaps     bool
	proxy        string
	evidence     string                      // directory of the evidence record; "" means none
	compare      string                      // the file with the JSON lines of an earlier crawl; "" means none
	policyTokens map[preference.Use][]string // for each use, the product tokens that stand for it
	terms        []*preference.RSL
	pages        keep.Pages
	resume       string  // directory of the crawl's state; "" means none
	shared       Sharing // nil means that no other process takes part
	revisit      string  // directory of what is known of pages; "" means nothing
	store        string  // directory for robots.txt records; "" means the place where the crawl is kept

	// finish sets the fields below.
	start   []*url.URL
	inScope func(*url.URL) bool // whether a link is to be followed
	through *url.URL            // the proxy; nil means none
	isDemo  bool
}

func (o *options) define(flags *flag.FlagSet) {
	flags.StringVar(&o.UserAgent, "user-agent", "", "`name` and address of your crawler, as in \""+demoAgent+"\"; required with URLs")

	flags.StringVar(&o.signing.keyFile, "key", "", "sign requests over https with the private key in this `file`, which nobody else may read (Web Bot Auth)")
	flags.StringVar(&o.signing.Agent, "signature-agent", "", "with -key: `URL` at which servers find the public key, as in\nhttps://bot.example/.well-known/http-message-signatures-directory")
	flags.BoolVar(&o.signing.LegacyAgent, "legacy-signature-agent", false, "send -signature-agent in the form of the drafts before architecture-04, which Cloudflare documents; it is then an origin")
	flags.BoolFunc("card", "print who crawls, by which rules and at what pace, as a Signature Agent Card, and do not crawl;\n-card=URL names where it will be served", o.setCard)

	flags.StringVar((*string)(&o.scope), "scope", string(sameHost), "which `links` to follow: those within a URL's host, its registrable domain, or its prefix up to the last slash:\nhost, domain or prefix")
	flags.IntVar(&o.maxDepth, "depth", 0, "maximum number of `links` from a start URL to a page; 0: no limit")
	flags.IntVar(&o.keep.Limits.Pages, "max-pages", 100, "maximum number of `pages` to ask for; each robots.txt, and each further try of a page, is a request more; 0: no limit")
	flags.IntVar(&o.keep.Limits.Refused, "max-refused", 0, "maximum number of `pages` that a host may refuse; then its crawl ends, and its other pages stay in the queue. 0: no limit.\nAll runs and processes of a crawl count together; a larger -max-refused goes on")
	flags.DurationVar(&o.maxTime, "max-time", 0, "`time` after which the crawl is stopped; 0: no limit")
	flags.BoolVar(&o.sitemaps, "sitemaps", false, "also begin with the URLs in the sitemaps that robots.txt names")

	flags.DurationVar(&o.Delay, "delay", politeness.DefaultDelay, "least `time` between two requests to a host; 0: none, for servers of your own")
	flags.BoolVar(&o.FromEnd, "from-end", false, "count -delay and a Crawl-delay from the end of the request before, not from its start:\nso a server's own log shows them kept, however long a request was on its way")
	flags.Float64Var(&o.Adaptive, "adaptive", 0, "let a host rest for this many `times` as long as it takes to answer, if that is longer than -delay; 0: off")
	flags.Int64Var(&o.Budget.Requests, "budget-requests", 0, "maximum number of `requests` to a host in a day (UTC), robots.txt included; then it waits for the next day. 0: no limit.\nEach run counts anew, also with -resume; the processes of a fleet count together, and keep the count")
	flags.Int64Var(&o.Budget.Bytes, "budget-bytes", 0, "`bytes` of pages from a host in a day (UTC), after which no page is begun until the next day; 0: no limit")
	flags.IntVar(&o.Workers, "hosts", 32, "`hosts` to crawl at a time")
	flags.StringVar(&o.proxy, "proxy", "", "send everything through the proxy at this `URL`, as in http://127.0.0.1:3128 or socks5://127.0.0.1:1080;\nwithout it, through the proxies that HTTP_PROXY, HTTPS_PROXY and NO_PROXY name")

	flags.BoolVar(&o.output.JSON, "json", false, "print a JSON object for each line, and one for the summary; its fields are listed below")
	flags.StringVar(&o.output.Report, "report", "", "write the outcome of the crawl (in a fleet: of this process) as an HTML `file` for a browser")
	flags.StringVar(&o.evidence, "evidence", "", "write a record of the crawl that others can check into this `directory`, or go on with the one there;\n-report links each URL that was blocked to its proof")
	flags.StringVar(&o.compare, "compare", "", "with -report: show what changed since an earlier crawl, whose -json output is in this `file`")
	flags.Var(&repeated{add: o.addPolicyToken}, "policy-token", "`use=name`: a name that stands for a use in robots.txt, as in train-ai=Google-Extended; may be repeated")
	flags.Var(&repeated{add: o.addTerms}, "rsl", "`file` of RSL 1.0 with the terms of sites, which are read like what their owners say about use;\na path in it applies to each host; may be repeated")
	flags.StringVar(&o.pages.Dir, "pages", "", "keep the pages in this `directory`, except those that say noindex or noarchive, or cannot be examined")
	flags.BoolVar(&o.pages.All, "pages-all", false, "with -pages: keep these pages, too")

	if o.shared != nil {
		o.shared.Define(flags)
	} else {
		flags.StringVar(&o.resume, "resume", "", "keep the state of the crawl in this `directory`, and continue the crawl that is there;\nthe program politespider/fleet shares a crawl with other processes")
	}
	flags.StringVar(&o.revisit, "revisit", "", "remember pages in this `directory`, and ask only for what may have changed since an earlier crawl with it;\nno page's text is kept there")
	flags.StringVar(&o.store, "store", "", "keep robots.txt in this `directory` for later crawls; with -resume it is kept there")
}

// setCard reads the flag: -card, for which text is "true", or -card=URL.
func (o *options) setCard(text string) error {
	u, err := url.Parse(text)
	if text != "true" && (err != nil || u.Scheme != "https" || u.Host == "") {
		return errors.New("write -card, or -card=URL with the https address at which it is to be served")
	}
	o.card = &card{ClientID: strings.TrimPrefix(text, "true")}
	return nil
}

// addPolicyToken parses and adds a value of -policy-token.
func (o *options) addPolicyToken(text string) error {
	use, token, ok := strings.Cut(text, "=")
	if !ok || token == "" || !slices.Contains(uses, preference.Use(use)) {
		const format = "specify a use (%s, %s or %s) and a name, as in train-ai=Google-Extended"
		return fmt.Errorf(format, uses[0], uses[1], uses[2])
	}
	if o.policyTokens == nil {
		o.policyTokens = make(map[preference.Use][]string)
	}
	key := preference.Use(use)
	o.policyTokens[key] = append(o.policyTokens[key], token)
	return nil
}

func (o *options) addTerms(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	terms, err := preference.ParseRSL(text)
	o.terms = append(o.terms, terms)
	return err
}

// A repeated is a flag that may be given several times.
type repeated struct {
	values []string
	add    func(value string) error
}

func (r *repeated) String() string { return strings.Join(r.values, " ") }

// Set implements flag.Value.
func (r *repeated) Set(value string) error {
	r.values = append(r.values, value)
	return r.add(value)
}

const jsonHelp = `
Fields of -json; those that are empty are left out:
  seconds, paused_until        since the run began; until then an answer's host is left alone
  verdict, url, host, from     what became of a URL of a host, and the page that it was found on
  status, location, error      of the answer, or why there is none
  waited, tries, again         seconds for the host's pace; requests for the page; seconds until the next one
  for, redirects               checked: the page that was put off; robots.txt: redirects that were followed
  requests                     [{at, took, status, interval, asked, url, host}]: those that were sent, in seconds
  links, links_left            how many links are new; how many are not followed, because of nofollow
  noindex, nofollow            what the page says to robots
  examined, coding             how much of the page was read; its content coding, if that is unknown
  directives, unavailable_after, canonical, refresh, not_followed
                               each with its place; when the page ends; its links
  uses, reuse, licenses        what the owner says about use, with the evidence
  refusal                      who refused, and why
  decision                     what robots.txt says: {allowed, reason, rule, line, robots_url, …}
The last line is {"summary": …}: what became of how many URLs, of each host, and what was lost;
ended: [{host, left}]: hosts that ended at -max-refused, and how many URLs of theirs are missing.
`

func usage(w io.Writer, flags *flag.FlagSet) {
	fmt.Fprintf(w, "Politespider crawls websites as their robots.txt asks.\n\n"+
		"  %[1]s [flags] URL...   crawl these sites\n"+
		"  %[1]s [flags] demo     crawl a demo internet on loopback; without any argument, too\n"+
		"  %[1]s [flags] -card    say who would crawl, and how\n\nFlags:\n", flags.Name())
	flags.SetOutput(w)
	flags.PrintDefaults()
	fmt.Fprint(w, jsonHelp+"\nExit status:\n"+
		"  0    the crawl ran to its end, or to -max-pages or -max-time\n"+
		"  1    not a single page was fetched, or something could not be kept:\n"+
		"       the output, the state of the crawl, a page, the report or the record\n"+
		"  2    called wrongly\n"+
		"  3    the crawl of a host ended at -max-refused, and pages of the host are missing,\n"+
		"       even if no page was fetched\n"+
		"  130  interrupted: by Ctrl-C, or SIGTERM\n")
}
