package batch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// maxLine is how many bytes a line has at most in these tests.
const maxLine = 100_000

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// questions returns n questions about 50 files, as JSON lines. It also
// returns the parser's answer to each question. If plain is false, some URLs
// have characters that JSON escapes.
func questions(tb testing.TB, n int, plain bool) (lines string, allowed []bool) {
	tb.Helper()
	var robots []string
	for i := range 50 {
		text := fmt.Sprintf("# file %d\nUser-agent: *\nDisallow: /private/%d/\nAllow: /private/%d/*.html$\n\nUser-agent: ExampleBot\n", i, i, i)
		for j := range 10 {
			text += fmt.Sprintf("Disallow: /tmp/%d/%d/\n", i, j)
		}
		robots = append(robots, text+"Crawl-delay: 5\n\nSitemap: https://example.com/sitemap.xml\n")
	}
	random := rand.New(rand.NewPCG(1, 2))
	agents := []string{"ExampleBot", "OtherBot", "*"}
	var b strings.Builder
	enc := cli.NewEncoder(&b)
	for range n {
		i := random.IntN(len(robots))
		q := struct {
			Robots string `json:"robots"`
			Agent  string `json:"agent"`
			URL    string `json:"url"`
		}{robots[i], agents[random.IntN(len(agents))], fmt.Sprintf("https://example.com/%s/%d/%d/a.html?q=\"1\"", []string{"tmp", "private", "public"}[random.IntN(3)], i, random.IntN(10))}
		if plain || random.IntN(2) == 0 {
			q.URL = strings.ReplaceAll(q.URL, `"`, "")
		}
		if err := enc.Encode(q); err != nil {
			tb.Fatal(err)
		}
		allowed = append(allowed, robotstxt.Parse([]byte(q.Robots)).Rules(q.Agent).Allowed(q.URL))
	}
	return b.String(), allowed
}

// The answers come in the order of the questions and agree with the parser,
// even if the cache can keep nothing.
func TestBatch_AnswersInOrder(t *testing.T) {
	lines, want := questions(t, 1000, false)
	for _, tt := range []struct {
		name  string
		cache int
		in    io.Reader
	}{
		{"kept", 64 << 20, strings.NewReader(lines)},
		{"one file kept", 10 << 10, strings.NewReader(lines)},
		{"nothing kept", 1, strings.NewReader(lines)},
		{"read in pieces", 64 << 20, iotest.HalfReader(strings.NewReader(lines))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			b := batch{cache: newRulesCache(tt.cache), maxLine: maxLine}
			status, err := b.run(t.Context(), tt.in, bufio.NewWriter(&out))
			if status != command.No || err != nil {
				t.Errorf("status %d, %v", status, err)
			}
			asked, answered := json.NewDecoder(strings.NewReader(lines)), json.NewDecoder(&out)
			for i, want := range want {
				var q, a struct {
					URL, Agent, Error string
					Allowed           bool
				}
				if err := asked.Decode(&q); err != nil {
					t.Fatal(err)
				}
				if err := answered.Decode(&a); err != nil {
					t.Fatalf("answer %d: %v", i, err)
				}
				if a.URL != q.URL || a.Agent != q.Agent || a.Allowed != want {
					t.Fatalf("answer %d is %+v, want %s for %s allowed %t", i, a, q.URL, q.Agent, want)
				}
			}
			if answered.More() {
				t.Error("there are more answers than questions")
			}
		})
	}
}

// A line of maxLine bytes is answered. A longer line gets an error, and the
// lines after it are answered. The input may come byte by byte. White space at
// the ends of a line is part of its length.
func TestBatch_LongLines(t *testing.T) {
	const short = `{"robots":"","agent":"ExampleBot","url":"/"}`
	padded := func(n int) string { // a question of n bytes
		const begin, end = `{"robots":"",`, `"agent":"ExampleBot","url":"/"}`
		return begin + strings.Repeat(" ", n-len(begin)-len(end)) + end
	}
	const tooLong = `{"input_line":1,"error":"the line is longer than 100000 bytes"}`
	const answer = `{"url":"/","agent":"ExampleBot","allowed":true,"reason":"no-group"}`
	for _, tt := range []struct{ name, in, want string }{
		{"a byte less", padded(maxLine-1) + "\n" + short + "\n", answer + "\n" + answer},
		{"as long as it may be", padded(maxLine) + "\n" + short + "\n", answer + "\n" + answer},
		{"without a newline at the end", padded(maxLine), answer},
		{"with CR LF", padded(maxLine-1) + "\r\n" + short + "\r\n", answer + "\n" + answer},
		{"a byte more", padded(maxLine+1) + "\n" + short + "\n", tooLong + "\n" + answer},
		{"a byte more, without a newline", padded(maxLine + 1), tooLong},
		{"a space more", padded(maxLine) + " \n" + short + "\n", tooLong + "\n" + answer},
		{"text after what may be read", padded(maxLine) + " and more\n" + short, tooLong + "\n" + answer},
	} {
		for _, in := range []io.Reader{strings.NewReader(tt.in), iotest.HalfReader(strings.NewReader(tt.in)), iotest.OneByteReader(strings.NewReader(tt.in))} {
			var out bytes.Buffer
			b := batch{cache: newRulesCache(1 << 20), maxLine: maxLine}
			b.run(t.Context(), in, bufio.NewWriter(&out))
			if out.String() != tt.want+"\n" {
				t.Errorf("%s: %.300s\nwant %s", tt.name, out.String(), tt.want)
			}
		}
	}
}

// A line that cannot be answered gets an error in place of a verdict. The other
// lines are answered.
func TestBatch_BadLines(t *testing.T) {
	const good = `{"robots":"","agent":"ExampleBot","url":"/"}` + "\n"
	long := `{"robots":"` + strings.Repeat("x", 2*maxLine) + `","agent":"ExampleBot","url":"/"}` + "\n"
	for _, tt := range []struct{ name, line, want string }{
		{"long", long, "longer than"},
		{"not UTF-8", "{\"robots\":\"\",\"agent\":\"ExampleBot\",\"url\":\"/\xff\"}\n", "the line is not UTF-8\""},
		{"control character", "{\"robots\":\"\x01\",\"agent\":\"ExampleBot\",\"url\":\"/\"}\n", `"\"robots\" or \"file\" is not a JSON string"`},
		{"bad escape", `{"robots":"\q","agent":"ExampleBot","url":"/"}` + "\n", "is not a JSON string"},
		{"no string", `{"robots":["a"],"agent":"ExampleBot","url":"/"}` + "\n", "not a JSON string"},
		{"null", `{"robots":null,"agent":"ExampleBot","url":"/"}` + "\n", "is not a JSON string"},
		{"no robots", `{"agent":"ExampleBot","url":"/"}` + "\n", `"missing \"robots\", the text of a robots.txt, or \"file\", its path"`},
		{"two files", `{"robots":"","file":"robots.txt","agent":"ExampleBot","url":"/"}` + "\n", `"\"robots\" and \"file\" are both present; use only one"`},
		{"no file", `{"file":"nosuch.txt","agent":"ExampleBot","url":"/"}` + "\n", "no such file"},
		{"no agent", `{"robots":"","agent":"","url":"/"}` + "\n", `"missing \"agent\", the product token of the robot"`},
		{"no object", "[]\n", "not a JSON object of strings\""},
		{"no string for the URL", `{"robots":"","agent":"ExampleBot","url":1}` + "\n", "not a JSON object of strings\""},
		{"no URL", `{"robots":"","agent":"ExampleBot","url":""}` + "\n", `"missing \"url\""`},
		{"two objects", `{"robots":"","agent":"ExampleBot","url":"/"}{}` + "\n", "not a JSON object"},
		{"cut", `{"robots":"","agent":"Example`, "not a JSON object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			b := batch{cache: newRulesCache(1 << 20), maxLine: maxLine}
			in := good + "\n" + strings.TrimSuffix(tt.line, "\n") + "\n" + good
			if _, err := b.run(t.Context(), strings.NewReader(in), bufio.NewWriter(&out)); err == nil || !strings.HasPrefix(err.Error(), "1 line could not") {
				t.Errorf("the error is %v", err)
			}
			answers := strings.Split(out.String(), "\n")
			if len(answers) != 4 || answers[0] != answers[2] || !strings.HasPrefix(answers[1], `{"input_line":3,"error":"`) || !strings.Contains(answers[1], tt.want) {
				t.Errorf("the answers are %q, want %q in the second", answers, tt.want)
			}
		})
	}
}

// A URL is disallowed if servers may take it for a disallowed URL.
func TestBatch_OtherNames(t *testing.T) {
	in := `{"robots":"User-agent: *\nDisallow: /private/\n","agent":"ExampleBot","url":"https://example.com//private/"}`
	want := `{"url":"https://example.com//private/","agent":"ExampleBot","allowed":false,"reason":"rule","rule":"Disallow: /private/","line":2,"resolved":"/private/"}` + "\n"
	var out bytes.Buffer
	b := batch{cache: newRulesCache(1 << 20), maxLine: maxLine}
	if status, err := b.run(t.Context(), strings.NewReader(in), bufio.NewWriter(&out)); status != command.No || err != nil || out.String() != want {
		t.Errorf("status %v, error %v, answer %s", status, err, out.String())
	}
}

// An answer does not wait for later questions.
func TestBatch_Interactive(t *testing.T) {
	in, ask := io.Pipe()
	answers, out := io.Pipe()
	done := make(chan error)
	go func() {
		b := batch{cache: newRulesCache(1 << 20), maxLine: maxLine}
		_, err := b.run(t.Context(), in, bufio.NewWriter(out))
		done <- err
	}()
	read := bufio.NewReader(answers)
	for range 3 {
		io.WriteString(ask, `{"robots":"","agent":"ExampleBot","url":"/"}`+"\n")
		if line, err := read.ReadString('\n'); err != nil || !strings.Contains(line, "true") {
			t.Fatalf("%q, %v", line, err)
		}
	}
	ask.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// The files and rules in a cache exceed its limit by at most a tenth.
func TestRulesCache_IsBounded(t *testing.T) {
	const limit = 1 << 20
	c := newRulesCache(limit)
	for i := range 10000 {
		text, err := json.Marshal(fmt.Sprintf("# %d\nUser-agent: *\nDisallow: /%d\n", i%5000, i%5000))
		if err != nil {
			t.Fatal(err)
		}
		q := question{robots: text[1 : len(text)-1], agent: fmt.Sprintf("Bot%d", i%7)}
		rules, err := c.rulesFor(&q)
		if err != nil {
			t.Fatal(err)
		}
		if rules.Allowed(fmt.Sprintf("/%d", i%5000)) {
			t.Fatalf("question %d got the rules of another", i)
		}
		if i%100 > 0 {
			continue
		}
		size := 0
		for key, rules := range c.kept {
			size += len(key.robots) + len(key.agent) + rules.Size() + perEntry
		}
		if size > limit+limit/10 {
			t.Fatalf("after %d questions %d bytes are kept", i, size)
		}
	}
}

// If scan accepts a line, it reads the same question as encoding/json does.
func FuzzQuestion(f *testing.F) {
	for _, line := range []string{
		`{"robots":"User-agent: *\nDisallow: /\"a\\","agent":"ExampleBot","url":"/a"}`,
		`{ "url" : "/a" , "agent":"a","file":"x"}`,
		`{"robots":"\\\\","agent":"a","url":"/","url":"/b"}`,
		`{"robots":"\u0041\/\b\f\n\r\t","agent":"a","url":"/"}`,
		`{"robots":"\x","agent":"a","url":"/"}`,
		`{"robots":"a"},"agent":"a","url":"/"}`,
		"{\"robots\":\"\t\",\"agent\":\"\\u0041\",\"url\":\"/\"}",
		"{\"robots\":\"\",\"agent\":\"\xe2\",\"url\":\"/caf\xe9\"}", // not UTF-8
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		var fast, slow question
		if !utf8.ValidString(line) || line != strings.TrimSpace(line) || !fast.scan([]byte(line)) {
			return
		}
		isPath := fast.isPath
		fast.isPath = false // or text would read the file
		robots, robotsErr := fast.text()
		if err := slow.decode([]byte(line)); err != nil {
			if robotsErr == nil && json.Valid([]byte(line)) {
				t.Fatalf("%q: scan took it, but %v", line, err)
			}
			return
		}
		if slow.isPath != isPath {
			t.Fatalf("%q: scan found a path: %t", line, isPath)
		}
		slow.isPath = false
		slowRobots, err := slow.text()
		if err != nil && robotsErr == nil {
			t.Fatalf("%q: text() took the robots.txt, but %v", line, err)
		}
		if string(robots) != string(slowRobots) || fast.agent != slow.agent || fast.url != slow.url {
			t.Fatalf("%q: scan %+v, encoding/json %+v", line, fast, slow)
		}
	})
}

// BenchmarkBatch measures how many questions a batch answers in a second. After
// each batch, the benchmark measures the limit: how fast the parser alone
// answers the same questions from memory, on all cores. If the cache keeps the
// rules, a batch spends nearly all its time on reading the lines.
func BenchmarkBatch(b *testing.B) {
	lines, allowed := questions(b, 100_000, true)
	var asked []question
	var files []string
	for line := range strings.Lines(lines) {
		var q question
		if err := q.decode([]byte(line)); err != nil {
			b.Fatal(err)
		}
		text, err := q.text()
		if err != nil {
			b.Fatal(err)
		}
		asked, files = append(asked, q), append(files, string(text))
	}
	for _, bench := range []struct {
		name  string
		cache int
	}{{"kept", 64 << 20}, {"parsed-anew", 1}} {
		b.Run(bench.name, func(b *testing.B) {
			kept := make([]*robotstxt.Rules, len(asked)) // nil if the cache can keep no rules
			rules := make(map[string]*robotstxt.Rules)   // by file and agent
			for i, q := range asked {
				if bench.cache == 1 {
					break
				}
				key := files[i] + q.agent
				if rules[key] == nil {
					rules[key] = robotstxt.Parse([]byte(files[i])).Rules(q.agent)
				}
				kept[i] = rules[key]
			}
			var ours, limit time.Duration
			for b.Loop() {
				start := time.Now()
				batch := batch{cache: newRulesCache(bench.cache), maxLine: maxLine}
				if _, err := batch.run(b.Context(), strings.NewReader(lines), bufio.NewWriter(io.Discard)); err != nil {
					b.Fatal(err)
				}
				ours += time.Since(start)

				limit += onAllCores(len(asked), func(i int) {
					r := kept[i]
					if r == nil {
						r = robotstxt.Parse([]byte(files[i])).Rules(asked[i].agent)
					}
					if r.Allowed(asked[i].url) != allowed[i] {
						b.Error("wrong answer")
					}
				})
			}
			n := float64(len(asked) * b.N)
			b.ReportMetric(n/ours.Seconds(), "verdicts/s")
			b.ReportMetric(n/limit.Seconds(), "parser-verdicts/s")
		})
	}
}

// onAllCores calls f for each index below n, on all cores at once. It returns
// how long that took: how fast the command could be at best.
func onAllCores(n int, f func(i int)) time.Duration {
	start := time.Now()
	cores := runtime.GOMAXPROCS(0)
	var workers sync.WaitGroup
	for worker := range cores {
		workers.Go(func() {
			for i := worker; i < n; i += cores {
				f(i)
			}
		})
	}
	workers.Wait()
	return time.Since(start)
}
