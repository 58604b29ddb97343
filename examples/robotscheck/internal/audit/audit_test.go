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

func try(t *testing.T, files map[string]string, stdin string, args ...string) (status command.Status, stdout, stderr string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	var out, errOut strings.Builder
	e := command.Env{Stdin: strings.NewReader(stdin), Stdout: bufio.NewWriter(&out), Stderr: &errOut}
	status = Command.Run(t.Context(), e, args)
	e.Stdout.Flush()
	return status, out.String(), errOut.String()
}

func line(clock, url, agent string) string {
	return fmt.Sprintf("192.0.2.1 - - [20/Nov/2026:%s +0000] \"GET %s HTTP/1.1\" 200 512 \"-\" \"%s\"\n", clock, url, agent)
}

const robotsTxt = "User-agent: *\nDisallow: /private/\n"

// On a terminal, an audit of large files shows how much it has read. What it
// prints there meanwhile is printed in the place of this line.
func TestAudit_Progress(t *testing.T) {
	dir := t.TempDir()
	text := line("10:00:00", "/a", "Bot/1") + "words\n" + strings.Repeat(line("10:00:01", "/b", "Bot/1"), 20_000) + "words\n"
	if err := os.WriteFile(filepath.Join(dir, "log"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	synctest.Test(t, func(t *testing.T) {
		var screen strings.Builder
		e := command.Env{Stdout: bufio.NewWriter(&screen), Stderr: &screen}
		broken := &brokenLines{w: &screen, stdout: e.Stdout, seen: make(map[problem]*repeats), progress: cli.Progress{Terminal: &screen}}
		judge := audit.Auditor{OnBroken: func(input string, line int, err error) {
			fmt.Fprintln(e.Stdout, "a violation")
			time.Sleep(time.Second)
			broken.add(input, line, err)
			time.Sleep(time.Second)
		}}
		if err := new(options).read(t.Context(), e, []string{"log"}, &judge, broken); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if _, err := fs.ReadFile(watchedDirectory{os.DirFS("."), broken.read}, "log"); err != nil {
			t.Fatal(err)
		}
		broken.progress.Clear()
		want := cli.EraseLine + "  0 MB read\r" +
			cli.EraseLine + "robotscheck audit: log:2: the line is in no known format\n" +
			"a violation\n" + cli.EraseLine + "  1 MB read\r" +
			cli.EraseLine + "robotscheck audit: log:20003: the line is in no known format\n" +
			"a violation\n" + cli.EraseLine + "  4 MB read\r" + cli.EraseLine
		if got := screen.String(); got != want {
			t.Errorf("the terminal got\n%q, want\n%q", got, want)
		}
	})
}

// If there is a violation, the exit status is 1. If there is none, but the
// audit is incomplete or has seen no request, the exit status is 2.
func TestAudit_Status(t *testing.T) {
	good := line("10:00:00", "/robots.txt", "Bot/1") + line("10:00:01", "/a", "Bot/1")
	bad := good + line("10:00:02", "/private/a", "Bot/1")
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	io.WriteString(zip, good)
	zip.Close()
	files := map[string]string{"r.txt": robotsTxt, "good": good, "bad": bad, "good.gz": zipped.String(), "cut.gz": zipped.String()[:zipped.Len()-9],
		"broken": strings.Repeat(good, 50) + "words\n", "worse": strings.Repeat(good, 49) + "words\n", "empty": "", "words": "words\n", "history/2026-11-20T10:00:01Z.txt": robotsTxt, "later/2026-11-20T10:00:02Z.txt": robotsTxt}
	tests := []struct {
		args   string
		stdin  string
		want   command.Status
		stderr string
	}{
		{"-robots r.txt good", "", command.OK, ""},
		{"-robots r.txt good.gz", "", command.OK, ""},
		{"-robots r.txt -", good, command.OK, ""},
		{"-robots r.txt -", zipped.String(), command.OK, ""},
		{"-robots r.txt bad", "", command.No, ""},
		{"-robots r.txt broken", "", command.OK, "broken:101: "}, // less than 1 %
		{"-robots r.txt worse", "", command.CannotTell, "worse:99: "},
		{"-robots r.txt -", "words\n" + good, command.CannotTell, "<stdin>:1: "},
		{"-robots r.txt -", "words\n" + bad, command.No, "<stdin>:1: "},
		{"-robots r.txt cut.gz", "", command.CannotTell, "cut.gz:3: "},
		{"-robots r.txt empty", "", command.CannotTell, "no request found; specify an access log"},
		{"-robots r.txt empty good", "", command.OK, ""},
		{"-robots r.txt words", "", command.CannotTell, `words: no line is in one of the known formats; the first is "words"; the formats are combined, caddy, nginx, traefik, w3c, alb, logpush`},
		{"-robots history good", "", command.OK, ""},
		{"-robots later good", "", command.CannotTell, ""},
		{"good", "", command.CannotTell, ""},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			for _, args := range [][]string{strings.Fields(tt.args), append([]string{"-json"}, strings.Fields(tt.args)...)} {
				status, stdout, stderr := try(t, files, tt.stdin, args...)
				if status != tt.want || !strings.Contains(stderr, tt.stderr) || tt.stderr == "" && stderr != "" {
					t.Errorf("exit status %d, want %d; standard error %q; %s", status, tt.want, stderr, stdout)
				}
			}
		})
	}
}

// If a file that the user named cannot be read, the audit has no result, even
// if the other files have a violation. A result without this file would answer
// a question that the user did not ask.
func TestAudit_UnreadableFile(t *testing.T) {
	bad := line("10:00:00", "/private/a", "Bot/1")
	files := map[string]string{"r.txt": robotsTxt, "bad": bad, "gone.gz": "\x1f\x8bno WARC file", "dir/x.txt": robotsTxt, "dir/2026-11-20T10:00:01Z.txt": robotsTxt, "none/x": ""}
	const noURL = "is not a file, and audit does not fetch URLs; save the content in a file"
	for _, tt := range []struct{ args, stderr string }{
		{"-robots nosuch.txt bad", "open nosuch.txt: no such file"},
		{"-robots htp://a.example/robots.txt bad", `"htp://a.example/robots.txt" ` + noURL},
		{"-robots https://a.example/robots.txt bad", noURL},
		{"-robots gone.gz bad", "gone.gz: "},
		{"-robots dir bad", "dir/x.txt: name the file after the time"},
		{"-robots none bad", "it contains no robots.txt"},
		{"-robots r.txt nosuch.log bad", "open nosuch.log: no such file"},
		{"-robots r.txt bad https:/a.example/access.log", noURL},
		{"-robots r.txt bad none", "no record"},
	} {
		if status, stdout, stderr := try(t, files, "", strings.Fields(tt.args)...); status != command.CannotTell || stdout != "" || !strings.Contains(stderr, tt.stderr) {
			t.Errorf("%s: exit status %d, standard error %q, and it prints %s", tt.args, status, stderr, stdout)
		}
	}
}

// The robots.txt is not meant for robots, or robots read only a part of it. The
// text, the JSON and the page say so. The exit status also says so, unless it
// is CannotTell.
func TestAudit_Doubtful(t *testing.T) {
	const html = "<!DOCTYPE html>\n<title>Welcome</title>\n"
	good := line("10:00:00", "/robots.txt", "Bot/1") + line("10:00:01", "/a", "Bot/1")
	files := map[string]string{"html.txt": html, "long.txt": robotsTxt + strings.Repeat("#\n", robotstxt.MaxSize/2), "png.txt": "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x01",
		"good": good, "bad": good + line("10:00:02", "/a", "Other/1"), "empty": "", "one/2026-11-19T00:00:00Z.txt": robotsTxt, "one/2026-11-20T00:00:00Z.txt": html}
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
		{"-robots long.txt good", "long.txt", "the file has at least 512001 bytes, of which only 512000 are parsed: line 255986 and all later lines are ignored", command.Doubtful},
		{"-robots one good", "one/2026-11-20T00:00:00Z.txt", isHTML, command.Doubtful},
		{"-robots many good", "many/2026-11-12T00:00:00Z.txt", isHTML + "\n\n… and 2 more doubtful files; -json has all", command.Doubtful},
	} {
		args := strings.Fields(tt.args)
		want := "\ndoubtful: " + tt.source + ": " + tt.doubt + "\n"
		if status, stdout, _ := try(t, files, "", args...); status != tt.want || !strings.HasSuffix(stdout, want) {
			t.Errorf("%s: exit status %d, want %d; it does not say %q:\n%s", tt.args, status, tt.want, want, stdout)
		}
		message, _, _ := strings.Cut(tt.doubt, "\n")
		want = fmt.Sprintf(`{"source":%q,"doubt":%q}`, tt.source, message)
		if status, stdout, _ := try(t, files, "", append(args, "-json", "-html", "page.html")...); status != tt.want || !strings.Contains(stdout, want) {
			t.Errorf("%s -json: exit status %d, want %d; it does not say %q:\n%s", tt.args, status, tt.want, want, stdout)
		}
		if page, err := os.ReadFile("page.html"); err != nil || !strings.Contains(string(page), message) {
			t.Errorf("%s: %v, and the page does not say %q", tt.args, err, message)
		}
	}
}

// The user names two logs with many broken lines. For each problem, standard
// error names the first lines that have it, and says how many more there are.
func TestAudit_BrokenLines(t *testing.T) {
	good := line("10:00:00", "/a", "Bot/1")
	files := map[string]string{"one": good + strings.Repeat("words\n", 267), "log": good + strings.Repeat("words\n", maxReported) + strings.Repeat("{\n", maxReported+1)}
	_, stdout, stderr := try(t, files, "", "one", "log")
	for _, tt := range []struct {
		lines string
		want  int
	}{{"one:", maxReported + 1}, {"log:", maxReported + maxReported + 1}, {"audit: one:4: the line is in no known format", 1}, {"log:4: the line is in", 1},
		{"audit: … and 264 more lines or records like it, up to one:268: the line is in no known format\n", 1},
		{"audit: … and 1 more line or record like it, up to log:8: the line is not a JSON object\n", 1},
	} {
		if n := strings.Count(stderr, tt.lines); n != tt.want {
			t.Errorf("%q is %d times on standard error, want %d:\n%s", tt.lines, n, tt.want, stderr)
		}
	}
	if !strings.Contains(stdout, "274 broken lines or records: not read.") {
		t.Errorf("it prints %s", stdout)
	}
}

// A log in an unknown format gets an error that shows its first line and lists
// the formats. There is no result, even if another log can be read.
func TestAudit_UnknownFormat(t *testing.T) {
	files := map[string]string{"good": exampleLine + "\n", "picture": "\n\x89PNG " + strings.Repeat("x", 1000) + "\nwords\n", "mail.log": "Nov 20 10:00:00 mail postfix/smtpd[42]: connect from a.example\n", "r.txt": robotsTxt}
	const formats = "; the formats are combined, caddy, nginx, traefik, w3c, alb, logpush\n"
	for args, want := range map[string]string{
		"picture":                        `picture: no line is in one of the known formats; the first is "\x89PNG xxx`,
		"good mail.log":                  `mail.log: no line is in one of the known formats; the first is "Nov 20 10:00:00 mail postfix/smtpd[42]: connect from a.example"` + formats,
		"-format w3c -robots r.txt good": `good: no line is in the format w3c; the first is "192.0.2.1 - - `,
		"-format iis good":               "-format iis: must be one of combined, caddy, nginx, traefik, w3c, alb, logpush\n",
	} {
		status, stdout, stderr := try(t, files, "", strings.Fields(args)...)
		if status != command.CannotTell || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, %q, standard error %q, want %q", args, status, stdout, stderr, want)
		}
	}
	for _, args := range []string{"-robots r.txt good", "-robots r.txt -format combined good"} {
		if status, _, stderr := try(t, files, "", strings.Fields(args)...); status != command.OK {
			t.Errorf("the example cannot be read: exit status %d, %s", status, stderr)
		}
	}
}

// A robot that the owner names is not judged, and a health check is no robot. A
// log without any User-Agent proves nothing of robots.
func TestAudit_WhoIsJudged(t *testing.T) {
	bad := func(agent string) string { return line("10:00:02", "/private/a", agent) }
	files := map[string]string{"r.txt": robotsTxt, "log": bad("MonitorBot/1.0") + bad("monitorbot/2.0") + bad("Backup/3") + line("10:00:00", "/a", "Good/1"),
		"checks": bad("kube-probe/1.33") + bad("ELB-HealthChecker/2.0") + bad("GoogleHC/1.0") + bad("Amazon-Route53-Health-Check-Service (ref 1; report http://amzn.to/1vsZADi)") +
			bad("Cloudflare-Healthchecks/1.0 (+https://www.cloudflare.com/; healthcheck-id: 1)") + bad("Consul Health Check") + bad("Envoy/HC") + bad("Edge Health Probe") + bad("Amazon CloudFront"),
		"nameless": bad("-") + bad(""), "nearly": bad("-") + line("10:00:00", "/a", "Mozilla/5.0 Firefox/145.0"), "both": bad("-") + bad("Bot/1")}
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
		args := append([]string{"-robots", "r.txt"}, strings.Fields(tt.args)...)
		if status, stdout, stderr := try(t, files, "", args...); status != tt.want || !strings.Contains(stdout, tt.text) {
			t.Errorf("%s: status %d, want %d, %s%s", tt.args, status, tt.want, stdout, stderr)
		}
		_, stdout, _ := try(t, files, "", append([]string{"-json"}, args...)...)
		if want := fmt.Sprintf(`"ignored":%d,`, tt.ignored); !strings.Contains(stdout, want) {
			t.Errorf("%s: %s is not in %s", tt.args, want, stdout)
		}
	}
}

// A long list is cut, and ends with the number of the missing entries.
func TestAudit_LongLists(t *testing.T) {
	var log strings.Builder
	for n := range maxRobots + 2 {
		fmt.Fprintf(&log, "h%d.example:80 %s", n%(maxHosts+3), line("10:00:03", "/private/x", fmt.Sprintf("Bot%d/1", n)))
	}
	_, stdout, stderr := try(t, map[string]string{"log": log.String()}, "", "log")
	for _, want := range []string{"\n… and 2 more robots; use -json to see all\n", "\n… and 3 more hosts; use -json to see all\n", "\n… and 3 more spans; use -json to see all\n"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("output lacks %q:\n%s%s", want, stdout, stderr)
		}
	}
}

func TestWhy(t *testing.T) {
	at := time.Date(2026, time.November, 20, 10, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		violation audit.Violation
		want      string
	}{
		{audit.Violation{Kind: "disallowed", Line: 2, Rule: "Disallow: /a"}, "line 2, Disallow: /a"},
		{audit.Violation{Kind: "disallowed"}, "robots.txt was a 5xx, which forbids everything"},
		{audit.Violation{Kind: "stale", Line: 2, Rule: "Disallow: /a", Previous: at, Gap: 72 * time.Hour},
			"line 2, Disallow: /a; robots.txt was last requested at 2026-11-20T10:00:00Z, 3.0 days before"},
		{audit.Violation{Kind: "gap", Line: 3, Previous: at, Gap: 1500 * time.Millisecond, Want: 10 * time.Second}, "1.5 s after the page at 2026-11-20T10:00:00Z; the Crawl-delay is 10 s (line 3)"},
		{audit.Violation{Kind: "retry-after", Previous: at, Gap: time.Minute, Want: 150 * time.Minute}, "60 s after the response at 2026-11-20T10:00:00Z with a Retry-After of 2.5 h"},
		{audit.Violation{Kind: "before-robots-txt"}, "before robots.txt was fetched"},
	} {
		if got := why(tt.violation); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.violation.Kind, got, tt.want)
		}
	}
}

// The page shows the violations and the number of broken lines. It escapes text
// from the log. For an empty log, its result is "Inconclusive."
func TestAudit_Page(t *testing.T) {
	var log strings.Builder
	log.WriteString(line("10:00:00", "/robots.txt", "Bot/1") + line("10:00:01", "/a", "Bot/1") + line("10:00:02", "/private/<script>", "Bot/1"))
	for i := range 3 {
		fmt.Fprintf(&log, "h%d.example:80 %s", i, line("10:00:03", "/private/x", "Other/1"))
	}
	files := map[string]string{"r.txt": robotsTxt + "Crawl-delay: 10\n", "log": log.String() + "words\n"}
	status, _, stderr := try(t, files, "", "-robots", "r.txt", "-html", "page.html", "log")
	text, err := os.ReadFile("page.html")
	if status != command.No || err != nil {
		t.Fatalf("exit status %d, standard error %q, %v", status, stderr, err)
	}
	for _, want := range []string{"5 violations", "/private/&lt;script&gt;", "h2.example", "<h3>Bot</h3>", "1 s after the page at", "violations</title>", "1 broken line"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("page lacks %q", want)
		}
	}
	for _, want := range []string{"<dt>requests</dt><dd>6<", "<dt>robots</dt><dd>2<", "<dt>hosts</dt><dd>4<", "<dt>violations</dt><dd>5<", "<dt>broken line</dt><dd>1<"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("page lacks %q", want)
		}
	}
	if strings.Count(string(text), "<script") != 1 {
		t.Error("the page has a stranger's script")
	}
	if status, _, _ := try(t, map[string]string{"empty": ""}, "", "-html", "page.html", "empty"); status != command.CannotTell {
		t.Errorf("of nothing: exit status %d", status)
	}
	if text, err := os.ReadFile("page.html"); err != nil || !strings.Contains(string(text), "Inconclusive") {
		t.Errorf("of nothing: %v", err)
	}
	good := line("10:00:00", "/robots.txt", "Bot/1")
	if status, _, _ := try(t, map[string]string{"log": good + strings.Repeat("words\n", 30)}, "", "-html", "page.html", "log"); status != command.CannotTell {
		t.Errorf("of a log that cannot be read: exit status %d", status)
	}
	if text, err := os.ReadFile("page.html"); err != nil || !strings.Contains(string(text), "Inconclusive") || !strings.Contains(string(text), "That is 96.8 % of all.") {
		t.Errorf("of a log that cannot be read: %v\n%s", err, text)
	}
}

// The page has the times in which no robots.txt was known.
func TestAudit_PageOfUnauditedTimes(t *testing.T) {
	files := map[string]string{"log": line("10:00:01", "/a", "Bot/1") + line("10:00:05", "/b", "Bot/1")}
	if status, _, stderr := try(t, files, "", "-html", "page.html", "log"); status != command.CannotTell || stderr != "" {
		t.Errorf("exit status %d, standard error %q", status, stderr)
	}
	text, err := os.ReadFile("page.html")
	if want := "the site</th><td>2026-11-20T10:00:01Z</td><td>2026-11-20T10:00:05Z</td><td class=\"n\">2</td>"; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("the page does not have %s: %v", want, err)
	}
}

// A hostile server names another content coding in each answer of a WARC file,
// so each record has a problem of its own. The problems are counted, and no
// more than 10,000 of them are kept.
func TestBrokenLines_ManyProblems(t *testing.T) {
	var screen bytes.Buffer
	l := &brokenLines{w: &screen, seen: make(map[problem]*repeats)}
	for i := range maxProblems + 5000 {
		l.add("crawl.warc", i, fmt.Errorf("its Content-Encoding %d is not known here", i))
	}
	if len(l.seen) != maxProblems+1 || len(l.order) != maxProblems+1 {
		t.Errorf("%d problems are kept", len(l.seen))
	}
	if r := l.seen[problem{"crawl.warc", "other problems"}]; r == nil || r.times != 5000 {
		t.Errorf("%+v", r)
	}
	if n := bytes.Count(screen.Bytes(), []byte("\n")); n != maxProblems+maxReported {
		t.Errorf("%d lines are reported", n)
	}
}
