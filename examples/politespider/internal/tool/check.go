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

// finish checks the options, and reads the files that they name. It creates no
// file, so that a rejected command line leaves none behind.
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

// choose sets the options for a crawl of the sites in args or, if args is empty
// or "demo", of the demo or of the crawl that -resume continues.
func (o *options) choose(flags *flag.FlagSet, args []string) error {
	wantsDemo := len(args) == 1 && args[0] == "demo"
	if wantsDemo {
		args = nil
	}
	urls, isResumed, err := o.restore(flags, args)
	if err != nil {
		return err
	}
	o.keep.About.Flags = givenFlags(flags) // must come before o.check, which replaces some values that are 0
	if err := o.check(); err != nil {
		return err
	}
	switch {
	case o.card != nil && o.UserAgent == "":
		return errNoUserAgent
	case o.card != nil:
		return nil // -card crawls nothing
	case len(urls) > 0:
		return o.sites(urls)
	}
	if err := o.demo(); err != nil {
		return err
	}
	if wantsDemo || isResumed {
		return nil
	}
	return noURL(flags)
}

// siteFlags are flags that are usually given together with a URL. If one of
// them is given with neither a URL nor "demo", the user probably forgot the
// URL.
var siteFlags = []string{"resume", "redis", "report", "pages", "store", "user-agent"}

// noURL returns the error of a command line without a URL, or nil if the flags
// are those of a demo.
func noURL(flags *flag.FlagSet) (err error) {
	const hint = "specify a URL, or \"demo\" for the demo internet"
	flags.Visit(func(f *flag.Flag) {
		switch {
		case !slices.Contains(siteFlags, f.Name):
		case f.Name == "resume":
			err = fmt.Errorf("-resume %s: there is no crawl to resume, and no URL to start one: %s",
				f.Value, hint)
		case err == nil:
			err = fmt.Errorf("-%s: no URL to crawl: %s", f.Name, hint)
		}
	})
	return err
}

var errNoUserAgent = errors.New("-user-agent is required to identify the crawler, such as " +
	"-user-agent \"YourBot/1.0 (+https://example.com/about-your-bot)\"")

// check returns an error if a flag has an invalid value. For four flags, it
// replaces 0, which means no limit or no delay, by the value that the crawl
// uses for that.
func (o *options) check() error {
	if err := cmp.Or(o.checkNames(), o.checkNumbers(), o.checkCombinations()); err != nil {
		return err
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

func (o *options) checkNames() error {
	if o.UserAgent != "" && !isUserAgent(o.UserAgent) {
		return fmt.Errorf("-user-agent %q: must begin with the name of your crawler, "+
			"one word that is not the name of a library, as in %q", o.UserAgent, demoAgent)
	}
	if !o.scope.isValid() {
		return fmt.Errorf("-scope %q: must be host, domain or prefix", o.scope)
	}
	return nil
}

func (o *options) checkNumbers() error {
	const (
		count    = "must be a positive number, or 0 for no limit"
		duration = "must be a positive duration"
	)
	limits := o.keep.Limits
	isAdaptive := o.Adaptive >= 0 && o.Adaptive <= 1000 // false for NaN
	switch {
	case o.maxDepth < 0:
		return fmt.Errorf("-depth %d: %s", o.maxDepth, count)
	case limits.Pages < 0:
		return fmt.Errorf("-max-pages %d: %s", limits.Pages, count)
	case limits.Refused < 0:
		return fmt.Errorf("-max-refused %d: %s", limits.Refused, count)
	case o.maxTime < 0:
		return fmt.Errorf("-max-time %v: %s such as 1h, or 0 for no limit", o.maxTime, duration)
	case o.Delay < 0:
		return fmt.Errorf("-delay %v: %s such as 2s, or 0 for none", o.Delay, duration)
	case !isAdaptive:
		return fmt.Errorf("-adaptive %v: must be a number such as 5, at most 1000, or 0 to disable", o.Adaptive)
	case o.Budget.Requests < 0:
		return fmt.Errorf("-budget-requests %d: %s", o.Budget.Requests, count)
	case o.Budget.Bytes < 0:
		return fmt.Errorf("-budget-bytes %d: %s", o.Budget.Bytes, count)
	case o.Workers < 1:
		return fmt.Errorf("-hosts %d: must be a positive number", o.Workers)
	}
	return nil
}

func (o *options) checkCombinations() error {
	keepsRobots := o.resume != "" || o.shared != nil
	switch {
	case o.pages.All && o.pages.Dir == "":
		return errors.New("-pages-all requires -pages, the directory for the pages")
	case o.compare != "" && o.output.Report == "":
		return errors.New("-compare requires -report, the file for the report")
	case o.store != "" && keepsRobots:
		return errors.New("-store cannot be combined with -resume or -redis, which keep robots.txt themselves")
	}
	return nil
}

// isUserAgent reports whether a robots.txt can address the crawler by its
// User-Agent.
func isUserAgent(userAgent string) bool {
	_, err := robotsmw.NewChecker(robotsmw.Options{UserAgent: userAgent})
	return err == nil
}

// demo sets the options for a crawl of the demo.
func (o *options) demo() error {
	if o.proxy != "" {
		return errors.New("-proxy: the demo runs on this machine and uses no proxy; specify the URLs to crawl")
	}
	if o.signing.keyFile != "" {
		return errors.New("-key: only https requests are signed, and the demo uses http; specify the URLs to crawl")
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

// sites sets the options for a crawl that starts at these URLs.
func (o *options) sites(rawURLs []string) (err error) {
	if o.UserAgent == "" {
		return errNoUserAgent
	}
	for _, raw := range rawURLs {
		u, err := normalize(raw)
		if err != nil {
			return err
		}
		o.start = append(o.start, u)
		o.keep.About.Start = append(o.keep.About.Start, u.String())
	}
	o.output.What = heading(o.keep.About.Start)
	o.inScope = o.scope.filter(o.start)
	o.keep.About.Scope = string(o.scope)
	o.proxyURL, err = parseProxy(o.proxy)
	return err
}

// heading returns the first start URLs and the number of the others.
func heading(urls []string) string {
	const maxNames = 4
	names := strings.Join(urls[:min(len(urls), maxNames)], ", ")
	if more := len(urls) - maxNames; more > 0 {
		names += fmt.Sprintf(", … and %d more", more)
	}
	return names
}

// parseProxy returns the URL of a proxy, or nil if raw is "".
func parseProxy(raw string) (*url.URL, error) {
	if raw == "" {
		return nil, nil
	}
	u, err := url.Parse(raw)
	if err != nil || !isProxy(u) {
		// The error does not show the URL, which may contain a password.
		return nil, errors.New("-proxy: must be a URL such as http://user:password@127.0.0.1:3128, " +
			"with http, https or socks5")
	}
	return u, nil
}

// isProxy reports whether net/http can use the proxy at u.
func isProxy(u *url.URL) bool {
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
		return u.Host != ""
	}
	return false
}
