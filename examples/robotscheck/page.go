package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/pagelinks"
	"github.com/goodbots/courtesy/robotsmw/preference"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta/htmlmeta"
)

var pageCommand = command{
	name:  "page",
	usage: "[flags] FILE|URL",
	short: "what a page says about itself, and where",
	help: `
Page lists what an HTML page and its response header tell robots (noindex, nofollow and their like), what the owner says
about uses of the page (search, AI), and where each of it is said. A URL is fetched if its robots.txt allows that to
-agent, or to whom -user-agent names where there is none; what that robots.txt says about uses counts, too. Of a FILE,
the header is what -header gives.

  robotscheck page -agent ExampleBot -header 'X-Robots-Tag: noarchive' page.html
  robotscheck page -links https://example.com/

Exit status: 0 the page restricts nothing, 1 it does, or robots.txt disallows it, 2 it cannot be told.

With -json, one object:
  source       the file, or the URL after redirects
  agent        who it is said to; absent for what a FILE says to everybody
  status       of a URL's response
  examined     "complete", "header only" (no HTML)
  restrictions what it comes to: "noindex", "nofollow", "noarchive", "nosnippet", "max-snippet: 20", ...
  directives   [{"name", "value", "known", "source", "scope", "line", "raw"}], all that was said
  uses         [{"use", "answer", "evidence"}]: "search", "train-ai", "train-ai-images", "ai-input" are "allow", "deny"
               or "unknown", by [{"use", "answer", "signal", "where", "line", "path", "raw", "policy"}]
  licenses     [{"url", "where", "line", "raw"}]
  links        with -links: [{"url", "element", "rel", "follow", "why"}]
  decision     of a URL, what its robots.txt says: url, allowed, reason, rule, line, robots_url, status, ...`,
	setup: func(flags *flag.FlagSet) func(context.Context, env, []string) (int, error) {
		p := pageCheck{header: make(http.Header)}
		flags.Func("agent", "product `token` of the robot; without, what a FILE says to everybody, and a URL to the -user-agent", func(s string) error {
			if p.agent = s; s == "*" {
				return errors.New("leave it out for what is said to everybody")
			}
			return checkAgent(s)
		})
		flags.Func("header", "`line` of the response header of a FILE, as in 'X-Robots-Tag: noindex'; may be repeated", p.addHeader)
		flags.BoolVar(&p.links, "links", false, "list the page's links, and which a polite robot follows")
		base := flags.String("base", "", "`URL` of the page in a FILE, which -links needs")
		asJSON := flags.Bool("json", false, "print JSON, one object")
		userAgent := userAgentFlag(flags)
		return func(ctx context.Context, e env, args []string) (int, error) {
			if len(args) != 1 {
				return 0, usagef("name one page: a file, \"-\", or a URL")
			}
			var r *pageReport
			var err error
			switch isPage := isURL(args[0]); {
			case isPage && len(p.header) > 0:
				return 0, usagef("-header is for a FILE: a URL's header is fetched")
			case isPage && *base != "":
				return 0, usagef("-base is for a FILE: %s has its own", args[0])
			case isPage:
				r, err = p.fetch(ctx, e, args[0], *userAgent)
			case p.links && *base == "":
				return 0, usagef("-links of a FILE needs its address: add -base with a URL")
			default:
				r, err = p.read(ctx, e, args[0], *base)
			}
			if err != nil {
				return 0, err
			}
			if *asJSON {
				newJSON(e.stdout).Encode(r)
			} else {
				r.print(e.stdout)
			}
			return r.exitStatus(), nil
		}
	},
}

// A pageCheck is what to find out about a page.
type pageCheck struct {
	agent  string // empty: everybody
	header http.Header
	links  bool
}

func (p *pageCheck) addHeader(line string) error {
	name, value, ok := strings.Cut(line, ":")
	if name = strings.TrimSpace(name); !ok || name == "" {
		return errors.New("write a name, a colon and a value, as in 'X-Robots-Tag: noindex'")
	}
	name = textproto.CanonicalMIMEHeaderKey(name)
	p.header[name] = append(p.header[name], strings.TrimSpace(value))
	return nil
}

// tokens are those that directives are read for.
func (p *pageCheck) tokens() []string {
	if p.agent == "" {
		return nil
	}
	return []string{p.agent}
}

// A pageReport is what -json prints.
type pageReport struct {
	Source       string               `json:"source"`
	Agent        string               `json:"agent,omitempty"`
	Status       int                  `json:"status,omitempty"`
	Examined     string               `json:"examined,omitempty"`
	Restrictions []string             `json:"restrictions"`
	Directives   []robotsmeta.Rule    `json:"directives,omitempty"`
	Uses         []preference.Verdict `json:"uses,omitempty"`
	Licenses     []preference.License `json:"licenses,omitempty"`
	Links        []pageLink           `json:"links,omitempty"`
	Decision     *robotsmw.Decision   `json:"decision,omitempty"`
}

type pageLink struct {
	URL     string `json:"url"`
	Element string `json:"element"`
	Rel     string `json:"rel,omitempty"`
	Follow  bool   `json:"follow"`
	Why     string `json:"why,omitempty"` // not
}

func (r *pageReport) exitStatus() int {
	denied := slices.ContainsFunc(r.Uses, func(v preference.Verdict) bool { return v.Answer == preference.Deny })
	if len(r.Restrictions) > 0 || denied || r.Decision != nil && !r.Decision.Allowed {
		return exitNo
	}
	return exitOK
}

// read reports on a file.
func (p *pageCheck) read(ctx context.Context, e env, name, base string) (*pageReport, error) {
	text, err := readFile(e, name)
	if err != nil {
		return nil, err
	}
	says := robotsmw.Page{
		Directives: robotsmeta.ParseHeader(p.header, p.tokens()...).Union(htmlmeta.Scan(text, p.tokens()...)),
		State:      robotsmw.PageComplete,
	}
	in := preference.Input{Tokens: p.tokens(), Header: p.header, Page: says.Directives}
	r := p.report(shownName(name), says, in)
	if p.links {
		u, err := parseURL(base)
		if err != nil {
			return nil, err
		}
		return r, r.addLinks(ctx, text, u, says, nil)
	}
	return r, nil
}

// maxPage is how much of a page is read, in octets.
const maxPage = 16 << 20

// fetch reports on a URL.
func (p *pageCheck) fetch(ctx context.Context, e env, rawURL, userAgent string) (*pageReport, error) {
	u, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	t, err := robotsmw.NewTransport(robotsmw.Options{
		UserAgent:     userAgent,
		ProductTokens: p.tokens(),
		Base:          e.base,
		Limiter:       new(politeness.Limiter),
		KeepFiles:     true,
		Logger:        slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	p.agent = t.Checker().Tokens()[0] // whoever fetches is not everybody
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := (&http.Client{Transport: t}).Do(req)
	if blocked, ok := errors.AsType[*robotsmw.DisallowedError](err); ok && errors.Is(err, robotsmw.ErrDisallowed) {
		return &pageReport{Source: blocked.Decision.URL.String(), Agent: p.agent, Decision: &blocked.Decision, Restrictions: []string{}}, nil
	}
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: status %s: there is no page to look at", resp.Request.URL, printable(resp.Status))
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxPage))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", resp.Request.URL, err)
	}
	says := robotsmw.PageDirectives(resp)
	if says.State == robotsmw.PageNotExamined {
		return nil, fmt.Errorf("%s comes in a coding that cannot be read (Content-Encoding: %s)", resp.Request.URL, printable(resp.Header.Get("Content-Encoding")))
	}
	page := resp.Request.URL // after redirects
	decision, err := t.Checker().Check(ctx, page)
	if err != nil {
		return nil, err
	}
	r := p.report(page.String(), says, preference.Input{
		Robots: decision.File(),
		Tokens: t.Checker().Tokens(),
		Target: page.RequestURI(),
		Header: resp.Header,
		Page:   says.Directives,
	})
	r.Status, r.Decision = resp.StatusCode, &decision
	if p.links && says.State == robotsmw.PageComplete {
		return r, r.addLinks(ctx, text, page, says, t.Checker())
	}
	return r, nil
}

// report puts down what a page says.
func (p *pageCheck) report(source string, says robotsmw.Page, in preference.Input) *pageReport {
	r := &pageReport{
		Source:       source,
		Agent:        p.agent,
		Examined:     says.State.String(),
		Restrictions: restrictions(says.Directives),
		Directives:   slices.Collect(says.Rules()),
		Licenses:     in.Licenses(),
	}
	for _, use := range []preference.Use{preference.Search, preference.TrainAI, preference.TrainAIImages, preference.AIInput} {
		r.Uses = append(r.Uses, in.For(use))
	}
	return r
}

// restrictions are what directives come to, by the directives' own names.
func restrictions(d robotsmeta.Directives) []string {
	all := []string{}
	for _, r := range []struct {
		holds bool
		name  string
	}{
		{d.NoIndex(), "noindex"},
		{d.NoFollow(), "nofollow"},
		{d.NoArchive(), "noarchive"},
		{d.NoSnippet(), "nosnippet"},
		{d.NoImageIndex(), "noimageindex"},
		{d.NoTranslate(), "notranslate"},
		{d.NoAI(), "noai"},
		{d.NoImageAI(), "noimageai"},
		{d.NoML(), "noml"},
	} {
		if r.holds {
			all = append(all, r.name)
		}
	}
	if at, ok := d.UnavailableAfter(); ok {
		all = append(all, "unavailable_after: "+at.Format("2006-01-02 15:04:05 MST"))
	}
	if n, ok := d.MaxSnippet(); ok && n > 0 {
		all = append(all, "max-snippet: "+strconv.Itoa(n))
	}
	if n, ok := d.MaxVideoPreview(); ok && n >= 0 {
		all = append(all, "max-video-preview: "+strconv.Itoa(n))
	}
	if size := d.MaxImagePreview(); size != "" && size != "large" {
		all = append(all, "max-image-preview: "+size)
	}
	return all
}

// addLinks judges the page's links.
func (r *pageReport) addLinks(ctx context.Context, text []byte, u *url.URL, says robotsmw.Page, checker *robotsmw.Checker) error {
	page, err := pagelinks.FromHTML(ctx, text, u, says, pagelinks.Options{Checker: checker})
	if err != nil {
		return err
	}
	for _, l := range page.Links {
		link := pageLink{URL: l.URL.String(), Element: l.Element, Rel: l.Rel, Follow: page.Follows(l)}
		switch {
		case link.Follow:
		case l.PageNoFollow:
			link.Why = "the page says nofollow"
		case l.NoFollow:
			link.Why = "rel=nofollow"
		case l.Err != nil:
			link.Why = l.Err.Error()
		case l.Decision.Reason == robotsmw.ByRule:
			link.Why = fmt.Sprintf("%v: %s, line %d of %s", l.Decision.Kind, l.Decision.Rule, l.Decision.Line, l.Decision.RobotsURL)
		case l.Checked:
			link.Why = l.Decision.String()
		}
		r.Links = append(r.Links, link)
	}
	return nil
}

func (r *pageReport) print(w io.Writer) {
	whom := "everybody"
	if r.Agent != "" {
		whom = r.Agent
	}
	if r.Decision != nil && !r.Decision.Allowed {
		fmt.Fprintf(w, "%s is not for %s, so that what it says is never seen:\n  %v\n", printable(r.Source), whom, r.Decision)
		return
	}
	told := "nothing restricted"
	if len(r.Restrictions) > 0 {
		told = printable(strings.Join(r.Restrictions, ", "))
	}
	fmt.Fprintf(w, "%s, to %s: %s\n", printable(r.Source), whom, told)
	if r.Examined != robotsmw.PageComplete.String() {
		fmt.Fprintf(w, "(%s)\n", r.Examined)
	}
	r.printDirectives(w)
	r.printUses(w)
	for i, l := range r.Licenses {
		if i == 0 {
			fmt.Fprintln(w, "\nlicenses")
		}
		fmt.Fprintf(w, "  %s (%s, line %d)\n", printable(l.URL), l.Where, l.Line)
	}
	for i, l := range r.Links {
		if i == 0 {
			fmt.Fprintln(w, "\nlinks")
		}
		if l.Follow {
			fmt.Fprintf(w, "  follow  %s\n", printable(l.URL))
		} else {
			fmt.Fprintf(w, "  leave   %s (%s)\n", printable(l.URL), printable(l.Why))
		}
	}
}

func (r *pageReport) printDirectives(w io.Writer) {
	if len(r.Directives) == 0 {
		return
	}
	fmt.Fprintln(w, "\ndirectives")
	rows := newTable(w, 0)
	for _, d := range r.Directives {
		name, note := d.Name, ""
		if d.Value != "" {
			name += ": " + d.Value
		}
		if d.Scope != "" {
			note += ", to " + d.Scope
		}
		if !d.Known {
			note += ", unknown"
		}
		fmt.Fprintf(rows, "  %s\t%v, line %d%s\n", printable(name), d.Source, d.Line, printable(note))
	}
	rows.Flush()
}

func (r *pageReport) printUses(w io.Writer) {
	if !slices.ContainsFunc(r.Uses, func(v preference.Verdict) bool { return len(v.Evidence) > 0 }) {
		return
	}
	fmt.Fprintln(w, "\nuses")
	rows := newTable(w, 0)
	for _, v := range r.Uses {
		fmt.Fprintf(rows, "  %s\t%v", v.Use, v.Answer)
		for i, s := range v.Evidence {
			if i > 0 {
				fmt.Fprint(rows, "  \t")
			}
			fmt.Fprintf(rows, "\t%s", printable(s.String()))
			if i < len(v.Evidence)-1 {
				fmt.Fprint(rows, "\n")
			}
		}
		fmt.Fprintln(rows)
	}
	rows.Flush()
}
