package tool

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"net/url"
	"strings"

	"github.com/goodbots/courtesy/examples/politespider/internal/demosite"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/preference"
)

func (o *options) finish(flags *flag.FlagSet, args []string) error {
	wantsDemo := len(args) == 1 && args[0] == "demo"
	if wantsDemo {
		args = nil
	}
	urls, recalled, err := o.recall(flags, args)
	if err != nil {
		return err
	}
	o.about = aboutFlags(flags) // must come before o.check(), which replaces some values that are 0
	if err := o.check(); err != nil {
		return err
	}
	switch {
	case o.card.Wanted && o.userAgent == "":
		return errNobody
	case o.card.Wanted:
		return nil // -card crawls nothing
	case len(urls) > 0:
		return o.sites(urls)
	}
	if err := o.demo(); err != nil {
		return err
	}
	if wantsDemo || recalled {
		return nil
	}
	return noURL(flags)
}

// forSites are flags that usually come with a URL. If such a flag is given with
// neither a URL nor "demo", the user probably forgot the URL.
var forSites = []string{"resume", "redis", "report", "pages", "store", "user-agent"}

func noURL(flags *flag.FlagSet) error {
	given := make(map[string]flag.Value)
	flags.Visit(func(f *flag.Flag) { given[f.Name] = f.Value })
	for _, name := range forSites {
		switch value := given[name]; {
		case value == nil:
		case name == "resume":
			return fmt.Errorf("-resume %s: there is no crawl yet, and no URL to begin one with: name one, or write demo for the demo internet", value)
		default:
			return fmt.Errorf("-%s: there is no URL to crawl: name one, or write demo for the demo internet", name)
		}
	}
	return nil
}

var errNobody = errors.New("say who is crawling: -user-agent \"YourBot/1.0 (+https://example.com/about-your-bot)\"")

// check returns an error if a flag has a bad value. For three flags, it
// replaces a 0, which means no limit or no delay, by the value that the crawl
// uses.
func (o *options) check() error {
	for _, mistake := range []struct {
		made bool
		says string
	}{
		{o.userAgent != "" && !named(o.userAgent), fmt.Sprintf("-user-agent %q: begin with your crawler's name, one word that is not a library's, as in %q", o.userAgent, demoAgent)},
		{!o.scope.known(), fmt.Sprintf("-scope %q: write host, domain or prefix", o.scope)},
		{o.maxDepth < 0, fmt.Sprintf("-depth %d: write a positive number, or 0 for no limit", o.maxDepth)},
		{o.maxPages < 0, fmt.Sprintf("-max-pages %d: write a positive number, or 0 for no limit", o.maxPages)},
		{o.maxTime < 0, fmt.Sprintf("-max-time %v: write a positive time such as 1h, or 0 for no limit", o.maxTime)},
		{o.delay < 0, fmt.Sprintf("-delay %v: write a positive time such as 2s, or 0 for none", o.delay)},
		{!(o.adaptive >= 0 && o.adaptive <= 1000), fmt.Sprintf("-adaptive %v: write a number such as 5, 1000 at most, or 0 for off", o.adaptive)},
		{o.budget.Requests < 0 || o.budget.Bytes < 0, fmt.Sprintf("-budget-requests %d, -budget-bytes %d: write positive numbers, or 0 for no limit", o.budget.Requests, o.budget.Bytes)},
		{o.hosts < 1, fmt.Sprintf("-hosts %d: write a positive number", o.hosts)},
		{o.pages.All && o.pages.Dir == "", "-pages-all: say with -pages where"},
		{o.compare != "" && o.report == "", "-compare: say with -report where the report goes"},
		{o.store != "" && (o.resume != "" || o.shared != nil), "-store: with -resume and -redis robots.txt is kept there: leave it out"},
	} {
		if mistake.made {
			return errors.New(mistake.says)
		}
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
	if o.shared != nil {
		return o.shared.Check()
	}
	return nil
}

// named() reports whether a robots.txt can address the crawler by its
// User-Agent.
func named(userAgent string) bool {
	_, err := robotsmw.NewChecker(robotsmw.Options{UserAgent: userAgent})
	return err == nil
}

func (o *options) demo() error {
	if o.proxy != "" {
		return errors.New("-proxy: the demo is on this machine: give the URLs to crawl")
	}
	if o.signing.KeyFile != "" {
		return errors.New("-key: the demo has no https, without which nothing is signed: give the URLs to crawl")
	}
	front, err := normalize(demosite.Front)
	if err != nil {
		return err
	}
	if o.userAgent == "" {
		o.userAgent = demoAgent
	}
	if o.policyTokens == nil {
		o.policyTokens = map[preference.Use][]string{preference.TrainAI: {"Google-Extended"}}
	}
	o.isDemo = true
	o.what = "a demo internet on loopback"
	o.start = []*url.URL{front}
	o.inScope = func(*url.URL) bool { return true }
	return nil
}

func (o *options) sites(rawURLs []string) error {
	if o.userAgent == "" {
		return errNobody
	}
	for _, raw := range rawURLs {
		u, err := normalize(raw)
		if err != nil {
			return err
		}
		o.start = append(o.start, u)
		o.about.Start = append(o.about.Start, u.String())
	}
	o.what = namesOf(o.about.Start)
	o.inScope = o.scope.of(o.start)
	o.about.Scope = string(o.scope)
	if o.proxy != "" {
		var err error
		o.through, err = proxyURL(o.proxy)
		return err
	}
	return nil
}

// namesOf returns the start URLs for the heading. If they do not fit into a
// line, it returns the first ones and the number of the others.
func namesOf(urls []string) string {
	names := urls[0]
	for i, u := range urls[1:] {
		if len(names)+len(u) > 80 {
			return fmt.Sprintf("%s, … and %d more", names, len(urls)-1-i)
		}
		names += ", " + u
	}
	return names
}

func proxyURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || !strings.Contains(" http https socks5 socks5h ", " "+u.Scheme+" ") {
		// The error does not show the URL, which may contain a password.
		return nil, errors.New("-proxy: write it as in http://user:password@127.0.0.1:3128, or with https or socks5")
	}
	return u, nil
}
