package integration

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/examples/politespider/internal/report"
)

// The demo prints JSON lines and writes a report. The report has one mark for
// each request in the JSON lines, and one for each URL that was not requested.
func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: the demo takes a quarter of a minute")
	}
	needBrowser(t)
	t.Parallel()
	began := time.Now()
	path := filepath.Join(t.TempDir(), "crawl.html")
	lines, err := exec.CommandContext(t.Context(), build(t), "-json", "-report", path, "demo").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the demo was crawled in %v", time.Since(began).Round(time.Millisecond))
	want, disallowed := countMarks(t, lines)
	for _, view := range []demoView{
		{"desktop-light", 1280, 1000, false},
		{"desktop-dark", 1280, 1000, true},
		{"phone", 360, 740, false},
	} {
		tb := open(t, path, view.width, 3600, view.dark) // 3600 pixels are enough for all timelines
		view.check(tb, want, disallowed)
		tb.do(`document.getElementById('all').scrollIntoView()`)
		tb.wait(`document.getElementById('all-table')`)
		t.Logf("%s: all parts of the report are shown after %v", view.name, time.Since(began).Round(time.Millisecond))
		view.screenshots(tb)
	}
}

// countMarks returns the number of marks that each host must have in the report
// of a crawl with these JSON lines, and the number of disallowed URLs.
func countMarks(t *testing.T, lines []byte) (marks map[string]int, disallowed int) {
	t.Helper()
	marks = make(map[string]int)
	for line := range bytes.Lines(lines) {
		var r struct {
			Verdict, Host string
			Requests      []struct{ Host string }
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		for _, request := range r.Requests {
			marks[cmp.Or(request.Host, r.Host)]++
		}
		if len(r.Requests) == 0 && r.Host != "" {
			marks[r.Host]++
		}
		if r.Verdict == "disallowed" {
			disallowed++
		}
	}
	return marks, disallowed
}

// A demoView is a size of the window and a theme in which the report of the
// demo is tested.
type demoView struct {
	name          string
	width, height int64
	dark          bool
}

// check checks the number of marks of each host, the number of disallowed URLs,
// and the verdict on the pace.
func (v demoView) check(tb tab, wantMarks map[string]int, wantDisallowed int) {
	tb.Helper()
	const lanes = `document.querySelectorAll('.lane')`
	tb.wait(`document.querySelectorAll('canvas[data-marks]').length === ` + lanes + `.length`)
	marks := eval[map[string]int](tb, `Object.fromEntries([...`+lanes+`].map(
		l => [l.querySelector('h3').textContent, +l.querySelector('canvas').dataset.marks]))`)
	if !maps.Equal(marks, wantMarks) {
		tb.Errorf("%s: marks by host are %v, want %v", v.name, marks, wantMarks)
	}
	disallowed := eval[int](tb, `[...document.querySelectorAll('#rules button .n')].reduce(
		(n, e) => n + +e.textContent, 0)`)
	if disallowed != wantDisallowed {
		tb.Errorf("%s: report lists %d disallowed URLs, want %d", v.name, disallowed, wantDisallowed)
	}
	verdict := eval[string](tb, `document.querySelector('.verdict').textContent`)
	if want := "The pace was kept."; !strings.HasPrefix(verdict, want) {
		tb.Errorf("%s: verdict is %q, want it to begin with %q", v.name, verdict, want)
	}
}

// screenshots saves a picture of each section.
func (v demoView) screenshots(tb tab) {
	tb.Helper()
	tb.run(chromedp.EmulateViewport(v.width, v.height))
	for _, section := range []string{"pace", "lanes", "disallowed", "directives", "all"} {
		const scroll = `document.getElementById(%q).scrollIntoView(); if (%[1]q === 'pace') scrollTo(0, 0)`
		tb.do(fmt.Sprintf(scroll, section))
		tb.screenshot("demo-" + v.name + "-" + section)
	}
}

// Each mark has the color of its kind, or red if its request was too early.
func TestTimeline(t *testing.T) {
	t.Parallel()
	c, s := invented(t, 3, 12, 1)
	tb := open(t, write(t, c, s), 1280, 1200, false)
	tb.wait(`document.querySelector('canvas[data-marks]')`)
	const pixels = `(canvas, at, y) => {
		const end = JSON.parse(document.getElementById('overview').textContent).end;
		const x = Math.floor(10 + at / end * (canvas.clientWidth - 20)), copy = new OffscreenCanvas(canvas.width, canvas.height);
		const c = copy.getContext('2d', {willReadFrequently: true});
		c.drawImage(canvas, 0, 0);
		return [-1, 0, 1].map(by => [...c.getImageData(x + by, y, 1, 1).data].slice(0, 3).join());
	}`
	const marks = `[...document.querySelectorAll('.lane canvas')].flatMap(canvas => {
		const d = JSON.parse(document.getElementById('timeline-' + canvas.dataset.host).textContent), early = new Set(d.early.map(e => e[0]));
		return d.at.map((at, i) => ({Kind: early.has(i) ? 'early' : d.verdicts[i], Pixels: (` + pixels + `)(canvas, at, d.took[i] < 0 ? canvas.clientHeight - 12 : 40)}));
	})`
	want := map[string]string{
		"f": "42,111,184", "m": "34,134,125", "r": "109,79,176", "l": "200,80,10", "b": "168,106,0", "x": "179,32,58", "early": "194,24,43",
	}
	seen := make(map[string]int)
	for _, mark := range eval[[]struct {
		Kind   string
		Pixels []string
	}](tb, marks) {
		seen[mark.Kind]++
		if !slices.Contains(mark.Pixels, want[mark.Kind]) {
			t.Errorf("mark of kind %q has the colors %q, want one to be %s",
				mark.Kind, mark.Pixels, want[mark.Kind])
		}
	}
	if seen["f"] == 0 || seen["r"] != 3 || seen["early"] != 1 {
		t.Errorf("marks by kind are %v, want fetched pages, 3 of robots.txt and 1 early", seen)
	}
	if verdict := eval[string](tb, `document.querySelector('.verdict').textContent`); !strings.HasPrefix(verdict, "The pace was not kept. 1 of ") {
		t.Errorf("verdict is %q, want it to begin with %q", verdict, "The pace was not kept. 1 of ")
	}
}

// The filter hides the marks that do not contain its text, or whose kind is
// switched off.
func TestFilter(t *testing.T) {
	t.Parallel()
	c, s := invented(t, 30, 40, 0)
	tb := open(t, write(t, c, s), 1280, 900, false)
	total := eval[int](tb, `JSON.parse(document.getElementById('overview').textContent).hosts.reduce((n, h) => n + h.marks, 0)`)
	tb.do(`document.getElementById('all').scrollIntoView()`)
	tb.wait(`document.getElementById('all-table')`)
	found := func() (n int) {
		text, _, _ := strings.Cut(eval[string](tb, `document.getElementById('found').textContent`), " of ")
		n, _ = strconv.Atoi(strings.ReplaceAll(text, ",", ""))
		return n
	}
	count := func(what string) int {
		return eval[int](tb, fmt.Sprintf(`document.querySelectorAll(%q).length`,
			what))
	}

	for _, tt := range []struct{ text, every string }{
		{"connection reset", "connection reset"},
		{"/Private/", "/private/"},
		{"-007.example", "-007.example"},
	} {
		tb.filter(fmt.Sprintf(`search.value = %q; search.dispatchEvent(new Event('input'))`, tt.text))
		want := eval[int](tb, fmt.Sprintf(`(() => {
			const hosts = JSON.parse(document.getElementById('overview').textContent).hosts;
			return hosts.reduce((n, h, i) => {
				const d = JSON.parse(document.getElementById('timeline-' + i).textContent);
				return n + d.at.filter((_, i) => (h.origin + d.urls[i] + ' ' + d.notes[d.note[i]]).includes(%q)).length;
			}, 0);
		})()`, tt.every))
		if got := found(); got != want || want == 0 {
			t.Errorf("filter %q finds %d marks, want %d", tt.text, got, want)
		}
		if got := count("#all-table tbody tr"); got != min(want, 100) {
			t.Errorf("table with the filter %q has %d rows, want %d", tt.text, got, min(want, 100))
		}
		if bad := eval[int](tb, fmt.Sprintf(`[...document.querySelectorAll('#all-table tbody tr')].filter(r => !r.textContent.includes(%q)).length`,
			tt.every)); bad != 0 {
			t.Errorf("%d rows do not match the filter %q, want none", bad, tt.text)
		}
	}
	if got := count(".lane"); got != 1 {
		t.Errorf("with a filter for one host, %d timelines are shown, want 1", got)
	}
	if got := count("#host-table tbody tr:not([hidden])"); got != 1 {
		t.Errorf("with a filter for one host, the table of hosts has %d rows, want 1", got)
	}
	tb.filter(`search.value = ''; search.dispatchEvent(new Event('input'))`)
	if got := eval[string](tb, `document.getElementById('found').textContent`); got != "" {
		t.Errorf("number of found marks without a filter is %q, want none", got)
	}

	// Switch off one kind of mark after the other. Each time, the marks of that
	// kind disappear.
	left := total
	for i := range count("#kinds button") {
		button := fmt.Sprintf(`document.querySelectorAll('#kinds button')[%d]`, i)
		n, err := strconv.Atoi(strings.ReplaceAll(eval[string](tb, button+`.querySelector('.soft').textContent`), ",", ""))
		if err != nil {
			t.Fatal(err)
		}
		tb.filter(button + `.click()`)
		left -= n
		if got := found(); got != left {
			t.Errorf("after %d kinds were switched off, %d are found, want %d", i+1, got, left)
		}
	}
	if left != 0 || count(".lane") != 0 || count("#all-table") != 0 || count("#rules button") != 0 {
		t.Errorf("with everything switched off, %d marks, %d lanes, %d tables and %d rule buttons are left; want none", left, count(".lane"), count("#all-table"), count("#rules button"))
	}
	tb.filter(`document.querySelectorAll('#kinds button')[0].click()`)
	if got := count(".lane"); got == 0 {
		t.Error("no timeline is shown after a kind was switched on again")
	}
}

// The tables can be sorted by each column, in both directions.
func TestSort(t *testing.T) {
	t.Parallel()
	c, s := invented(t, 12, 30, 0)
	tb := open(t, write(t, c, s), 1280, 900, false)
	tb.do(`document.getElementById('all').scrollIntoView()`)
	tb.wait(`document.getElementById('all-table')`)
	for _, tt := range []struct {
		table  string
		column int
		value  string // a JavaScript expression for the value in the row r
	}{
		{"#host-table", 0, `r.cells[0].textContent`},
		{"#host-table", 1, `+r.cells[1].textContent`},
		{"#host-table", 8, `+r.cells[8].dataset.v`},
		{"#lost-list table", 0, `r.cells[0].textContent`},
		{"#directives-list table", 3, `parseInt(r.cells[3].textContent)`},
		{"#all-table", 0, `r.cells[0].textContent.split(':').reduce((s, x) => 60 * s + +x, 0)`},
		{"#all-table", 1, `r.cells[1].textContent`},
	} {
		var orders []string
		for range 2 {
			head := fmt.Sprintf(`document.querySelector('%s').tHead.rows[0].cells[%d]`, tt.table, tt.column)
			was := eval[string](tb, head+`.ariaSort || ''`)
			tb.do(head + `.querySelector('button').click()`)
			tb.wait(fmt.Sprintf(`(%s.ariaSort || '') !== %q`, head, was))
			order := eval[string](tb, head+`.ariaSort`)
			orders = append(orders, order)
			sorted := eval[bool](tb, fmt.Sprintf(`(() => {
				const values = [...document.querySelector('%s').tBodies[0].rows].map(r => %s);
				return values.length > 2 && values.every((v, i) => i === 0 || values[i - 1] === v || (values[i - 1] < v) === (%q === 'ascending'));
			})()`, tt.table, tt.value, order))
			if !sorted {
				t.Errorf("%s, column %d, is not %s", tt.table, tt.column, order)
			}
		}
		if orders[0] == orders[1] {
			t.Errorf("%s, column %d, is %s after both clicks, want the opposite order after the second", tt.table, tt.column, orders[0])
		}
	}
}

// A keyboardTest uses a report with the keyboard alone.
type keyboardTest struct{ tab }

func newKeyboardTest(t *testing.T) keyboardTest {
	t.Helper()
	c, s := invented(t, 4, 60, 0)
	return keyboardTest{open(t, write(t, c, s), 1280, 900, false)}
}

// press presses keys.
func (t keyboardTest) press(keys string) {
	t.Helper()
	t.run(chromedp.KeyEvent(keys))
}

// active returns a property of the element that has the focus.
func (t keyboardTest) active(property string) string {
	t.Helper()
	return eval[string](t.tab, `String(document.activeElement.`+property+`).slice(0, 300)`)
}

// focusTimeline moves the focus to the first timeline, and returns the number
// of its marks.
func (t keyboardTest) focusTimeline() (marks int) {
	t.Helper()
	t.do(`document.querySelector('.lane canvas').focus()`)
	marks, err := strconv.Atoi(t.active("ariaValueMax"))
	if err != nil {
		t.Fatal(err)
	}
	return marks
}

// The Tab key leads to all parts of the report, in their order. Each has an
// accessible name and a visible focus.
func TestKeyboard_Tab(t *testing.T) {
	t.Parallel()
	kt := newKeyboardTest(t)
	tb := kt.tab
	var order []string
	for range 120 {
		kt.press(kb.Tab)
		if eval[bool](tb, `document.activeElement === document.body`) {
			break
		}
		if eval[bool](tb, `getComputedStyle(document.activeElement).outlineStyle === 'none'`) {
			t.Errorf("focus on %s is not visible", kt.active("outerHTML"))
		}
		if name := eval[string](tb, `(e => e.getAttribute('aria-label') || e.labels?.[0]?.textContent || e.textContent)(document.activeElement)`); strings.TrimSpace(name) == "" {
			t.Errorf("the focused element %s has no accessible name", kt.active("outerHTML"))
		}
		id := eval[string](tb, `(e => e.id || e.dataset.kind || e.closest('[id]')?.id || '')(document.activeElement)`)
		order = append(order, id)
	}
	last := -1
	for _, id := range []string{
		"theme",
		"find",
		"fetched",
		"order",
		"in",
		"lane-",
		"host-table",
		"rules",
		"text",
		"urls",
		"directives-list",
		"lost-list",
	} {
		at := -1
		for i, got := range order {
			if strings.HasPrefix(got, id) {
				at = i
				break
			}
		}
		if at <= last {
			t.Errorf("the Tab key leads to %q, want %s after the previous element", order, id)
		}
		last = at
	}

}

// In a timeline, the arrow keys, Home, End and PageUp lead to other marks. The
// keys + and 0 change the scale.
func TestKeyboard_Timeline(t *testing.T) {
	t.Parallel()
	kt := newKeyboardTest(t)
	tb := kt.tab
	marks := kt.focusTimeline()
	for _, step := range []struct {
		key  string
		want int
	}{
		{kb.ArrowRight, 1},
		{kb.ArrowRight, 2},
		{kb.ArrowLeft, 1},
		{kb.ArrowLeft, 1},
		{kb.End, marks},
		{kb.PageUp, marks - 10},
		{kb.Home, 1},
	} {
		kt.press(step.key)
		if got := kt.active("ariaValueNow"); got != strconv.Itoa(step.want) {
			t.Errorf("after the key %q, mark %s is chosen, want %d", step.key, got, step.want)
		}
	}
	if text := kt.active("ariaValueText"); !strings.Contains(text, "/robots.txt") || !strings.Contains(text, "1 of ") {
		t.Errorf("the first mark is announced as %q, want its path and position", text)
	}
	if eval[bool](tb, `document.getElementById('tip').hidden`) {
		t.Error("the tip of the chosen mark is hidden, want it shown")
	}
	tb.screenshot("keyboard")
	all := kt.active("dataset.marks")
	kt.press("+")
	kt.press("+")
	if got := kt.active("dataset.marks"); got == all {
		t.Errorf("after zooming in, %s marks are drawn, want fewer than %s", got, all)
	}
	kt.press("0")
	if got := kt.active("dataset.marks"); got != all {
		t.Errorf("after zooming out, %s marks are drawn, want %s", got, all)
	}

}

// On a disallowed URL, Enter leads to the line that disallowed the URL.
func TestKeyboard_Enter(t *testing.T) {
	t.Parallel()
	kt := newKeyboardTest(t)
	tb := kt.tab
	marks := kt.focusTimeline()
	kt.press(kb.Home)
	for range marks {
		if strings.Contains(kt.active("ariaValueText"), "disallowed") {
			break
		}
		kt.press(kb.ArrowRight)
	}
	text := kt.active("ariaValueText")
	kt.press(kb.Enter)
	if kt.active("id") != "text" {
		t.Fatalf("Enter on %q leads to %s, want the element text", text, kt.active("outerHTML"))
	}
	here := eval[string](tb, `document.querySelector('#text .here').textContent`)
	if line := strings.TrimLeft(here, "0123456789"); !strings.Contains(text, line) {
		t.Errorf("Enter on %q leads to the line %q, want the line that disallowed the URL", text, here)
	}
	inSight := eval[bool](tb, `(() => {
		const box = document.getElementById('text').getBoundingClientRect(), here = document.querySelector('#text .here').getBoundingClientRect();
		return here.top >= box.top && here.bottom <= box.bottom;
	})()`)
	if !inSight {
		t.Error("the line that disallowed the URL is not in sight after Enter")
	}
}

// In the list of rules, the arrow keys lead to other rules, which are shown.
func TestKeyboard_Rules(t *testing.T) {
	t.Parallel()
	kt := newKeyboardTest(t)
	tb := kt.tab
	tb.do(`document.querySelector('#rules button').focus()`)
	for range 2 {
		kt.press(kb.ArrowDown)
		if kt.active("ariaPressed") != "true" {
			t.Errorf("after the down arrow, the focused rule is not the one that is shown: %s", kt.active("outerHTML"))
		}
	}
}

// The button switches the theme, whose default is that of the system.
func TestThemes(t *testing.T) {
	t.Parallel()
	c, s := invented(t, 3, 10, 0)
	path := write(t, c, s)
	const paper, lane = `getComputedStyle(document.body).backgroundColor`, `(() => {
		const c = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
		c.drawImage(document.querySelector('.lane canvas'), 0, 0);
		return [...c.getImageData(0, 0, 1, 1).data].join();
	})()`
	var papers, lanes []string
	for _, dark := range []bool{false, true} {
		tb := open(t, path, 800, 900, dark)
		tb.wait(`document.querySelector('canvas[data-marks]')`)
		papers = append(papers, eval[string](tb, paper))
		lanes = append(lanes, eval[string](tb, lane))
		if label, want := eval[string](tb, `theme.textContent`), map[bool]string{
			false: "Switch to dark",
			true:  "Switch to light",
		}[dark]; label != want {
			t.Errorf("label of the button with dark %t is %q, want %q", dark, label, want)
		}
		for range 2 { // switch the theme, and switch it back
			tb.run(chromedp.Click(chromedp.CSS("#theme")))
			papers = append(papers, eval[string](tb, paper))
			lanes = append(lanes, eval[string](tb, lane))
		}
	}
	for i := range papers {
		want := i%2 == 1
		paperDiffers := papers[i] != papers[0]
		laneDiffers := lanes[i] != lanes[0]
		if paperDiffers != want || laneDiffers != want {
			t.Errorf("colors of the page in alternating themes are %q and of the timeline %q, want them to alternate between two each",
				papers, lanes)
			break
		}
	}
}

// On a phone, the page is not wider than the screen.
func TestPhone(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{
		"invented": func() string { c, s := invented(t, 30, 40, 1); return write(t, c, s) }(),
		"hostile":  func() string { c, s := hostile(t); return write(t, c, s) }(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tb := open(t, path, 360, 740, false)
			tb.do(`document.getElementById('all').scrollIntoView()`)
			tb.wait(`document.getElementById('all-table')`)
			if got := eval[int](tb, `document.documentElement.scrollWidth`); got > 360 {
				t.Errorf("the page is %d pixels wide, want at most 360; these elements are too wide: %q",
					got, eval[[]string](tb, `[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > 361 && !e.parentElement.closest('.scroll, #kinds')).map(e => e.tagName + '#' + e.id + '.' + e.className)`))
			}
			if got := eval[int](tb, `document.querySelector('.lane canvas').clientWidth`); got < 300 {
				t.Errorf("a timeline is %d pixels wide, want at least 300", got)
			}
		})
	}
}

// On a phone, the table of statuses is not wider than its frame, so it needs no
// sideways scrolling.
func TestPhone_Statuses(t *testing.T) {
	t.Parallel()
	c, s := invented(t, 3, 12, 0)
	s.Statuses = map[int]int{200: 1232, 301: 31, 403: 7, 404: 12, 410: 3, 500: 1, 503: 15}
	tb := open(t, write(t, c, s), 400, 900, false)
	if got := eval[[]int](tb, `(t => [t.scrollWidth, t.parentElement.clientWidth])(document.getElementById('status-table'))`); got[0] > got[1] {
		t.Errorf("the table of statuses is %d pixels wide, want at most the %d of its frame", got[0], got[1])
	}
}

// A robots.txt that several hosts or ports have is listed once, with all URLs
// that it disallowed. Two ports whose robots.txt differ are listed separately.
func TestDisallowed_SharedRobots(t *testing.T) {
	t.Parallel()
	c := report.New("some ports", "ExampleBot/1.0", time.Now(), time.Second)
	var s record.Summary
	same, other := inventedChecker(t), newChecker(t, "User-agent: *\nDisallow: /private/\n")
	for n, u := range []string{
		"http://a.example/private/1",
		"http://a.example/private/2",
		"http://b.example/private/3",
		"http://b.example:8080/private/4",
		"http://c.example/private/5",
	} {
		checker, host := same, u[len("http://"):][:len("a.example")]
		if n == 3 {
			checker = other
		}
		add(c, record.Record{
			Seconds:  float64(n),
			Verdict:  record.Disallowed,
			URL:      u,
			Host:     host,
			Decision: check(t, checker, u),
		})
	}
	s.Hosts = []record.HostSummary{
		{Host: "a.example", Disallowed: 2},
		{Host: "b.example", Disallowed: 2},
		{Host: "c.example", Disallowed: 1},
	}
	tb := open(t, write(t, c, s), 1400, 900, false)
	if got, want := eval[string](tb, `document.getElementById('rules').textContent`),
		"a.example and 2 more hostshttp://b.example/robots.txtc.example"+"line 8Disallow: /private/4"+
			"http://b.example:8080/robots.txt"+"line 2Disallow: /private/1"; got != want {
		t.Errorf("the rules are %q, want %q", got, want)
	}
	for n, want := range []string{
		"http://a.example/private/1http://a.example/private/2http://b.example/private/3http://c.example/private/5",
		"http://b.example:8080/private/4",
	} {
		tb.do(fmt.Sprintf(`document.querySelectorAll('#rules button')[%d].click()`, n))
		if urls := eval[string](tb, `document.getElementById('urls').textContent`); urls != want {
			t.Errorf("rule %d disallowed %q, want %q", n+1, urls, want)
		}
	}
}

// Hosts whose pages have the same directives share a row.
func TestDirectives_SharedRow(t *testing.T) {
	t.Parallel()
	c := report.New("many hosts", "ExampleBot/1.0", time.Now(), time.Second)
	var s record.Summary
	for n := range 39 {
		host := fmt.Sprintf("h%02d.example", n)
		add(c, record.Record{
			Seconds: float64(n),
			Verdict: record.Fetched,
			URL:     "http://" + host + "/",
			Host:    host,
			NoIndex: true,
		})
		s.Hosts = append(s.Hosts, record.HostSummary{Host: host, Fetched: 1})
	}
	tb := open(t, write(t, c, s), 1400, 900, false)
	rows := `[...document.querySelectorAll('#directives-list tbody tr')].map(r => [r.cells[0].querySelector('summary, span').textContent, r.cells[3].textContent].join(': '))`
	if got := eval[[]string](tb, rows); len(got) != 1 || got[0] != "h00.example and 38 more hosts: 39 pages" {
		t.Errorf("the rows of the table of directives are %q, want one row for all hosts", got)
	}
	tb.filter(`search.value = 'h07'; search.dispatchEvent(new Event('input'))`)
	if got := eval[[]string](tb, rows); len(got) != 1 || got[0] != "h07.example: 1 page" {
		t.Errorf("with a filter for h07, the rows of the table of directives are %q, want one row for the host", got)
	}
}

// Kinds of marks differ in shape, not only in color.
func TestKinds_HaveShapes(t *testing.T) {
	t.Parallel()
	c := report.New("all kinds", "ExampleBot/1.0", time.Now(), time.Second)
	for n, verdict := range []record.Verdict{
		record.Fetched,
		record.Unchanged,
		record.Moved,
		record.NotFound,
		record.PutOff,
		record.Disallowed,
		record.Failed,
		record.RobotsTxt,
	} {
		add(c, record.Record{
			Seconds: float64(n),
			Verdict: verdict,
			URL:     "http://a.example/",
			Host:    "a.example",
		})
	}
	tb := open(t, write(t, c, record.Summary{Hosts: []record.HostSummary{{Host: "a.example"}}}), 1400, 900, false)
	shapes := eval[[]string](tb, `[...document.querySelectorAll('#kinds path')].map(p => p.getAttribute('d') + ' ' + (p.style.fill === 'none'))`)
	slices.Sort(shapes)
	if n := len(slices.Compact(shapes)); n != 8 {
		t.Errorf("the 8 kinds of marks have %d different shapes, %q, want 8", n, shapes)
	}
}

// A host with a single response is not among the slowest.
func TestSlowest_NeedsTwoResponses(t *testing.T) {
	t.Parallel()
	c := report.New("slow", "ExampleBot/1.0", time.Now(), time.Second)
	var s record.Summary
	for host, answers := range map[string]int{"once.example": 1, "twice.example": 2} {
		for n := range answers {
			add(c, record.Record{
				Seconds:  float64(n),
				Verdict:  record.Fetched,
				URL:      "http://" + host + "/",
				Host:     host,
				Status:   200,
				Requests: []record.Request{{At: float64(n), Took: 0.5, Status: 200}},
			})
		}
		s.Hosts = append(s.Hosts, record.HostSummary{Host: host, Requests: answers})
	}
	tb := open(t, write(t, c, s), 1400, 900, false)
	if got := eval[[]string](tb, `[...document.querySelectorAll('#slow-list .name')].map(e => e.textContent)`); !slices.Equal(got, []string{"twice.example"}) {
		t.Errorf("slowest hosts are %q, want twice.example", got)
	}
}

// The report never runs anything that a site has sent, whatever the reader
// does.
func TestHostile(t *testing.T) {
	t.Parallel()
	c, s := hostile(t)
	tb := open(t, write(t, c, s), 1280, 6000, false)
	tb.wait(`document.querySelectorAll('canvas[data-marks]').length === document.querySelectorAll('.lane').length`)
	elements := `[...document.querySelectorAll('script:not([type]), iframe, img, base, object, link, form, svg, style, meta')].map(e => e.outerHTML.length).join()`
	before := eval[string](tb, elements)
	tb.do(`document.getElementById('all').scrollIntoView()`)
	tb.wait(`document.getElementById('all-table')`)
	for i := range smuggled {
		tb.do(fmt.Sprintf(`document.querySelectorAll('#rules button')[%d].click()`, i))
		tb.do(fmt.Sprintf(`document.querySelectorAll('.lane canvas')[%d].focus()`, i))
		tb.run(chromedp.KeyEvent(kb.Home + kb.ArrowRight + kb.ArrowRight))
	}
	tb.filter(`search.value = 'pwned'; search.dispatchEvent(new Event('input'))`)
	tb.filter(`search.value = ''; search.dispatchEvent(new Event('input'))`)
	if eval[bool](tb, `'pwned' in window || 'pwned' in Object.prototype`) {
		t.Error("a crawled site has run a script")
	}
	if after := eval[string](tb, elements); after != before {
		t.Errorf("elements of the page have the sizes %s, want those before the tests: %s", after, before)
	}
	if lanes := eval[int](tb, `document.querySelectorAll('.lane').length`); lanes != len(smuggled) {
		t.Errorf("the report has %d timelines, want %d", lanes, len(smuggled))
	}
	shown := eval[string](tb, `document.getElementById('file').textContent + document.getElementById('all-list').textContent`)
	for _, text := range []string{`</script><script>pwned=1</script>`, `\u{202e}gnp.exe`} {
		if !strings.Contains(shown, text) {
			t.Errorf("the text %s is not shown unchanged", text)
		}
	}
	tb.screenshot("hostile")
}

// A report of 200 hosts draws a timeline only when it becomes visible. The
// test logs how long the report takes to open and to filter, but sets no limit.
func TestBig(t *testing.T) {
	t.Parallel()
	pages := 300
	if n, err := strconv.Atoi(os.Getenv("REPORT_PAGES")); err == nil {
		pages = n
	}
	c, s := invented(t, 200, pages, 0)
	began := time.Now()
	path := write(t, c, s)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("200 hosts with %d pages each: %.1f MB, written in %v",
		pages, float64(info.Size())/1e6, time.Since(began).Round(time.Millisecond))
	began = time.Now()
	tb := open(t, path, 1280, 900, false)
	tb.wait(`document.querySelector('canvas[data-marks]')`)
	t.Logf("opened in %v", time.Since(began).Round(time.Millisecond))
	if drawn := eval[int](tb, `document.querySelectorAll('canvas[data-marks]').length`); drawn == 0 || drawn > 20 {
		t.Errorf("%d timelines are drawn when the report opens, want 1 to 20, those in sight", drawn)
	}
	tb.do(`window.longest = 0; new PerformanceObserver(l => l.getEntries().forEach(e => longest = Math.max(longest, e.duration))).observe({type: 'longtask'})`)
	tb.screenshot("big-top")
	tb.do(`document.getElementById('more-lanes').click()`)
	if lanes := eval[int](tb, `document.querySelectorAll('.lane').length`); lanes != 200 {
		t.Errorf("the report has %d timelines, want 200", lanes)
	}
	tb.do(`document.querySelector('.lane:nth-child(150)').scrollIntoView()`)
	tb.wait(`document.querySelector('.lane:nth-child(150) canvas[data-marks]')`)
	if drawn := eval[int](tb, `document.querySelectorAll('canvas[data-marks]').length`); drawn > 60 {
		t.Errorf("%d timelines are drawn after scrolling, want at most 60, those that were in sight", drawn)
	}
	began = time.Now()
	tb.filter(`search.value = 'museum'; search.dispatchEvent(new Event('input'))`)
	t.Logf("filtered in %v, of which 150 ms wait for the next letter",
		time.Since(began).Round(time.Millisecond))
	began = time.Now()
	tb.filter(`search.value = ''; search.dispatchEvent(new Event('input'))`)
	tb.do(`document.getElementById('all').scrollIntoView()`)
	tb.wait(`document.getElementById('all-table')`)
	t.Logf("everything listed in %v", time.Since(began).Round(time.Millisecond))
	t.Logf("the longest task held the page up for %.0f ms", eval[float64](tb, `longest`))
	tb.do(`scrollTo(0, 0); document.getElementById('order').value = 'trouble'; document.getElementById('order').dispatchEvent(new Event('change')); document.getElementById('pace').scrollIntoView()`)
	tb.wait(`document.querySelector('.lane canvas[data-marks]')`)
	tb.screenshot("big-trouble")
	tb.do(`for (let i = 0; i < 5; i++) document.getElementById('in').click()`)
	tb.screenshot("big-zoomed")
	tb.do(`document.getElementById('disallowed').scrollIntoView()`)
	tb.screenshot("big-disallowed")
}
