package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// options are a crawl as the command line asks for it.
type options struct {
	config
	keep  keeping
	json  bool
	scope scope
	proxy string
	store string // directory of robots.txt records; "": none of its own
	pages pageFiles
}

// define says which flags there are.
func (o *options) define(flags *flag.FlagSet) {
	flags.StringVar(&o.userAgent, "user-agent", "", "`name` and address of your crawler, as in \""+demoAgent+"\"; required with URLs")

	flags.StringVar((*string)(&o.scope), "scope", string(sameHost), "which `links` to follow: those within a URL's host, its registrable domain, or its prefix up to the last slash:\nhost, domain or prefix")
	flags.IntVar(&o.maxDepth, "depth", 0, "`links` to follow at most from a start URL to a page; 0: no limit")
	flags.IntVar(&o.maxPages, "max-pages", 100, "`pages` to fetch at most; 0: no limit")
	flags.DurationVar(&o.maxTime, "max-time", 0, "`time` after which the crawl is stopped; 0: no limit")
	flags.BoolVar(&o.sitemaps, "sitemaps", false, "begin with the URLs in the sitemaps that robots.txt names, too")

	flags.DurationVar(&o.delay, "delay", time.Second, "least `time` between two requests to a host; 0: none, for servers of your own")
	flags.Float64Var(&o.adaptive, "adaptive", 0, "let a host rest for this many `times` as long as it takes to answer, if that is longer than -delay; 0: off")
	flags.IntVar(&o.hosts, "hosts", 32, "`hosts` to crawl at a time")
	flags.StringVar(&o.proxy, "proxy", "", "send everything through the proxy at this `URL`, as in http://127.0.0.1:3128 or socks5://127.0.0.1:1080;\nelse those that HTTP_PROXY, HTTPS_PROXY and NO_PROXY name")

	flags.BoolVar(&o.json, "json", false, "print a JSON object for each line, and one for the summary")
	flags.StringVar(&o.report, "report", "", "write what this run came to as an HTML `file`, to be opened in a browser")
	flags.Var(&repeated{add: o.policyToken}, "policy-token", "`use=name`: a name that robots.txt may address a use by, as in train-ai=Google-Extended; may be repeated")
	flags.StringVar(&o.pages.dir, "pages", "", "keep the pages in this `directory`, but for those that say noindex or noarchive, or cannot be asked")
	flags.BoolVar(&o.pages.all, "pages-all", false, "with -pages: keep those, too")

	flags.StringVar(&o.keep.dir, "resume", "", "keep the state of the crawl in this `directory`, and go on with what is there")
	flags.StringVar(&o.keep.redisURL, "redis", "", "share the crawl with other processes through the Redis or Valkey at this `URL`,\nas in redis://user:password@127.0.0.1:6379/0; rediss for TLS")
	flags.StringVar(&o.keep.crawl, "crawl", "crawl", "`name` of the crawl in -redis, for which it is complete once and for all")
	flags.DurationVar(&o.keep.lease, "lease", 15*time.Second, "with -redis: `time` that a process may be silent before others take over what it was at")
	flags.StringVar(&o.store, "store", "", "keep robots.txt in this `directory` for later crawls; with -resume and -redis it is kept there")
}

// usage is what -help prints.
func usage(w io.Writer, flags *flag.FlagSet) {
	fmt.Fprint(w, "Politespider crawls websites as their robots.txt asks.\n\n"+
		"  politespider                  crawl a demo internet on loopback\n"+
		"  politespider [flags] URL...   crawl these sites\n\nFlags:\n")
	flags.PrintDefaults()
	fmt.Fprint(w, "\nExit status:\n"+
		"  0    the crawl ran to its end, or to -max-pages or -max-time\n"+
		"  1    no page could be fetched, or something could not be kept: the output, the state of the crawl, a page\n"+
		"  2    called wrongly\n"+
		"  130  interrupted: by Ctrl-C, or SIGTERM\n")
}

// check says what is wrong with the flags, and puts what stands for no limit into the crawl's terms.
func (o *options) check() error {
	switch {
	case !o.scope.known():
		return fmt.Errorf("-scope %q: write host, domain or prefix", o.scope)
	case o.maxDepth < 0:
		return fmt.Errorf("-depth %d: write a positive number, or 0 for no limit", o.maxDepth)
	case o.maxPages < 0:
		return fmt.Errorf("-max-pages %d: write a positive number, or 0 for no limit", o.maxPages)
	case o.maxTime < 0:
		return fmt.Errorf("-max-time %v: write a positive time such as 1h, or 0 for no limit", o.maxTime)
	case o.delay < 0:
		return fmt.Errorf("-delay %v: write a positive time such as 2s, or 0 for none", o.delay)
	case !(o.adaptive >= 0 && o.adaptive <= 1000):
		return fmt.Errorf("-adaptive %v: write a number such as 5, 1000 at most, or 0 for off", o.adaptive)
	case o.hosts < 1:
		return fmt.Errorf("-hosts %d: write a positive number", o.hosts)
	case o.pages.all && o.pages.dir == "":
		return errors.New("-pages-all: say with -pages where")
	case o.store != "" && (o.keep.dir != "" || o.keep.redisURL != ""):
		return errors.New("-store: with -resume and -redis robots.txt is kept there: leave it out")
	}
	if o.maxPages == 0 {
		o.maxPages = math.MaxInt
	}
	if o.maxDepth == 0 {
		o.maxDepth = math.MaxInt
	}
	if o.delay == 0 {
		o.delay = -1
	}
	if err := checkReport(o.report); err != nil {
		return err
	}
	return o.keep.check()
}

// through returns a transport that sends everything through the proxy.
func through(proxy string) (*http.Transport, error) {
	u, err := url.Parse(proxy)
	if err != nil || u.Host == "" || !strings.Contains(" http https socks5 socks5h ", " "+u.Scheme+" ") {
		// Not the URL itself: it may have a password.
		return nil, errors.New("-proxy: write it as in http://user:password@127.0.0.1:3128, or with https or socks5")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = http.ProxyURL(u)
	return transport, nil
}
