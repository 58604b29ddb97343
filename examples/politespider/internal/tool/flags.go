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

// A Sharing opens a crawl that several processes share.
type Sharing interface {
	// Define defines the flags that identify the crawl.
	Define(flags *flag.FlagSet)

	// Check returns an error if one of these flags has an invalid value.
	Check() error

	// Open joins the crawl, or begins it.
	Open(ctx context.Context, opts keep.Options) (*keep.Kept, error)
}

// Settings are the flags that a Crawler obeys itself.
type Settings struct {
	UserAgent string
	Workers   int               // how many hosts to crawl at a time
	Delay     time.Duration     // minimum time between two requests to a host; negative means none
	FromEnd   bool              // whether an interval begins at the end of a request
	Adaptive  float64           // see politeness.Adaptive; 0 means off
	Budget    politeness.Budget // the budget of each host for a day
}

// options are the values of the flags, and what follows from them.
type options struct {
	Settings
	output       output.Options // how to show the crawl
	keep         keep.Options   // which crawl it is, and how many pages it may fetch
	signing      signing
	card         *card // nil means that no card is printed
	scope        scope
	maxDepth     int // maximum number of links from a start URL to a page
	maxTime      time.Duration
	sitemaps     bool
	proxy        string
	evidence     string                      // directory of the evidence record; "" means none
	compare      string                      // the file with the JSON lines of an earlier crawl; "" means none
	policyTokens map[preference.Use][]string // for each use, the product tokens that represent it in robots.txt
	terms        []*preference.RSL
	pages        keep.Pages
	resume       string  // directory of the crawl's state; "" means none
	shared       Sharing // nil means that the crawl has one process
	revisit      string  // directory in which pages are remembered; "" means none
	store        string  // directory for robots.txt records; "" means the place where the crawl is kept

	// finish sets the fields below.
	start    []*url.URL
	inScope  func(*url.URL) bool // reports whether the crawl follows a link
	proxyURL *url.URL            // nil means no proxy
	isDemo   bool
}

// define defines the flags, in groups: the identity of the crawler, the extent
// of the crawl, its pace, its output, and its state.
func (o *options) define(flags *flag.FlagSet) {
	flags.StringVar(&o.UserAgent, "user-agent", "",
		"`name` and address of your crawler, such as \""+demoAgent+"\"; required with URLs")

	flags.StringVar(&o.signing.keyFile, "key", "",
		"sign https requests with the private key in this `file`, which only its owner may be able to read (Web Bot Auth)")
	flags.StringVar(&o.signing.Agent, "signature-agent", "",
		"with -key: `URL` of the key directory, from which servers fetch the public key, such as\n"+
			"https://bot.example/.well-known/http-message-signatures-directory")
	flags.BoolVar(&o.signing.LegacyAgent, "legacy-signature-agent", false,
		"send -signature-agent in the form of the drafts before architecture-04, which Cloudflare documents;\n"+
			"-signature-agent is then an origin")
	flags.BoolFunc("card",
		"print the identity, the rules and the pace of the crawler as a Signature Agent Card, and do not crawl;\n"+
			"-card=URL sets the URL at which the card will be served", o.setCard)

	flags.StringVar((*string)(&o.scope), "scope", string(sameHost),
		"which `links` to follow: those on the host of a start URL (host), in its registrable domain (domain),\n"+
			"or below its path up to the last slash (prefix)")
	flags.IntVar(&o.maxDepth, "depth", 0,
		"maximum number of `links` from a start URL to a page; 0: no limit")
	flags.IntVar(&o.keep.Limits.Pages, "max-pages", 100,
		"maximum number of `pages` to request; requests for robots.txt and retries do not count; 0: no limit")
	flags.IntVar(&o.keep.Limits.Refused, "max-refused", 0,
		"number of refused `pages` after which the crawl of a host stops; its other pages stay in the queue. 0: no limit.\n"+
			"All runs and processes of a crawl are counted together; a larger -max-refused resumes the host")
	flags.DurationVar(&o.maxTime, "max-time", 0,
		"`time` after which the crawl is stopped; 0: no limit")
	flags.BoolVar(&o.sitemaps, "sitemaps", false,
		"also start with the URLs in the sitemaps that robots.txt lists")

	flags.DurationVar(&o.Delay, "delay", politeness.DefaultDelay,
		"minimum `time` between two requests to a host; 0: none, for your own servers")
	flags.BoolVar(&o.FromEnd, "from-end", false,
		"measure -delay and a Crawl-delay from the end of the previous request, not from its start,\n"+
			"so that the server's own log shows these intervals, even if a request is slow")
	flags.Float64Var(&o.Adaptive, "adaptive", 0,
		"wait this many `times` the response time of a host before its next request, if that is longer than -delay; 0: off")
	flags.Int64Var(&o.Budget.Requests, "budget-requests", 0,
		"maximum number of `requests` to a host per day (UTC), including robots.txt; the host is then paused until the next day.\n"+
			"0: no limit. Each run starts a new count, also with -resume; the processes of a fleet share one count, which is kept")
	flags.Int64Var(&o.Budget.Bytes, "budget-bytes", 0,
		"`bytes` of pages from a host per day (UTC), after which no page is requested until the next day; 0: no limit")
	flags.IntVar(&o.Workers, "hosts", 32,
		"maximum number of `hosts` to crawl at the same time")
	flags.StringVar(&o.proxy, "proxy", "",
		"send all requests through the proxy at this `URL`, such as http://127.0.0.1:3128 or socks5://127.0.0.1:1080;\n"+
			"default: the proxies in HTTP_PROXY, HTTPS_PROXY and NO_PROXY")

	flags.BoolVar(&o.output.JSON, "json", false,
		"print one JSON object per line, the last one with the summary; the fields are listed below")
	flags.StringVar(&o.output.Report, "report", "",
		"write the outcome of the crawl (in a fleet: of this process) to this HTML `file`")
	flags.StringVar(&o.evidence, "evidence", "",
		"write a record of the crawl that third parties can verify to this `directory`, or continue the one there;\n"+
			"-report links each disallowed URL to its proof")
	flags.StringVar(&o.compare, "compare", "",
		"with -report: show the changes since an earlier crawl, whose -json output is in this `file`")
	flags.Var(&repeated{add: o.addPolicyToken}, "policy-token",
		"`use=name`: a product token that stands for a use in robots.txt, such as train-ai=Google-Extended; may be repeated")
	flags.Var(&repeated{add: o.addTerms}, "rsl",
		"RSL 1.0 `file` with license terms, which count as preferences of the owners of the sites;\n"+
			"terms for a path without a host apply to all hosts; may be repeated")
	flags.StringVar(&o.pages.Dir, "pages", "",
		"keep the pages in this `directory`, except pages with noindex or noarchive, and pages that cannot be examined")
	flags.BoolVar(&o.pages.All, "pages-all", false,
		"with -pages: keep all pages, including pages with noindex or noarchive")

	if o.shared != nil {
		o.shared.Define(flags)
	} else {
		flags.StringVar(&o.resume, "resume", "",
			"keep the state of the crawl in this `directory`, and continue the crawl that is there;\n"+
				"the program politespider/fleet shares a crawl with other processes")
	}
	flags.StringVar(&o.revisit, "revisit", "",
		"remember pages in this `directory`, and request only those that may have changed since an earlier crawl with it;\n"+
			"no text of a page is kept there")
	flags.StringVar(&o.store, "store", "",
		"keep robots.txt in this `directory` for later crawls; with -resume it is kept there")
}

// setCard parses the value of -card, which is "true" if no URL is given.
func (o *options) setCard(text string) error {
	u, err := url.Parse(text)
	isURL := err == nil && u.Scheme == "https" && u.Host != ""
	if text != "true" && !isURL {
		return errors.New("must be -card, or -card=URL with the https URL at which the card will be served")
	}
	o.card = &card{ClientID: strings.TrimPrefix(text, "true")}
	return nil
}

// addPolicyToken parses and adds a value of -policy-token.
func (o *options) addPolicyToken(text string) error {
	use, token, ok := strings.Cut(text, "=")
	isUse := slices.Contains(uses, preference.Use(use))
	if !ok || token == "" || !isUse {
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

// addTerms reads the file that a value of -rsl names.
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

// String implements flag.Value.
func (r *repeated) String() string { return strings.Join(r.values, " ") }

// Set implements flag.Value.
func (r *repeated) Set(value string) error {
	r.values = append(r.values, value)
	return r.add(value)
}

// jsonHelp describes the output of -json.
const jsonHelp = `
Fields of -json; empty fields are omitted:
  seconds, paused_until        seconds since the run began; when the pause of the host ends, likewise
  verdict, url, host, from     the outcome of a URL of a host, and the page on which it was found
  status, location, error      of the response, or why there is none
  waited, tries, again         seconds of waiting for the host; requests for the page; seconds until the next one
  for, redirects               checked: the page that was put off; robots.txt: the number of redirects followed
  requests                     [{at, took, status, interval, asked, url, host}]: the requests sent; times in seconds
  links, links_left            number of new links; number of links not followed because of nofollow
  noindex, nofollow            directives of the page
  examined, coding             how much of the page was examined; its content coding, if unknown
  directives, unavailable_after, canonical, refresh, not_followed
                               the directives, each with its place; when the page expires; its links
  uses, reuse, licenses        preferences of the owner for the use of the page, with the evidence
  refusal                      which bot protection responded instead of the page, and why
  decision                     the decision of robots.txt: {allowed, reason, rule, line, robots_url, …}
The last line is {"summary": …}: the number of URLs with each outcome, the hosts, and the lost URLs;
ended: [{host, left}]: hosts stopped at -max-refused, and the number of their URLs that are missing.
`

// usage prints the help of the command.
func usage(w io.Writer, flags *flag.FlagSet) {
	fmt.Fprintf(w, "Politespider crawls websites and obeys their robots.txt.\n\n"+
		"  %[1]s [flags] URL...   crawl these sites\n"+
		"  %[1]s [flags] demo     crawl a demo internet on loopback; also without arguments\n"+
		"  %[1]s [flags] -card    print the card of the crawler\n\nFlags:\n", flags.Name())
	flags.SetOutput(w)
	flags.PrintDefaults()
	fmt.Fprint(w, jsonHelp+"\nExit status:\n"+
		"  0    the crawl is complete, or stopped at -max-pages or -max-time\n"+
		"  1    no page was fetched, or one of these could not be written:\n"+
		"       the output, the state of the crawl, a page, the report or the record\n"+
		"  2    usage error\n"+
		"  3    the crawl of a host stopped at -max-refused and is incomplete,\n"+
		"       even if no page was fetched\n"+
		"  130  interrupted by Ctrl-C or SIGTERM\n")
}
