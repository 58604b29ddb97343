package page

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/preference"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta/htmlmeta"
)

// Command is the subcommand robotscheck page.
var Command = command.Command{
	Name:  "page",
	Usage: "[flags] FILE|URL",
	Short: "the directives and preferences of a page, and where they are",
	Setup: func(flags *flag.FlagSet) command.Action {
		c := &check{header: make(http.Header)}
		c.declare(flags)
		asJSON := flags.Bool("json", false, "print JSON, one object")
		return func(ctx context.Context, e command.Env, args []string) (command.Status, error) {
			r, err := c.run(ctx, e, args)
			if err != nil {
				return 0, err
			}
			e.Print(r, *asJSON)
			return r.status(), nil
		}
	},
}

// A check contains the values of the flags, and creates the report.
type check struct {
	tokens    []string // the robot's product token; nil means all robots
	header    http.Header
	rsl       []string // the names of the RSL files to read
	links     bool
	base      string
	userAgent *string
}

func (c *check) declare(flags *flag.FlagSet) {
	flags.Func("agent",
		"product `token` of the robot; default: all robots for a FILE, "+
			"the robot of -user-agent for a URL",
		c.setAgent)
	flags.Func("header",
		"`line` of the response header of a FILE, as in 'X-Robots-Tag: noindex'; may be repeated",
		c.addHeader)
	command.ListVar(flags, &c.rsl, "rsl",
		"RSL 1.0 `file` with the terms for a FILE, whose URL is that of -base; may be repeated")
	flags.BoolVar(&c.links, "links", false,
		"list the links of the page, and whether a polite robot follows them")
	flags.StringVar(&c.base, "base", "", "`URL` of the page in a FILE; required with -links")
	c.userAgent = robots.UserAgentFlag(flags)
}

func (c *check) setAgent(token string) error {
	if token == "*" {
		return errors.New("omit -agent for the directives for all robots")
	}
	c.tokens = []string{token}
	return robots.CheckName(token)
}

func (c *check) addHeader(line string) error {
	name, value, hasColon := strings.Cut(line, ":")
	name = strings.TrimSpace(name)
	if !hasColon || name == "" {
		return errors.New("must be a name, a colon and a value, as in 'X-Robots-Tag: noindex'")
	}
	c.header.Add(name, strings.TrimSpace(value))
	return nil
}

func (c *check) run(ctx context.Context, e command.Env, args []string) (*report, error) {
	if len(args) != 1 {
		return nil, command.Usagef("specify one page: a file, \"-\", or a URL")
	}
	arg := args[0]
	if command.StdinTwice(append(args, c.rsl...)...) {
		return nil, command.Usagef("only one of FILE and -rsl can be standard input")
	}
	if !command.IsURL(arg) {
		if c.links && c.base == "" {
			return nil, command.Usagef("-links with a FILE requires -base, the URL of the page")
		}
		return c.read(ctx, e, arg)
	}
	switch {
	case len(c.header) > 0:
		return nil, command.Usagef("-header requires a FILE; the header of a URL is fetched")
	case len(c.rsl) > 0:
		return nil, command.Usagef("-rsl requires a FILE; the RSL files of a URL are fetched")
	case c.base != "":
		return nil, command.Usagef("-base requires a FILE; the URL of the page is %s", arg)
	}
	return c.fetch(ctx, e, arg)
}

// read reports on a page in a file.
func (c *check) read(ctx context.Context, e command.Env, name string) (*report, error) {
	base, err := command.ParseURL(c.base)
	if err != nil && c.base != "" {
		return nil, err
	}
	text, err := e.ReadFile(name)
	if err != nil {
		return nil, err
	}
	inHeader := robotsmeta.ParseHeader(c.header, c.tokens...)
	directives := robotsmw.Page{
		Directives: inHeader.Union(htmlmeta.Scan(text, c.tokens...)),
		State:      robotsmw.PageComplete,
	}
	in := preference.Input{
		Tokens: c.tokens,
		Target: c.base,
		Header: c.header,
		Page:   directives.Directives,
	}
	for _, name := range c.rsl {
		text, err := e.ReadFile(name)
		if err != nil {
			return nil, err
		}
		terms, err := preference.ParseRSL(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", command.DisplayName(name), err)
		}
		in.RSL = append(in.RSL, terms)
	}
	r := c.report(command.DisplayName(name), text, directives, in)
	if c.links {
		return r, r.addLinks(ctx, text, base, directives, nil)
	}
	return r, nil
}

const maxPageBytes = 16 << 20

// fetch reports on the page at a URL.
func (c *check) fetch(ctx context.Context, e command.Env, rawURL string) (*report, error) {
	u, err := command.ParseURL(rawURL)
	if err != nil {
		return nil, err
	}
	v, err := robots.NewVisitor(e, *c.userAgent, c.tokens...)
	if err != nil {
		return nil, err
	}
	c.tokens = v.Checker().Tokens() // report on the robot that fetches the page
	resp, err := get(ctx, v, u)
	if errors.Is(err, robotsmw.ErrDisallowed) {
		if d, ok := errors.AsType[*robotsmw.DisallowedError](err); ok {
			return c.disallowedReport(v, &d.Decision), nil
		}
	}
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := readPage(resp)
	if err != nil {
		return nil, err
	}
	directives := robotsmw.PageDirectives(resp)
	if directives.State == robotsmw.PageNotExamined {
		return nil, fmt.Errorf("%s has an unsupported content coding (Content-Encoding: %s)",
			resp.Request.URL, command.Printable(resp.Header.Get("Content-Encoding")))
	}
	return c.responseReport(ctx, v, resp, text, directives)
}

// readPage returns the body of a response. It returns an error if the response
// is not a page.
func readPage(resp *http.Response) ([]byte, error) {
	u := resp.Request.URL
	if refusal := robotsmw.PageDirectives(resp).Refusal; refusal.Sure {
		return nil, fmt.Errorf("%s: %v: there is no page to examine", u, refusal)
	}
	if resp.StatusCode != http.StatusOK {
		status := command.Printable(resp.Status)
		return nil, fmt.Errorf("%s: status %s: there is no page to examine", u, status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxPageBytes))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", u, err)
	}
	return text, nil
}

// disallowedReport reports on a page that was not fetched.
func (c *check) disallowedReport(v *robots.Visitor, d *robotsmw.Decision) *report {
	return &report{
		Source:       d.URL.String(),
		Agent:        c.tokens[0],
		Decision:     d,
		Restrictions: []string{},
		Doubt:        v.Doubt(d),
		doubtful:     d.RobotsURL,
	}
}

// responseReport reports on a page that was fetched.
func (c *check) responseReport(
	ctx context.Context, v *robots.Visitor, resp *http.Response, text []byte, directives robotsmw.Page,
) (*report, error) {
	page := resp.Request.URL // the URL after redirects
	decision, err := v.Checker().Check(ctx, page)
	if err != nil {
		return nil, err
	}
	in := preference.Input{
		Robots: decision.File(),
		Tokens: c.tokens,
		Target: page.String(),
		Header: resp.Header,
		Page:   directives.Directives,
	}
	termErrors := addTerms(ctx, v, page, &in)
	r := c.report(page.String(), text, directives, in)
	for i, l := range r.Licenses {
		r.Licenses[i].Error = termErrors[l.URL]
	}
	r.Status = resp.StatusCode
	r.Decision = &decision
	if r.Doubt == "" {
		r.Doubt = v.Doubt(&decision)
		r.doubtful = decision.RobotsURL
	}
	if c.links && directives.State == robotsmw.PageComplete {
		return r, r.addLinks(ctx, text, page, directives, v.Checker())
	}
	return r, nil
}

// report returns the report on a page, without its links and without what is
// specific to a URL.
func (c *check) report(
	source string, text []byte, directives robotsmw.Page, in preference.Input,
) *report {
	if directives.State == robotsmw.PageComplete && len(text) > htmlmeta.Window {
		directives.State = robotsmw.PagePartial
	}
	r := &report{
		Source:       source,
		Agent:        strings.Join(c.tokens, ", "),
		Examined:     directives.State.String(),
		Restrictions: restrictions(directives.Directives),
		Directives:   slices.Collect(directives.Rules()),
	}
	if directives.State != robotsmw.PageHeaderOnly {
		r.Doubt = robots.DoubtOfPage(text)
		r.doubtful = source
	}
	if directives.Refusal.Kind != 0 {
		r.Refusal = &directives.Refusal
	}
	for _, use := range []preference.Use{
		preference.Search,
		preference.TrainAI,
		preference.TrainAIImages,
		preference.AIInput,
	} {
		r.Uses = append(r.Uses, in.For(use))
	}
	if use, statement := in.ContentUse(); use != "" {
		r.Reuse = &statement
	}
	for _, l := range in.Licenses() {
		r.Licenses = append(r.Licenses, license{License: l})
	}
	return r
}

const (
	maxRSLFiles = 4 // to fetch for a page
	// maxRSLBytes exceeds the limit of package preference, so that ParseRSL
	// notices that a file is too long.
	maxRSLBytes = 2 << 20
)

// addTerms fetches the RSL files of the licenses of in, and adds them to in. It
// fetches each file once, and at most maxRSLFiles. t should obey robots.txt and
// limit the rate of requests. The result contains, by URL, the reasons why
// files could not be read.
func addTerms(
	ctx context.Context, t http.RoundTripper, page *url.URL, in *preference.Input,
) map[string]string {
	reasons := make(map[string]string) // "" if the file was read
	for _, l := range in.Licenses() {
		if _, ok := reasons[l.URL]; ok {
			continue
		}
		if len(reasons) >= maxRSLFiles {
			reasons[l.URL] = fmt.Sprintf("only %d are read for a page", maxRSLFiles)
			continue
		}
		terms, err := fetchRSL(ctx, t, page, l.URL)
		if err != nil {
			reasons[l.URL] = err.Error()
			continue
		}
		reasons[l.URL] = ""
		in.RSL = append(in.RSL, terms)
	}
	return reasons
}

// fetchRSL fetches an RSL file. Its address may be relative to the page.
func fetchRSL(
	ctx context.Context, t http.RoundTripper, page *url.URL, address string,
) (*preference.RSL, error) {
	u, err := page.Parse(address)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the URL is not http or https")
	}
	resp, err := get(ctx, t, u)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %s", command.Printable(resp.Status))
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxRSLBytes))
	if err != nil {
		return nil, err
	}
	return preference.ParseRSL(text)
}

func get(ctx context.Context, t http.RoundTripper, u *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	return (&http.Client{Transport: t}).Do(req)
}
