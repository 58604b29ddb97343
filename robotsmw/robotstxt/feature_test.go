package robotstxt_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/preference"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
	"github.com/goodbots/courtesy/robotsmw/robotstxt/lint"
)

// A featureCase is a line of conformance/feature_cases.jsonl. It contains the
// result of another parser for a part of a file.
type featureCase struct {
	Source, Feature, Note string
	Robots                string
	RobotsB64             []byte `json:"robots_b64"`
	Agent, URL            string
	RobotsURL             string `json:"robots_url"`
	Expected              any
}

// comparisons contains a function for each kind of case. The function returns
// our result and the expected one in the same form.
var comparisons = map[string]func(c featureCase) (got, want any){
	"clean_param":         featureCase.cleanParam,
	"comment":             featureCase.comment,
	"content_signal":      featureCase.contentSignal,
	"crawl_delay":         featureCase.crawlDelay,
	"export":              featureCase.export,
	"groups":              featureCase.groups,
	"host":                featureCase.host,
	"line_report":         featureCase.lineReport,
	"lint_errors":         featureCase.lintErrors,
	"matching_line":       featureCase.matchingLine,
	"noindex":             featureCase.noindex,
	"parse_events":        featureCase.parseEvents,
	"path_of_url":         featureCase.pathOfURL,
	"render":              featureCase.render,
	"request_rate":        featureCase.requestRate,
	"robots_url":          featureCase.robotsURL,
	"robots_url_governs":  featureCase.robotsURLGoverns,
	"robotversion":        featureCase.robotVersion,
	"sitemaps":            featureCase.sitemaps,
	"valid_product_token": featureCase.validProductToken,
	"visit_time":          featureCase.visitTime,
	"why_disallowed":      featureCase.whyDisallowed,
}

// TestSharedFeatures compares, for each case, our result with the expected one.
// The two must differ exactly in the cases of featureDisagreements.
func TestSharedFeatures(t *testing.T) {
	reasons := map[string]string{} // why the results differ, by case
	for reason, cases := range featureDisagreements {
		for _, id := range cases {
			reasons[id] = reason
		}
	}
	count := map[string]int{}  // the number of cases, by feature
	agreed := map[string]int{} // the number of equal results, by feature
	for i, c := range readFeatureCases(t) {
		id := fmt.Sprintf("%d %s", i+1, c.Feature)
		compare, ok := comparisons[c.Feature]
		if !ok {
			t.Fatalf("case %s: comparisons has no function for the feature %s, want one", id, c.Feature)
		}
		got, want := compare(c)
		count[c.Feature]++
		isEqual := asJSON(got) == asJSON(want)
		if isEqual {
			agreed[c.Feature]++
		}
		_, mayDiffer := reasons[id]
		delete(reasons, id)
		if isEqual && mayDiffer {
			t.Errorf("case %s: got %s, as expected, want a disagreement: remove the case from featureDisagreements",
				id, asJSON(got))
		}
		if !isEqual && !mayDiffer {
			t.Errorf("case %s of %s, agent %q, URL %q, note %q: got %s, want %s; robots.txt:\n%s",
				id, c.Source, c.Agent, c.URL, c.Note, asJSON(got), asJSON(want), c.Robots)
		}
	}
	for id := range reasons {
		t.Errorf("featureDisagreements has %q, but there is no such case: remove it", id)
	}
	for _, feature := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%s: %d of %d agree", feature, agreed[feature], count[feature])
	}
}

func readFeatureCases(t *testing.T) (cases []featureCase) {
	t.Helper()
	f, err := os.Open(filepath.Join(robotstxt.SharedDir(t), "conformance", "feature_cases.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	decoder := json.NewDecoder(f)
	for {
		var c featureCase
		err := decoder.Decode(&c)
		if err == io.EOF {
			return cases
		}
		if err != nil {
			t.Fatal(err)
		}
		if c.RobotsB64 != nil {
			c.Robots = string(c.RobotsB64)
		}
		cases = append(cases, c)
	}
}

// asJSON returns a value as JSON, or the text of an error.
func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (c featureCase) file() *robotstxt.File { return robotstxt.Parse([]byte(c.Robots)) }

// token returns the product token in the field Agent: the name before the
// version.
func (c featureCase) token() string {
	token, _, _ := strings.Cut(strings.ReplaceAll(c.Agent, " ", "/"), "/")
	return token
}

// fields returns the values of the fields that have the given name and are in
// the groups of the agent.
func (c featureCase) fields(name string) (values []string) {
	for g := range c.file().GroupsFor(c.token()) {
		for _, f := range g.Fields {
			if strings.EqualFold(f.Name, name) {
				values = append(values, f.Value)
			}
		}
	}
	return values
}

// arguments returns the arguments of each call in the field Note, for example
// [["/hello", "google"], [0], []].
func (c featureCase) arguments() (calls [][]any) {
	if i := strings.Index(c.Note, " [["); i >= 0 {
		// If the note has no such list, the error is ignored, because there are
		// no arguments.
		_ = json.Unmarshal([]byte(c.Note[i:]), &calls)
	}
	return calls
}

func (c featureCase) sitemaps() (got, want any) {
	if _, ok := c.Expected.(float64); ok {
		return len(c.file().Sitemaps()), c.Expected
	}
	return append([]string{}, c.file().Sitemaps()...), c.Expected
}

func (c featureCase) crawlDelay() (got, want any) {
	delay, ok := c.file().Rules(c.token()).CrawlDelay()
	switch expected := c.Expected.(type) {
	case nil, bool:
		return ok, false
	case string:
		return fmt.Sprint(delay.Seconds()), expected
	}
	return delay.Seconds(), c.Expected
}

func (c featureCase) matchingLine() (got, want any) {
	return c.file().Rules(c.token()).Match(c.URL).Line, c.Expected
}

func (c featureCase) pathOfURL() (got, want any) { return robotstxt.GooglePath(c.URL), c.Expected }

func (c featureCase) lintErrors() (got, want any) {
	errors := 0
	for _, p := range lint.Check([]byte(c.Robots)) {
		if p.Severity > lint.Info {
			errors++
		}
	}
	return errors, c.Expected
}

func (c featureCase) host() (got, want any) {
	value := ""
	for f := range c.file().Fields("host") {
		value = f.Value
	}
	if value == "" && c.Expected == nil {
		return nil, nil
	}
	return value, c.Expected
}

func (c featureCase) robotVersion() (got, want any) {
	return append(c.fields("robot-version"), "")[0], c.Expected
}

func (c featureCase) noindex() (got, want any) {
	calls := c.arguments()
	for _, value := range c.fields("noindex") {
		rules := robotstxt.Parse([]byte("user-agent: *\ndisallow: " + value)).Rules()
		if len(calls) > 2 && !rules.Allowed(fmt.Sprint(calls[2][0])) {
			if _, ok := c.Expected.(float64); ok { // the expected answer is the length of the value
				return len(value), c.Expected
			}
			return value, c.Expected
		}
	}
	return nil, c.Expected
}

func (c featureCase) comment() (got, want any) {
	if calls := c.arguments(); len(calls) > 0 && len(calls[0]) > 0 {
		c.Agent = fmt.Sprint(calls[0][0])
	}
	return append([]string{}, c.fields("comment")...), c.Expected
}

// cleanParam compares the Clean-param lines, as a map from parameters to paths.
// If the case has a URL, cleanParam compares a list instead. The list contains
// each parameter of the URL that a Clean-param line names for the URL's path.
func (c featureCase) cleanParam() (got, want any) {
	paths := map[string][]string{}
	for f := range c.file().Fields("clean-param") {
		names, path, _ := strings.Cut(f.Value, " ")
		if path == "" {
			path = "/"
		}
		for name := range strings.SplitSeq(names, "&") {
			paths[name] = append(paths[name], path)
		}
	}
	calls := c.arguments()
	if len(calls) < 2 || len(calls[1]) == 0 {
		if len(paths) == 0 {
			return []string{}, c.Expected
		}
		return paths, c.Expected
	}
	u, err := url.Parse(fmt.Sprint(calls[1][0]))
	if err != nil {
		return err.Error(), c.Expected
	}
	names := []string{}
	for name, patterns := range paths {
		for _, pattern := range patterns {
			rules := robotstxt.Parse([]byte("user-agent: *\ndisallow: " + pattern)).Rules()
			if u.Query().Has(name) && !rules.Allowed(u.RequestURI()) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names, c.Expected
}

func (c featureCase) requestRate() (got, want any) {
	var rates []requestRate
	for _, value := range c.fields("request-rate") {
		if rate, ok := parseRequestRate(value); ok {
			rates = append(rates, rate)
		}
	}
	switch expected := c.Expected.(type) {
	case string: // the text that protego prints for a rate
		if len(rates) == 0 {
			return "None", expected
		}
		from, to := "None", "None"
		if h := rates[0].Hours; h != (hours{}) {
			from, to = pythonTime(h.From), pythonTime(h.To)
		}
		return fmt.Sprintf("RequestRate(requests=%d, seconds=%.0f, start_time=%s, end_time=%s)",
			rates[0].Requests, rates[0].Per.Seconds(), from, to), expected
	case []any:
		if len(expected) == 2 { // the requests and the seconds
			if len(rates) == 0 {
				return nil, expected
			}
			return []any{rates[0].Requests, rates[0].Per.Seconds()}, expected
		}
		slices.SortStableFunc(rates, func(a, b requestRate) int {
			return cmp.Compare(b.Delay(), a.Delay())
		})
		var delays, exported []any
		for _, r := range rates {
			delays = append(delays, r.Delay().Seconds())
			exported = append(exported, exportedRate(r))
		}
		if _, ok := expected[0].(float64); ok {
			return delays, expected
		}
		for _, e := range expected { // the ratio is ignored, because the rate is equivalent
			delete(e.(map[string]any), "ratio")
		}
		return exported, expected
	}
	if len(rates) == 0 {
		return nil, c.Expected
	}
	return rates[0].Delay().Seconds(), c.Expected
}

func exportedRate(r requestRate) map[string]any {
	m := map[string]any{"rate": r.Delay().Seconds(), "from": nil, "to": nil}
	if r.Hours != (hours{}) {
		maps.Copy(m, exportedHours(r.Hours))
	}
	return m
}

func exportedHours(h hours) map[string]any {
	return map[string]any{"from": clock(h.From), "to": clock(h.To)}
}

func clock(d time.Duration) string {
	return fmt.Sprintf("%02d%02d", int(d.Hours()), int(d.Minutes())%60)
}

func pythonTime(d time.Duration) string {
	return fmt.Sprintf("datetime.time(%d, %d)", int(d.Hours()), int(d.Minutes())%60)
}

func (c featureCase) visitTime() (got, want any) {
	all := []hours{}
	exported := []any{}
	for _, value := range c.fields("visit-time") {
		if h, ok := parseVisitTime(value); ok {
			all = append(all, h)
			exported = append(exported, exportedHours(h))
		}
	}
	switch c.Expected.(type) {
	case string:
		if len(all) == 0 {
			return "None", c.Expected
		}
		return exported, c.Expected
	case bool:
		calls := c.arguments()
		if len(calls) < 3 || len(calls[2]) == 0 {
			return "at an unknown time", c.Expected
		}
		at := time.Unix(int64(calls[2][0].(float64)), 0)
		return slices.ContainsFunc(all, func(h hours) bool { return h.Contains(at) }), c.Expected
	}
	return exported, c.Expected
}

func (c featureCase) contentSignal() (got, want any) {
	in := preference.Input{Robots: c.file(), Tokens: []string{c.token()}, Target: "/"}
	signals := map[string]any{}
	hasSignal := false
	for name, use := range map[string]preference.Use{
		"ai-train": preference.TrainAI,
		"search":   preference.Search,
		"ai-input": preference.AIInput,
	} {
		signals[name] = nil
		if answer := in.For(use).Answer; answer != preference.Unknown {
			signals[name] = answer == preference.Allow
			hasSignal = true
		}
	}
	if !hasSignal {
		return nil, c.Expected
	}
	return signals, c.Expected
}

// groups compares the robots that the file names, the number of its groups, or
// the content of its first group.
func (c featureCase) groups() (got, want any) {
	groups := slices.Collect(c.file().Groups())
	call, rest, _ := strings.Cut(c.Note, " ")
	what, _, _ := strings.Cut(rest, " ")
	if what == "getUserAgents" {
		agents := []string{}
		for _, g := range groups {
			for _, a := range g.UserAgents {
				agents = append(agents, strings.ToLower(a.Value))
			}
		}
		slices.Sort(agents)
		return agents, c.Expected
	}
	if what == "groups" {
		return len(groups), c.Expected
	}
	if len(groups) == 0 {
		return "no group", c.Expected
	}
	list := []string{}
	for _, a := range groups[0].UserAgents {
		if strings.HasSuffix(what, "userAgents") {
			list = append(list, a.Value)
		}
	}
	kind := map[string]robotstxt.Kind{
		"groups.[].allowedPatterns":    robotstxt.Allow,
		"groups.[].disallowedPatterns": robotstxt.Disallow,
	}[what]
	for _, r := range groups[0].Rules {
		if r.Kind == kind && r.Pattern != "" {
			list = append(list, r.Pattern)
		}
	}
	switch call {
	case "count":
		return len(list), c.Expected
	case "empty":
		if len(list) == 0 {
			return nil, c.Expected
		}
	}
	return list, c.Expected
}

// whyDisallowed compares the rules that disallow a path. Our package returns
// only the rule that decides.
func (c featureCase) whyDisallowed() (got, want any) {
	calls := c.arguments()
	m := c.file().Rules(fmt.Sprint(calls[0][1])).Match(fmt.Sprint(calls[0][0]))
	if m.Allowed {
		return nil, c.Expected
	}
	if len(calls) > 1 && calls[1][0] != 0.0 {
		return "one rule decides", c.Expected
	}
	switch what, _, _ := strings.Cut(c.Note, " "); what {
	case "whyDisallows":
		return 1, c.Expected
	case "whyDisallows.[].userAgent":
		return m.Group[0].Value, c.Expected
	default:
		return m.Pattern, c.Expected
	}
}

// An event is a line as the Google dialect reads it.
type event struct {
	line  int
	kind  string // "U" for user-agent, "A", "D", "S" for sitemap, or "?"
	name  string // the field, if kind is "?"
	value string
}

// events returns the events of a file, ordered by line.
func events(body string) (all []event) {
	f := robotstxt.Google.Parse([]byte(body))
	for g := range f.Groups() {
		for _, a := range g.UserAgents {
			all = append(all, event{a.Line, "U", "", a.Value})
		}
		for _, r := range g.Rules {
			kind := "D"
			if r.Kind == robotstxt.Allow {
				kind = "A"
			}
			all = append(all, event{r.Line, kind, "", r.Pattern})
		}
	}
	sitemaps := f.Sitemaps()
	for field := range f.Fields() {
		if len(sitemaps) > 0 && field.Value == sitemaps[0] {
			all = append(all, event{field.Line, "S", "", field.Value})
			sitemaps = sitemaps[1:]
			continue
		}
		all = append(all, event{field.Line, "?", field.Name, field.Value})
	}
	slices.SortFunc(all, func(a, b event) int { return a.line - b.line })
	return all
}

func (c featureCase) parseEvents() (got, want any) {
	list := []any{}
	for _, e := range events(c.Robots) {
		list = append(list, []any{e.line, e.kind, e.name, e.value})
	}
	return list, c.Expected
}

// A lineReport is the report of Google's parser about a line.
type lineReport struct {
	Line         int    `json:"line"`
	Tag          string `json:"tag"`
	Typo         int    `json:"typo"`
	Empty        int    `json:"empty"`
	Directive    int    `json:"directive"`
	HasComment   int    `json:"has_comment"`
	Comment      int    `json:"comment"`
	TooLong      int    `json:"too_long"`
	MissingColon int    `json:"missing_colon"`
}

// eventTags contains the names of the kinds of events in Google's report.
var eventTags = map[string]string{
	"U": "user-agent",
	"A": "allow",
	"D": "disallow",
	"S": "sitemap",
}

func (c featureCase) lineReport() (got, want any) {
	kinds := map[int]event{}
	for _, e := range events(c.Robots) {
		kinds[e.line] = e
	}
	misspelled := map[int]bool{}
	for _, p := range lint.Check([]byte(c.Robots)) {
		if p.Code == "misspelled-field" {
			misspelled[p.Line] = true
		}
	}
	asInt := func(b bool) int { // Google's parser prints 1 for true
		if b {
			return 1
		}
		return 0
	}
	lines := []lineReport{}
	report := func(n int, line string) {
		code, _, hasComment := strings.Cut(line, "#")
		code = strings.Trim(code, " \t\v\f")
		e, ok := kinds[n]
		tag := cmp.Or(eventTags[e.kind], "unknown")
		lines = append(lines, lineReport{
			Line:         n,
			Tag:          tag,
			Typo:         asInt(misspelled[n]),
			Empty:        asInt(line == ""),
			Directive:    asInt(ok),
			HasComment:   asInt(hasComment),
			Comment:      asInt(hasComment && code == ""),
			TooLong:      asInt(len(line) > 16663),
			MissingColon: asInt(ok && !strings.Contains(code, ":")),
		})
	}
	last := 0
	for n, line := range robotstxt.Google.Parse([]byte(c.Robots)).Lines() {
		report(n, line)
		last = n
	}
	report(last+1, "") // Google's parser reports one line more than Lines yields
	var expected []lineReport
	b, _ := json.Marshal(c.Expected.(map[string]any)["results"])
	if err := json.Unmarshal(b, &expected); err != nil {
		return err.Error(), c.Expected
	}
	return lines, expected
}

// export compares the content of each robot's group.
func (c featureCase) export() (got, want any) {
	f := c.file()
	type agent struct {
		disallow, allow, noindex []string
		delay, version           string
		rates, hours             string
	}
	ours := map[string]string{}
	theirs := map[string]string{}
	for g := range f.Groups() {
		for _, a := range g.UserAgents {
			var e agent
			for _, r := range g.Rules {
				if r.Kind == robotstxt.Allow {
					e.allow = append(e.allow, r.Pattern)
				} else {
					e.disallow = append(e.disallow, r.Pattern)
				}
			}
			var rates, hours []any
			for _, field := range g.Fields {
				switch {
				case strings.EqualFold(field.Name, "noindex"):
					e.noindex = append(e.noindex, field.Value)
				case strings.EqualFold(field.Name, "crawl-delay"):
					e.delay = field.Value
				case strings.EqualFold(field.Name, "robot-version"):
					e.version = field.Value
				case strings.EqualFold(field.Name, "request-rate"):
					if r, ok := parseRequestRate(field.Value); ok {
						rates = append(rates, exportedRate(r))
					}
				case strings.EqualFold(field.Name, "visit-time"):
					if h, ok := parseVisitTime(field.Value); ok {
						hours = append(hours, exportedHours(h))
					}
				}
			}
			e.rates = asJSON(append([]any{}, rates...))
			e.hours = asJSON(append([]any{}, hours...))
			ours[strings.ToLower(a.Value)] = fmt.Sprint(e)
		}
	}
	expected := c.Expected.(map[string]any)
	agents, _ := expected["user-agent"].(map[string]any)
	for name, v := range agents {
		m := v.(map[string]any)
		list := func(key string) (all []string) {
			for _, v := range m[key].([]any) {
				all = append(all, fmt.Sprint(v))
			}
			return all
		}
		text := func(key string) string {
			if m[key] == nil {
				return ""
			}
			return fmt.Sprint(m[key])
		}
		for _, r := range m["request-rate"].([]any) {
			delete(r.(map[string]any), "ratio")
		}
		theirs[name] = fmt.Sprint(agent{
			disallow: list("disallow"),
			allow:    list("allow"),
			noindex:  list("noindex"),
			delay:    text("crawl-delay"),
			version:  text("robot-version"),
			rates:    asJSON(m["request-rate"]),
			hours:    asJSON(m["visit-time"]),
		})
	}
	host := ""
	for field := range f.Fields("host") {
		host = field.Value
	}
	wantHost, _ := expected["host"].(string)
	got = []any{host, append([]string{}, f.Sitemaps()...), ours}
	return got, []any{wantHost, expected["sitemap"], theirs}
}

// render compares a file with the version that another program has made of it.
// Both files must have the same meaning for each robot that one of the files
// names, and for a robot that neither file names.
func (c featureCase) render() (got, want any) {
	rendered, ok := c.Expected.(string)
	if !ok {
		return nil, c.Expected
	}
	original := c.file()
	again := robotstxt.Parse([]byte(rendered))
	tokens := map[string]bool{"SomeOtherBot": true}
	targets := map[string]bool{"/": true, "/x.html?y": true}
	for _, f := range []*robotstxt.File{original, again} {
		for g := range f.Groups() {
			for _, a := range g.UserAgents {
				tokens[strings.ToLower(a.Value)] = true
			}
			for _, r := range g.Rules {
				path := strings.TrimSuffix(r.Pattern, "$")
				for _, star := range []string{"", "x", "/y/"} {
					targets[strings.ReplaceAll(path, "*", star)] = true
					targets[strings.ReplaceAll(path, "*", star)+"z"] = true
				}
			}
		}
	}
	meaning := func(f *robotstxt.File) map[string]any {
		m := map[string]any{"sitemaps": len(f.Sitemaps())}
		for token := range tokens {
			rules := f.Rules(token)
			delay, _ := rules.CrawlDelay()
			disallowed := []string{}
			for _, target := range slices.Sorted(maps.Keys(targets)) {
				if !rules.Allowed(target) {
					disallowed = append(disallowed, target)
				}
			}
			m[token] = []any{delay.Seconds(), disallowed}
		}
		return m
	}
	return meaning(original), meaning(again)
}

// notFound is a RoundTripper that responds with status 404 to each request.
type notFound struct{}

func (notFound) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusNotFound,
		Header:     http.Header{},
		Body:       http.NoBody,
		Request:    r,
	}, nil
}

// robotsURL returns the URL of the robots.txt that applies to a URL, or the
// text of an error.
func robotsURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return err.Error()
	}
	transport, err := robotsmw.NewTransport(robotsmw.Options{
		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
		Base:      notFound{},
	})
	if err != nil {
		return err.Error()
	}
	d, err := transport.Checker().Check(context.Background(), u)
	if err != nil {
		return err.Error()
	}
	return d.RobotsURL
}

func (c featureCase) robotsURL() (got, want any) { return robotsURL(c.URL), c.Expected }

func (c featureCase) robotsURLGoverns() (got, want any) {
	site := strings.TrimSuffix(c.RobotsURL, "robots.txt")
	return robotsURL(c.URL) == robotsURL(site), c.Expected
}

func (c featureCase) validProductToken() (got, want any) {
	_, err := robotsmw.NewTransport(robotsmw.Options{
		UserAgent:     "ExampleBot/1.0 (+https://example.com/bot)",
		ProductTokens: []string{c.Agent},
		Base:          notFound{},
	})
	return err == nil, c.Expected
}

// featureDisagreements contains the cases in which our result is not the
// expected one. Its keys are the reasons. A case is identified by its line in
// the file and its feature.
var featureDisagreements = map[string][]string{
	"only a rule ends a group (RFC 9309 §2.2.4)": {
		"59 comment", "61 comment", // VIPnytt: "*" and "receiver" share a group
		"102 export", // VIPnytt: the last Robot-version of the group counts
		"109 render", // VIPnytt: agentA and agentB share a group, and so do agentE and agentF
	},
	"a line without a colon is a field if it consists of two words": {
		"16 request_rate", // "request rate 1/10s 1820-1940" is four words
		"76 export",       // "Robot-version 2.0" is two words
		"106 render",      // "Disallow /private/" is two words
		"177 sitemaps",    // a line with only "http://domain.com/dir/my-sitemap.xml" is not a sitemap
		"173 crawl_delay", // "Crawl-Delay: 10<BR>" has a colon, but "10<BR>" is not a number
	},
	"without a deciding line, Match.Line is 0, not -1": {"42 matching_line"},
	"values of fields are returned unchanged": {
		"56 clean_param", // a "**" in a path is not changed
		// whether a host is valid, is preferred, or belongs to the URL
		"82 host", "83 host", "84 host", "86 host", "87 host", "88 host", "89 host", "103 host",
		"178 sitemaps",    // a relative URL stays relative
		"66 request_rate", // a Crawl-delay does not count as a Request-rate
	},
	"the parser has no list of common parameters": {
		"52 clean_param", "53 clean_param", "55 clean_param", "58 clean_param",
	},
	"a Comment applies to all robots of its group, including \"*\"": {
		"62 comment",
	},
	"the first \"$\" of \"/deny/$$\" is literal": {"74 render"},
	"there is no group for \"*\" unless the file has one": {
		"108 groups",
	},
	"the result depends on the time of day, which is not in the case": {
		"110 visit_time",
	},
	"only the deciding rule is returned, not all rules that match": {
		"149 why_disallowed", "150 why_disallowed", "153 why_disallowed", "154 why_disallowed",
		"155 why_disallowed", "156 why_disallowed", "157 why_disallowed", "158 why_disallowed",
	},
	"a rate contains a time": {"193 request_rate"}, // "Request-rate: 2" does not
	"the linter reports more misspellings than Google's parser": {
		"228 line_report", // a byte order mark before "Allow"
		"229 line_report", // a NUL in "allow"
		"231 line_report", // "user-agents", "allowed", "disallowed", "sitemaps"
	},
}
