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
	Short: "what a page says about itself, and where",
	Setup: func(flags *flag.FlagSet) command.Action {
		p := check{header: make(http.Header)}
		flags.Func("agent", "product `token` of the robot; default: all robots for a FILE, the robot of -user-agent for a URL", func(s string) error {
			if p.tokens = []string{s}; s == "*" {
				return errors.New("omit -agent for the directives for all robots")
			}
			return robots.CheckName(s)
		})
		flags.Func("header",
			"`line` of the response header of a FILE, as in 'X-Robots-Tag: noindex'; may be repeated", p.addHeader)
		command.ListVar(flags, &p.terms, "rsl",
			"RSL 1.0 `file` with the terms for a FILE, whose URL -base gives; may be repeated")
		flags.BoolVar(&p.links, "links", false, "list the links of the page, and whether a polite robot follows them")
		base := flags.String("base", "", "`URL` of the page in a FILE; required with -links")
		asJSON := flags.Bool("json", false, "print JSON, one object")
		userAgent := robots.UserAgentFlag(flags)
		return func(ctx context.Context, e command.Env, args []string) (command.Status, error) {
			if len(args) != 1 {
				return 0, command.Usagef("specify one page: a file, \"-\", or a URL")
			}
			var r *report
			var err error
			switch isPage := command.IsURL(args[0]); {
			case command.StdinTwice(append(args, p.terms...)...):
				return 0, command.Usagef("only one of FILE and -rsl can be standard input")
			case isPage && len(p.header) > 0:
				return 0, command.Usagef("-header requires a FILE; the header of a URL is fetched")
			case isPage && len(p.terms) > 0:
				return 0, command.Usagef("-rsl requires a FILE; the RSL files of a URL are fetched")
			case isPage && *base != "":
				return 0, command.Usagef("-base requires a FILE; the URL of the page is %s", args[0])
			case isPage:
				r, err = p.fetch(ctx, e, args[0], *userAgent)
			case p.links && *base == "":
				return 0, command.Usagef("-links with a FILE requires -base, the URL of the page")
			default:
				r, err = p.read(ctx, e, args[0], *base)
			}
			if err != nil {
				return 0, err
			}
			e.Print(r, *asJSON)
			return r.status(), nil
		}
	},
}

type check struct {
	tokens []string // the robot's name; nil means all robots
	header http.Header
	links  bool
	terms  []string // the names of the RSL files to read
}

func (p *check) addHeader(line string) error {
	name, value, ok := strings.Cut(line, ":")
	if name = strings.TrimSpace(name); !ok || name == "" {
		return errors.New("must be a name, a colon and a value, as in 'X-Robots-Tag: noindex'")
	}
	p.header.Add(name, strings.TrimSpace(value))
	return nil
}

func (p *check) read(ctx context.Context, e command.Env, name, base string) (*report, error) {
	u, err := command.ParseURL(base)
	if err != nil && base != "" {
		return nil, err
	}
	text, err := e.ReadFile(name)
	if err != nil {
		return nil, err
	}
	says := robotsmw.Page{
		Directives: robotsmeta.ParseHeader(p.header, p.tokens...).Union(htmlmeta.Scan(text, p.tokens...)),
		State:      robotsmw.PageComplete,
	}
	in := preference.Input{Tokens: p.tokens, Target: base, Header: p.header, Page: says.Directives}
	for _, name := range p.terms {
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
	r := p.report(command.DisplayName(name), text, says, in, nil)
	if p.links {
		return r, r.addLinks(ctx, text, u, says, nil)
	}
	return r, nil
}

// maxPage is how many bytes of a page are read at most.
const maxPage = 16 << 20

func (p *check) fetch(ctx context.Context, e command.Env, rawURL, userAgent string) (*report, error) {
	u, err := command.ParseURL(rawURL)
	if err != nil {
		return nil, err
	}
	v, err := robots.NewVisitor(e, userAgent, p.tokens...)
	if err != nil {
		return nil, err
	}
	p.tokens = v.Checker().Tokens() // the report is about the robot that fetches the page
	resp, err := get(ctx, v, u)
	if blocked, ok := errors.AsType[*robotsmw.DisallowedError](err); ok && errors.Is(err, robotsmw.ErrDisallowed) {
		return &report{Source: blocked.Decision.URL.String(), Agent: p.tokens[0], Decision: &blocked.Decision, Restrictions: []string{},
			Doubt: v.Doubt(&blocked.Decision), doubtful: blocked.Decision.RobotsURL}, nil
	}
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if refused := robotsmw.PageDirectives(resp).Refusal; refused.Sure {
		return nil, fmt.Errorf("%s: %v: there is no page to examine", resp.Request.URL, refused)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: status %s: there is no page to examine", resp.Request.URL, command.Printable(resp.Status))
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxPage))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", resp.Request.URL, err)
	}
	says := robotsmw.PageDirectives(resp)
	if says.State == robotsmw.PageNotExamined {
		return nil, fmt.Errorf("%s has an unsupported content coding (Content-Encoding: %s)", resp.Request.URL, command.Printable(resp.Header.Get("Content-Encoding")))
	}
	page := resp.Request.URL // the URL after redirects
	decision, err := v.Checker().Check(ctx, page)
	if err != nil {
		return nil, err
	}
	in := preference.Input{
		Robots: decision.File(),
		Tokens: p.tokens,
		Target: page.String(),
		Header: resp.Header,
		Page:   says.Directives,
	}
	notRead := addTerms(ctx, v, page, &in)
	r := p.report(page.String(), text, says, in, notRead)
	r.Status, r.Decision = resp.StatusCode, &decision
	if r.Doubt == "" {
		r.Doubt, r.doubtful = v.Doubt(&decision), decision.RobotsURL
	}
	if p.links && says.State == robotsmw.PageComplete {
		return r, r.addLinks(ctx, text, page, says, v.Checker())
	}
	return r, nil
}

// report returns the report on a page. notRead is, by URL, the reason why the
// terms of a license could not be read.
func (p *check) report(source string, text []byte, says robotsmw.Page, in preference.Input, notRead map[string]string) *report {
	if says.State == robotsmw.PageComplete && len(text) > htmlmeta.Window {
		says.State = robotsmw.PagePartial
	}
	r := &report{
		Source:       source,
		Agent:        strings.Join(p.tokens, ", "),
		Examined:     says.State.String(),
		Restrictions: restrictions(says.Directives),
		Directives:   slices.Collect(says.Rules()),
	}
	if says.State != robotsmw.PageHeaderOnly {
		r.Doubt, r.doubtful = robots.DoubtOfPage(text), source
	}
	if says.Refusal.Kind != 0 {
		r.Refusal = &says.Refusal
	}
	for _, use := range []preference.Use{preference.Search, preference.TrainAI, preference.TrainAIImages, preference.AIInput} {
		r.Uses = append(r.Uses, in.For(use))
	}
	if use, by := in.ContentUse(); use != "" {
		r.Reuse = &by
	}
	for _, l := range in.Licenses() {
		r.Licenses = append(r.Licenses, license{l, notRead[l.URL]})
	}
	return r
}

// maxTerms is the greatest number of RSL files to fetch for a page.
// maxTermsSize is the greatest number of bytes to read from a file. It exceeds
// the limit of package preference, so ParseRSL notices that a file is too long.
const (
	maxTerms     = 4
	maxTermsSize = 2 << 20
)

// addTerms fetches the RSL files that the licenses of in name, and adds them to
// in. It fetches each file once, and at most maxTerms files. t obeys robots.txt
// and keeps the pace. The result is, by URL, the reason why a file could not be
// read; it is "" for the others.
func addTerms(ctx context.Context, t http.RoundTripper, page *url.URL, in *preference.Input) map[string]string {
	why := make(map[string]string)
	for _, l := range in.Licenses() {
		if _, known := why[l.URL]; known {
			continue
		}
		if len(why) >= maxTerms {
			why[l.URL] = fmt.Sprintf("only %d are read for a page", maxTerms)
			continue
		}
		terms, err := fetchRSL(ctx, t, page, l.URL)
		if err != nil {
			why[l.URL] = err.Error()
			continue
		}
		why[l.URL] = ""
		in.RSL = append(in.RSL, terms)
	}
	return why
}

func fetchRSL(ctx context.Context, t http.RoundTripper, page *url.URL, address string) (*preference.RSL, error) {
	u, err := page.Parse(address)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("its address is not http or https")
	}
	resp, err := get(ctx, t, u)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %s", command.Printable(resp.Status))
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxTermsSize))
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
