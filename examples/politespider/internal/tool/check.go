package tool

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"

	"github.com/goodbots/courtesy/examples/politespider/internal/demosite"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool/output"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/preference"
)

// finish checks the options, and reads the files that they name. It makes no
// file, so a rejected command line leaves none behind.
func (o *options) finish(flags *flag.FlagSet, args []string) (err error) {
	if err := o.choose(flags, args); err != nil {
		return err
	}
	if err := o.signing.open(); err != nil || o.card != nil {
		return err // -card needs neither a report nor an earlier crawl
	}
	if err := output.CheckReport(o.output.Report); err != nil {
		return err
	}
	o.output.Before, err = output.ReadSummary(o.compare)
	return err
}

// choose decides what to crawl.
func (o *options) choose(flags *flag.FlagSet, args []string) error {
	wantsDemo := len(args) == 1 && args[0] == "demo"
	if wantsDemo {
		args = nil
	}
	urls, recalled, err := o.recall(flags, args)
	if err != nil {
		return err
	}
	o.keep.About.Flags = aboutFlags(flags) // must come before o.check(), which replaces some values that are 0
	if err := o.check(); err != nil {
		return err
	}
	switch {
	case o.card != nil && o.UserAgent == "":
		return errNobody
	case o.card != nil:
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

func noURL(flags *flag.FlagSet) (err error) {
	const name = "specify a URL, or \"demo\" for the demo internet"
	flags.Visit(func(f *flag.Flag) {
		switch {
		case !slices.Contains(forSites, f.Name):
		case f.Name == "resume":
			err = fmt.Errorf("-resume %s: there is no crawl to resume, and no URL to start one: %s", f.Value, name)
		case err == nil:
			err = fmt.Errorf("-%s: no URL to crawl: %s", f.Name, name)
		}
	})
	return err
}

var errNobody = errors.New("-user-agent is required to identify the crawler, such as -user-agent \"YourBot/1.0 (+https://example.com/about-your-bot)\"")

// check returns an error if a flag has a bad value. For four flags, it
// replaces a 0, which means no limit or no delay, by the value that the crawl
// uses.
func (o *options) check() error {
	for _, mistake := range []struct {
		made bool
		says string
	}{
		{o.UserAgent != "" && !named(o.UserAgent), fmt.Sprintf("-user-agent %q: must begin with the name of your crawler, one word that is not the name of a library, as in %q", o.UserAgent, demoAgent)},
		{!o.scope.known(), fmt.Sprintf("-scope %q: must be host, domain or prefix", o.scope)},
		{o.maxDepth < 0, fmt.Sprintf("-depth %d: must be a positive number, or 0 for no limit", o.maxDepth)},
		{o.keep.Limits.Pages < 0, fmt.Sprintf("-max-pages %d: must be a positive number, or 0 for no limit", o.keep.Limits.Pages)},
		{o.keep.Limits.Refused < 0, fmt.Sprintf("-max-refused %d: must be a positive number, or 0 for no limit", o.keep.Limits.Refused)},
		{o.maxTime < 0, fmt.Sprintf("-max-time %v: must be a positive duration such as 1h, or 0 for no limit", o.maxTime)},
		{o.Delay < 0, fmt.Sprintf("-delay %v: must be a positive duration such as 2s, or 0 for none", o.Delay)},
		{!(o.Adaptive >= 0 && o.Adaptive <= 1000), fmt.Sprintf("-adaptive %v: must be a number such as 5, at most 1000, or 0 to disable", o.Adaptive)},
		{o.Budget.Requests < 0 || o.Budget.Bytes < 0, fmt.Sprintf("-budget-requests %d, -budget-bytes %d: must be positive numbers, or 0 for no limit", o.Budget.Requests, o.Budget.Bytes)},
		{o.Workers < 1, fmt.Sprintf("-hosts %d: must be a positive number", o.Workers)},
		{o.pages.All && o.pages.Dir == "", "-pages-all requires -pages, the directory for the pages"},
		{o.compare != "" && o.output.Report == "", "-compare requires -report, the file for the report"},
		{o.store != "" && (o.resume != "" || o.shared != nil), "-store cannot be combined with -resume or -redis, which keep robots.txt themselves"},
	} {
		if mistake.made {
			return errors.New(mistake.says)
		}
	}
	o.keep.Limits.Pages = cmp.Or(o.keep.Limits.Pages, math.MaxInt)
	o.maxDepth = cmp.Or(o.maxDepth, math.MaxInt)
	o.maxTime = cmp.Or(o.maxTime, math.MaxInt64)
	o.Delay = cmp.Or(o.Delay, -1)
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
		return errors.New("-proxy: the demo runs on this machine and uses no proxy; specify the URLs to crawl")
	}
	if o.signing.keyFile != "" {
		return errors.New("-key: the demo does not use https, and only https requests are signed; specify the URLs to crawl")
	}
	front, err := normalize(demosite.Front)
	if err != nil {
		return err
	}
	o.UserAgent = cmp.Or(o.UserAgent, demoAgent)
	if o.policyTokens == nil {
		o.policyTokens = map[preference.Use][]string{preference.TrainAI: {"Google-Extended"}}
	}
	o.isDemo = true
	o.output.What = "a demo internet on loopback"
	o.start = []*url.URL{front}
	o.inScope = anywhere
	return nil
}

func (o *options) sites(rawURLs []string) (err error) {
	if o.UserAgent == "" {
		return errNobody
	}
	for _, raw := range rawURLs {
		u, err := normalize(raw)
		if err != nil {
			return err
		}
		o.start = append(o.start, u)
		o.keep.About.Start = append(o.keep.About.Start, u.String())
	}
	o.output.What = namesOf(o.keep.About.Start)
	o.inScope = o.scope.of(o.start)
	o.keep.About.Scope = string(o.scope)
	o.through, err = proxyURL(o.proxy)
	return err
}

// namesOf returns the first start URLs, for the heading, and the number of the
// others.
func namesOf(urls []string) string {
	const most = 4
	names := strings.Join(urls[:min(len(urls), most)], ", ")
	if more := len(urls) - most; more > 0 {
		names += fmt.Sprintf(", … and %d more", more)
	}
	return names
}

// proxyURL returns the URL of a proxy, or nil if raw is "".
func proxyURL(raw string) (*url.URL, error) {
	if raw == "" {
		return nil, nil
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || !strings.Contains(" http https socks5 socks5h ", " "+u.Scheme+" ") {
		// The error does not show the URL, which may contain a password.
		return nil, errors.New("-proxy: must be a URL such as http://user:password@127.0.0.1:3128, with http, https or socks5")
	}
	return u, nil
}
