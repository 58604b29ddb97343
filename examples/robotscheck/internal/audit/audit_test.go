package audit

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/robotsmw/evidence/audit"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A result is the exit status and the output of a command.
type result struct {
	status         command.Status
	stdout, stderr string
}

// runAudit runs the command in a new directory with these files, which becomes
// the current directory.
func runAudit(t *testing.T, files map[string]string, stdin string, args ...string) result {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	var stdout, stderr strings.Builder
	e := command.Env{
		Stdin:  strings.NewReader(stdin),
		Stdout: bufio.NewWriter(&stdout),
		Stderr: &stderr,
	}
	status := Command.Run(t.Context(), e, args)
	e.Stdout.Flush()
	return result{status, stdout.String(), stderr.String()}
}

// checkStatus fails the test if the exit status is not want.
func (r result) checkStatus(t *testing.T, want command.Status) {
	t.Helper()
	if r.status != want {
		t.Errorf("exit status %d, want %d\nstandard output:\n%s\nstandard error:\n%s",
			r.status, want, r.stdout, r.stderr)
	}
}

// checkContains fails the test if a text, such as "standard output", lacks a
// part.
func checkContains(t *testing.T, name, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q:\n%s", name, part, text)
		}
	}
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// line returns a line of an access log.
func line(clock, url, agent string) string {
	return fmt.Sprintf("192.0.2.1 - - [20/Nov/2026:%s +0000] \"GET %s HTTP/1.1\" 200 512 \"-\" \"%s\"\n",
		clock, url, agent)
}

const robotsTxt = "User-agent: *\nDisallow: /private/\n"

// On a terminal, an audit of large files shows how much it has read. Other
// output replaces this line.
func TestAudit_Progress(t *testing.T) {
	dir := t.TempDir()
	text := line("10:00:00", "/a", "Bot/1") + "words\n" +
		strings.Repeat(line("10:00:01", "/b", "Bot/1"), 20_000) + "words\n"
	if err := os.WriteFile(filepath.Join(dir, "log"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	synctest.Test(t, func(t *testing.T) {
		var screen strings.Builder
		e := command.Env{Stdout: bufio.NewWriter(&screen), Stderr: &screen}
		r := newRun(new(options), e)
		r.reporter.progress.Terminal = &screen
		r.auditor.OnBroken = func(input string, line int, err error) {
			fmt.Fprintln(e.Stdout, "a violation")
			time.Sleep(time.Second)
			r.reporter.addBroken(input, line, err)
			time.Sleep(time.Second)
		}
		if err := r.read(t.Context(), []string{"log"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		record := watchedDirectory{os.DirFS("."), r.reporter.addBytes}
		if _, err := fs.ReadFile(record, "log"); err != nil {
			t.Fatal(err)
		}
		r.reporter.progress.Clear()
		want := cli.EraseLine + "  0 MB read\r" +
			cli.EraseLine + "robotscheck audit: log:2: the line is in no known format\n" +
			"a violation\n" + cli.EraseLine + "  1 MB read\r" +
			cli.EraseLine + "robotscheck audit: log:20003: the line is in no known format\n" +
			"a violation\n" + cli.EraseLine + "  4 MB read\r" + cli.EraseLine
		if got := screen.String(); got != want {
			t.Errorf("the terminal shows\n%q, want\n%q", got, want)
		}
	})
}

// If there is a violation, the exit status is 1. If there is none, but the
// audit is incomplete or has seen no request, the exit status is 2.
func TestAudit_Status(t *testing.T) {
	good := line("10:00:00", "/robots.txt", "Bot/1") + line("10:00:01", "/a", "Bot/1")
	bad := good + line("10:00:02", "/private/a", "Bot/1")
	zipped := compressGzip(good)
	files := map[string]string{
		"r.txt":                            robotsTxt,
		"good":                             good,
		"bad":                              bad,
		"good.gz":                          zipped,
		"cut.gz":                           zipped[:len(zipped)-9],
		"broken":                           strings.Repeat(good, 50) + "words\n",
		"worse":                            strings.Repeat(good, 49) + "words\n",
		"empty":                            "",
		"words":                            "words\n",
		"history/2026-11-20T10:00:01Z.txt": robotsTxt,
		"later/2026-11-20T10:00:02Z.txt":   robotsTxt,
	}
	tests := []struct {
		args   string
		stdin  string
		want   command.Status
		stderr string
	}{
		{"-robots r.txt good", "", command.OK, ""},
		{"-robots r.txt good.gz", "", command.OK, ""},
		{"-robots r.txt -", good, command.OK, ""},
		{"-robots r.txt -", zipped, command.OK, ""},
		{"-robots r.txt bad", "", command.No, ""},
		{"-robots r.txt broken", "", command.OK, "broken:101: "}, // less than 1 %
		{"-robots r.txt worse", "", command.CannotTell, "worse:99: "},
		{"-robots r.txt -", "words\n" + good, command.CannotTell, "<stdin>:1: "},
		{"-robots r.txt -", "words\n" + bad, command.No, "<stdin>:1: "},
		{"-robots r.txt cut.gz", "", command.CannotTell, "cut.gz:3: "},
		{"-robots r.txt empty", "", command.CannotTell, "no request found; specify an access log"},
		{"-robots r.txt empty good", "", command.OK, ""},
		{
			"-robots r.txt words", "", command.CannotTell,
			`words: no line is in one of the known formats; the first is "words"; ` +
				"the formats are combined, caddy, nginx, traefik, w3c, alb, logpush",
		},
		{"-robots history good", "", command.OK, ""},
		{"-robots later good", "", command.CannotTell, ""},
		{"good", "", command.CannotTell, ""},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			for _, args := range []string{tt.args, "-json " + tt.args} {
				r := runAudit(t, files, tt.stdin, strings.Fields(args)...)
				r.checkStatus(t, tt.want)
				checkContains(t, "standard error", r.stderr, tt.stderr)
				if tt.stderr == "" && r.stderr != "" {
					t.Errorf("standard error is %q, want nothing", r.stderr)
				}
			}
		})
	}
}

func compressGzip(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, text)
	w.Close()
	return b.String()
}

// If one of the files cannot be read, the audit has no result, even if the
// other files have a violation. A result without this file would be misleading.
func TestAudit_UnreadableFile(t *testing.T) {
	bad := line("10:00:00", "/private/a", "Bot/1")
	files := map[string]string{
		"r.txt":                        robotsTxt,
		"bad":                          bad,
		"gone.gz":                      "\x1f\x8bno WARC file",
		"dir/x.txt":                    robotsTxt,
		"dir/2026-11-20T10:00:01Z.txt": robotsTxt,
		"none/x":                       "",
	}
	const noURL = "is not a file, and audit does not fetch URLs; save the content in a file"
	for _, tt := range []struct{ args, stderr string }{
		{"-robots nosuch.txt bad", "open nosuch.txt: no such file"},
		{"-robots htp://a.example/robots.txt bad", `"htp://a.example/robots.txt" ` + noURL},
		{"-robots https://a.example/robots.txt bad", noURL},
		{"-robots gone.gz bad", "gone.gz: "},
		{"-robots dir bad", "dir/x.txt: name the file after the time"},
		{"-robots none bad", "the directory contains no robots.txt"},
		{"-robots r.txt nosuch.log bad", "open nosuch.log: no such file"},
		{"-robots r.txt bad https:/a.example/access.log", noURL},
		{"-robots r.txt bad none", "no record"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			r := runAudit(t, files, "", strings.Fields(tt.args)...)
			r.checkStatus(t, command.CannotTell)
			checkContains(t, "standard error", r.stderr, tt.stderr)
			if r.stdout != "" {
				t.Errorf("standard output is %q, want nothing", r.stdout)
			}
		})
	}
}

// The robots.txt is not meant for robots, or robots read only a part of it. The
// text, the JSON and the page contain the doubt. The exit status is Doubtful,
// unless it is CannotTell.
func TestAudit_Doubtful(t *testing.T) {
	const html = "<!DOCTYPE html>\n<title>Welcome</title>\n"
	good := line("10:00:00", "/robots.txt", "Bot/1") + line("10:00:01", "/a", "Bot/1")
	files := map[string]string{
		"html.txt": html,
		"long.txt": robotsTxt + strings.Repeat("#\n", robotstxt.MaxSize/2),
		"png.txt":  "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x01",
		"good":     good,
		"bad":      good + line("10:00:02", "/a", "Other/1"),
		"empty":    "",

		"one/2026-11-19T00:00:00Z.txt": robotsTxt,
		"one/2026-11-20T00:00:00Z.txt": html,
	}
	for day := range 5 {
		files[fmt.Sprintf("many/2026-11-1%dT00:00:00Z.txt", day)] = html
	}
	const isHTML = "the file is an HTML page; robots.txt must be plain text"
	for _, tt := range []struct {
		args, source, doubt string
		want                command.Status
	}{
		{"-robots html.txt good", "html.txt", isHTML, command.Doubtful},
		{"-robots html.txt bad", "html.txt", isHTML, command.Doubtful},
		{"-robots html.txt empty", "html.txt", isHTML, command.CannotTell},
		{"-robots png.txt good", "png.txt", "the file is not text", command.Doubtful},
		{
			"-robots long.txt good", "long.txt",
			"the file has at least 512001 bytes, of which only 512000 are parsed: " +
				"line 255986 and all later lines are ignored",
			command.Doubtful,
		},
		{"-robots one good", "one/2026-11-20T00:00:00Z.txt", isHTML, command.Doubtful},
		{
			"-robots many good", "many/2026-11-12T00:00:00Z.txt",
			isHTML + "\n\n… and 2 more doubtful files; -json has all", command.Doubtful,
		},
	} {
		t.Run(tt.args, func(t *testing.T) {
			args := strings.Fields(tt.args)
			r := runAudit(t, files, "", args...)
			r.checkStatus(t, tt.want)
			want := "\ndoubtful: " + tt.source + ": " + tt.doubt + "\n"
			if !strings.HasSuffix(r.stdout, want) {
				t.Errorf("standard output does not end with %q:\n%s", want, r.stdout)
			}
			message, _, _ := strings.Cut(tt.doubt, "\n")
			r = runAudit(t, files, "", append(args, "-json", "-html", "page.html")...)
			r.checkStatus(t, tt.want)
			checkContains(t, "JSON", r.stdout, fmt.Sprintf(`{"source":%q,"doubt":%q}`, tt.source, message))
			checkContains(t, "page", readPage(t, "page.html"), message)
		})
	}
}

// Two logs have many broken lines. For each problem, standard error contains
// the first lines that have it, and the number of the others.
func TestAudit_BrokenLines(t *testing.T) {
	good := line("10:00:00", "/a", "Bot/1")
	files := map[string]string{
		"one": good + strings.Repeat("words\n", 267),
		"log": good + strings.Repeat("words\n", maxReported) + strings.Repeat("{\n", maxReported+1),
	}
	r := runAudit(t, files, "", "one", "log")
	for part, want := range map[string]int{
		"one:": maxReported + 1,
		"log:": maxReported + maxReported + 1,
		"audit: one:4: the line is in no known format": 1,
		"log:4: the line is in":                        1,

		"audit: … and 264 more lines or records like it, up to one:268: the line is in no known format\n": 1,
		"audit: … and 1 more line or record like it, up to log:8: the line is not a JSON object\n":        1,
	} {
		if got := strings.Count(r.stderr, part); got != want {
			t.Errorf("standard error contains %q %d times, want %d:\n%s", part, got, want, r.stderr)
		}
	}
	checkContains(t, "standard output", r.stdout, "274 broken lines or records could not be read")
}

// If the format of a log is unknown, the error contains its first line and the
// known formats. There is no result, even if another log can be read.
func TestAudit_UnknownFormat(t *testing.T) {
	const mailLine = "Nov 20 10:00:00 mail postfix/smtpd[42]: connect from a.example"
	files := map[string]string{
		"good":     exampleLine + "\n",
		"picture":  "\n\x89PNG " + strings.Repeat("x", 1000) + "\nwords\n",
		"mail.log": mailLine + "\n",
		"r.txt":    robotsTxt,
	}
	const formats = "; the formats are combined, caddy, nginx, traefik, w3c, alb, logpush\n"
	for args, want := range map[string]string{
		"picture": `picture: no line is in one of the known formats; the first is "\x89PNG xxx`,
		"good mail.log": "mail.log: no line is in one of the known formats; " +
			`the first is "` + mailLine + `"` + formats,
		"-format w3c -robots r.txt good": `good: no line is in the format w3c; the first is "192.0.2.1 - - `,
		"-format iis good":               "-format iis: must be one of combined, caddy, nginx, traefik, w3c, alb, logpush\n",
	} {
		t.Run(args, func(t *testing.T) {
			r := runAudit(t, files, "", strings.Fields(args)...)
			r.checkStatus(t, command.CannotTell)
			checkContains(t, "standard error", r.stderr, want)
			if r.stdout != "" {
				t.Errorf("standard output is %q, want nothing", r.stdout)
			}
		})
	}
	for _, args := range []string{"-robots r.txt good", "-robots r.txt -format combined good"} {
		t.Run(args, func(t *testing.T) {
			runAudit(t, files, "", strings.Fields(args)...).checkStatus(t, command.OK)
		})
	}
}

// Robots of -ignore are not judged, and health checks are not robots. A log
// without any User-Agent proves nothing about robots.
func TestAudit_WhoIsJudged(t *testing.T) {
	bad := func(agent string) string { return line("10:00:02", "/private/a", agent) }
	healthChecks := []string{
		bad("kube-probe/1.33"),
		bad("ELB-HealthChecker/2.0"),
		bad("GoogleHC/1.0"),
		bad("Amazon-Route53-Health-Check-Service (ref 1; report http://amzn.to/1vsZADi)"),
		bad("Cloudflare-Healthchecks/1.0 (+https://www.cloudflare.com/; healthcheck-id: 1)"),
		bad("Consul Health Check"),
		bad("Envoy/HC"),
		bad("Edge Health Probe"),
		bad("Amazon CloudFront"),
	}
	monitors := bad("MonitorBot/1.0") + bad("monitorbot/2.0") + bad("Backup/3")
	files := map[string]string{
		"r.txt":    robotsTxt,
		"log":      monitors + line("10:00:00", "/a", "Good/1"),
		"checks":   strings.Join(healthChecks, ""),
		"nameless": bad("-") + bad(""),
		"nearly":   bad("-") + line("10:00:00", "/a", "Mozilla/5.0 Firefox/145.0"),
		"both":     bad("-") + bad("Bot/1"),
	}
	for _, tt := range []struct {
		args    string
		want    command.Status
		ignored int
		text    string
	}{
		{"log", command.No, 0, "3 violations"},
		{"-ignore MonitorBot log", command.No, 2, "2 requests ignored"},
		{"-ignore monitorbot -ignore Backup log", command.OK, 3, "3 requests ignored"},
		{"checks", command.OK, 0, "9 requests, 0 robots, 0 violations"},
		{"nameless", command.CannotTell, 0, "No line contains a User-Agent"},
		{"nearly", command.OK, 0, "2 requests"},
		{"nameless nearly", command.OK, 0, "4 requests"},
		{"both", command.No, 0, "1 violation"},
		{"-since 2030-01-01 nameless", command.CannotTell, 0, "0 requests"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			args := append([]string{"-robots", "r.txt"}, strings.Fields(tt.args)...)
			r := runAudit(t, files, "", args...)
			r.checkStatus(t, tt.want)
			checkContains(t, "standard output", r.stdout, tt.text)
			r = runAudit(t, files, "", append([]string{"-json"}, args...)...)
			checkContains(t, "JSON", r.stdout, fmt.Sprintf(`"ignored":%d,`, tt.ignored))
		})
	}
}

// A long list is truncated, and ends with the number of the missing entries.
func TestAudit_LongLists(t *testing.T) {
	var log strings.Builder
	for n := range maxRobots + 2 {
		entry := line("10:00:03", "/private/x", fmt.Sprintf("Bot%d/1", n))
		fmt.Fprintf(&log, "h%d.example:80 %s", n%(maxHosts+3), entry)
	}
	r := runAudit(t, map[string]string{"log": log.String()}, "", "log")
	checkContains(t, "standard output", r.stdout,
		"\n… and 2 more robots; use -json to see all\n",
		"\n… and 3 more hosts; use -json to see all\n",
		"\n… and 3 more spans; use -json to see all\n")
}

func TestReason(t *testing.T) {
	at := time.Date(2026, time.November, 20, 10, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		violation audit.Violation
		want      string
	}{
		{
			audit.Violation{Kind: "disallowed", Line: 2, Rule: "Disallow: /a"},
			"line 2, Disallow: /a",
		},
		{
			audit.Violation{Kind: "disallowed"},
			"robots.txt was a 5xx, which forbids everything",
		},
		{
			audit.Violation{Kind: "stale", Line: 2, Rule: "Disallow: /a", Previous: at, Gap: 72 * time.Hour},
			"line 2, Disallow: /a; robots.txt was last requested at 2026-11-20T10:00:00Z, 3.0 days before",
		},
		{
			audit.Violation{
				Kind: "gap", Line: 3, Previous: at,
				Gap: 1500 * time.Millisecond, Want: 10 * time.Second,
			},
			"1.5 s after the page at 2026-11-20T10:00:00Z; the Crawl-delay is 10 s (line 3)",
		},
		{
			audit.Violation{Kind: "retry-after", Previous: at, Gap: time.Minute, Want: 150 * time.Minute},
			"60 s after the response at 2026-11-20T10:00:00Z with a Retry-After of 2.5 h",
		},
		{
			audit.Violation{Kind: "before-robots-txt"},
			"before robots.txt was fetched",
		},
	} {
		if got := reason(tt.violation); got != tt.want {
			t.Errorf("reason of %q is %q, want %q", tt.violation.Kind, got, tt.want)
		}
	}
}

// The page contains the violations and the number of broken lines. Text from
// the log is escaped.
func TestAudit_Page(t *testing.T) {
	log := line("10:00:00", "/robots.txt", "Bot/1") +
		line("10:00:01", "/a", "Bot/1") +
		line("10:00:02", "/private/<script>", "Bot/1")
	for i := range 3 {
		log += fmt.Sprintf("h%d.example:80 %s", i, line("10:00:03", "/private/x", "Other/1"))
	}
	files := map[string]string{
		"r.txt": robotsTxt + "Crawl-delay: 10\n",
		"log":   log + "words\n",
	}
	runAudit(t, files, "", "-robots", "r.txt", "-html", "page.html", "log").checkStatus(t, command.No)
	page := readPage(t, "page.html")
	checkContains(t, "page", page,
		"5 violations",
		"/private/&lt;script&gt;",
		"h2.example",
		"<h3>Bot</h3>",
		"1 s after the page at",
		"violations</title>",
		"1 broken line",
		"<dt>requests</dt><dd>6<",
		"<dt>robots</dt><dd>2<",
		"<dt>hosts</dt><dd>4<",
		"<dt>violations</dt><dd>5<",
		"<dt>broken line</dt><dd>1<")
	if n := strings.Count(page, "<script"); n != 1 {
		t.Errorf("page contains %d script elements, want only its own", n)
	}
}

// If the log has no requests or too many unreadable lines, the result on the
// page is "Inconclusive."
func TestAudit_Page_Inconclusive(t *testing.T) {
	const args = "-html page.html log"
	r := runAudit(t, map[string]string{"log": ""}, "", strings.Fields(args)...)
	r.checkStatus(t, command.CannotTell)
	checkContains(t, "page of an empty log", readPage(t, "page.html"), "Inconclusive")

	log := line("10:00:00", "/robots.txt", "Bot/1") + strings.Repeat("words\n", 30)
	r = runAudit(t, map[string]string{"log": log}, "", strings.Fields(args)...)
	r.checkStatus(t, command.CannotTell)
	checkContains(t, "page of an unreadable log", readPage(t, "page.html"),
		"Inconclusive", "(96.8 % of all)")
}

// The page contains the periods in which no robots.txt was known.
func TestAudit_Page_UnauditedPeriods(t *testing.T) {
	log := line("10:00:01", "/a", "Bot/1") + line("10:00:05", "/b", "Bot/1")
	r := runAudit(t, map[string]string{"log": log}, "", "-html", "page.html", "log")
	r.checkStatus(t, command.CannotTell)
	if r.stderr != "" {
		t.Errorf("standard error is %q, want nothing", r.stderr)
	}
	checkContains(t, "page", readPage(t, "page.html"),
		"the site</th><td>2026-11-20T10:00:01Z</td><td>2026-11-20T10:00:05Z</td><td class=\"n\">2</td>")
}

// A hostile server sends another content coding in each response of a WARC
// file, so each record has a problem of its own. The memory for them is
// bounded.
func TestReporter_ManyProblems(t *testing.T) {
	var stderr bytes.Buffer
	r := newReporter(command.Env{Stderr: &stderr})
	for i := range maxProblems + 5000 {
		r.addBroken("crawl.warc", i, fmt.Errorf("its Content-Encoding %d is not known here", i))
	}
	if got, want := len(r.repeats), maxProblems+1; got != want {
		t.Errorf("repeats has %d problems, want %d", got, want)
	}
	if got, want := len(r.order), maxProblems+1; got != want {
		t.Errorf("order has %d problems, want %d", got, want)
	}
	if n := r.repeats[problem{"crawl.warc", "other problems"}]; n == nil || n.times != 5000 {
		t.Errorf("count of the other problems is %+v, want 5000 times", n)
	}
	got := bytes.Count(stderr.Bytes(), []byte("\n"))
	if want := maxProblems + maxReported; got != want {
		t.Errorf("standard error has %d lines, want %d", got, want)
	}
}
