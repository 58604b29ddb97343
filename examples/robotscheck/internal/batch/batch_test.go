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

// maxLine is the maximum length of a line in these tests, in bytes.
const maxLine = 100_000

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run answers the questions of in, and returns the answers.
func run(t *testing.T, in io.Reader) (answers string, status command.Status, err error) {
	t.Helper()
	var out bytes.Buffer
	b := batch{cache: newRulesCache(1 << 20), maxLine: maxLine}
	status, err = b.run(t.Context(), in, bufio.NewWriter(&out))
	return out.String(), status, err
}

// robotsTxt returns a robots.txt that differs for each i.
func robotsTxt(i int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# file %d\nUser-agent: *\n", i)
	fmt.Fprintf(&b, "Disallow: /private/%d/\nAllow: /private/%d/*.html$\n", i, i)
	b.WriteString("\nUser-agent: ExampleBot\n")
	for j := range 10 {
		fmt.Fprintf(&b, "Disallow: /tmp/%d/%d/\n", i, j)
	}
	b.WriteString("Crawl-delay: 5\n\nSitemap: https://example.com/sitemap.xml\n")
	return b.String()
}

// randomQuestions returns n questions about 50 files, as JSON lines, and
// whether the parser allows each URL. If withoutEscapes is false, some URLs
// contain characters that JSON escapes.
func randomQuestions(tb testing.TB, n int, withoutEscapes bool) (lines string, allowed []bool) {
	tb.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	agents := []string{"ExampleBot", "OtherBot", "*"}
	dirs := []string{"tmp", "private", "public"}
	var b strings.Builder
	enc := cli.NewEncoder(&b)
	for range n {
		i := random.IntN(50)
		text := robotsTxt(i)
		agent := agents[random.IntN(len(agents))]
		dir := dirs[random.IntN(len(dirs))]
		url := fmt.Sprintf("https://example.com/%s/%d/%d/a.html?q=\"1\"", dir, i, random.IntN(10))
		if withoutEscapes || random.IntN(2) == 0 {
			url = strings.ReplaceAll(url, `"`, "")
		}
		q := map[string]string{"robots": text, "agent": agent, "url": url}
		if err := enc.Encode(q); err != nil {
			tb.Fatal(err)
		}
		allowed = append(allowed, robotstxt.Parse([]byte(text)).Rules(agent).Allowed(url))
	}
	return b.String(), allowed
}

// The answers are in the order of the questions and agree with the parser, even
// if the cache is too small for one file.
func TestBatch_Order(t *testing.T) {
	lines, allowed := randomQuestions(t, 1000, false)
	for _, tt := range []struct {
		name      string
		cacheSize int
		in        io.Reader
	}{
		{"a cache for all files", 64 << 20, strings.NewReader(lines)},
		{"a cache for one file", 10 << 10, strings.NewReader(lines)},
		{"a cache for no file", 1, strings.NewReader(lines)},
		{"an input in pieces", 64 << 20, iotest.HalfReader(strings.NewReader(lines))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			b := batch{cache: newRulesCache(tt.cacheSize), maxLine: maxLine}
			status, err := b.run(t.Context(), tt.in, bufio.NewWriter(&out))
			if status != command.No || err != nil {
				t.Errorf("run returned the status %d and the error %v; want %d and no error", status, err, command.No)
			}
			checkAnswers(t, lines, &out, allowed)
		})
	}
}

// checkAnswers compares the URLs and agents of the answers with those of the
// questions, and the verdicts with allowed.
func checkAnswers(t *testing.T, questions string, answers io.Reader, allowed []bool) {
	t.Helper()
	type message struct {
		URL, Agent string
		Allowed    bool
	}
	questionDecoder := json.NewDecoder(strings.NewReader(questions))
	answerDecoder := json.NewDecoder(answers)
	for i := range allowed {
		var want, got message
		if err := questionDecoder.Decode(&want); err != nil {
			t.Fatal(err)
		}
		want.Allowed = allowed[i]
		if err := answerDecoder.Decode(&got); err != nil {
			t.Fatalf("answer %d is not JSON: %v", i, err)
		}
		if got != want {
			t.Fatalf("answer %d is %+v, want %+v", i, got, want)
		}
	}
	if answerDecoder.More() {
		t.Error("there are more answers than questions")
	}
}

// A line of maxLine bytes is answered. A longer line causes an error, and the
// lines after it are answered, even if the input arrives byte by byte. White
// space at the ends of a line is part of its length.
func TestBatch_LongLines(t *testing.T) {
	const short = `{"robots":"","agent":"ExampleBot","url":"/"}`
	padded := func(n int) string { // a question of n bytes
		const begin = `{"robots":"",`
		const end = `"agent":"ExampleBot","url":"/"}`
		return begin + strings.Repeat(" ", n-len(begin)-len(end)) + end
	}
	const tooLong = `{"input_line":1,"error":"the line is longer than 100000 bytes"}`
	const answer = `{"url":"/","agent":"ExampleBot","allowed":true,"reason":"no-group"}`
	for _, tt := range []struct{ name, in, want string }{
		{"a byte less", padded(maxLine-1) + "\n" + short + "\n", answer + "\n" + answer},
		{"the maximum", padded(maxLine) + "\n" + short + "\n", answer + "\n" + answer},
		{"the maximum without a newline", padded(maxLine), answer},
		{"the maximum with CR LF", padded(maxLine-1) + "\r\n" + short + "\r\n", answer + "\n" + answer},
		{"a byte more", padded(maxLine+1) + "\n" + short + "\n", tooLong + "\n" + answer},
		{"a byte more without a newline", padded(maxLine + 1), tooLong},
		{"a space more", padded(maxLine) + " \n" + short + "\n", tooLong + "\n" + answer},
		{"text after the maximum", padded(maxLine) + " and more\n" + short, tooLong + "\n" + answer},
	} {
		for readerName, in := range map[string]io.Reader{
			"whole":        strings.NewReader(tt.in),
			"in halves":    iotest.HalfReader(strings.NewReader(tt.in)),
			"byte by byte": iotest.OneByteReader(strings.NewReader(tt.in)),
		} {
			if got, _, _ := run(t, in); got != tt.want+"\n" {
				t.Errorf("%s, read %s: answers are %.300s\nwant %s", tt.name, readerName, got, tt.want)
			}
		}
	}
}

// If a line cannot be answered, the output contains an error instead of a
// verdict. The other lines are answered.
func TestBatch_BadLines(t *testing.T) {
	const good = `{"robots":"","agent":"ExampleBot","url":"/"}`
	const notStrings = `"not a JSON object of strings"`
	const notString = `"\"robots\" or \"file\" is not a JSON string"`
	for _, tt := range []struct{ name, line, want string }{
		{
			"a long line",
			`{"robots":"` + strings.Repeat("x", 2*maxLine) + `","agent":"ExampleBot","url":"/"}`,
			"longer than",
		},
		{
			"invalid UTF-8", "{\"robots\":\"\",\"agent\":\"ExampleBot\",\"url\":\"/\xff\"}",
			`"the line is not valid UTF-8"`,
		},
		{
			"a control character", "{\"robots\":\"\x01\",\"agent\":\"ExampleBot\",\"url\":\"/\"}",
			notString,
		},
		{"a bad escape", `{"robots":"\q","agent":"ExampleBot","url":"/"}`, notString},
		{"an array of robots", `{"robots":["a"],"agent":"ExampleBot","url":"/"}`, notString},
		{"null for robots", `{"robots":null,"agent":"ExampleBot","url":"/"}`, notString},
		{
			"no robots", `{"agent":"ExampleBot","url":"/"}`,
			`"missing \"robots\", the text of a robots.txt, or \"file\", its path"`,
		},
		{
			"robots and a file", `{"robots":"","file":"robots.txt","agent":"ExampleBot","url":"/"}`,
			`"\"robots\" and \"file\" are both present; use only one"`,
		},
		{"a missing file", `{"file":"nosuch.txt","agent":"ExampleBot","url":"/"}`, "no such file"},
		{
			"an empty agent", `{"robots":"","agent":"","url":"/"}`,
			`"missing \"agent\", the product token of the robot"`,
		},
		{"an array", "[]", notStrings},
		{"a number for the URL", `{"robots":"","agent":"ExampleBot","url":1}`, notStrings},
		{"an empty URL", `{"robots":"","agent":"ExampleBot","url":""}`, `"missing \"url\""`},
		{"two objects", `{"robots":"","agent":"ExampleBot","url":"/"}{}`, "not a JSON object"},
		{"a truncated object", `{"robots":"","agent":"Example`, "not a JSON object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := good + "\n\n" + tt.line + "\n" + good + "\n"
			out, _, err := run(t, strings.NewReader(in))
			if want := "1 line could not be answered"; err == nil || err.Error() != want {
				t.Errorf("run returned the error %v, want %q", err, want)
			}
			answers := strings.Split(out, "\n")
			if len(answers) != 4 || answers[0] != answers[2] {
				t.Fatalf("answers are %q, want 3, of which the first and the last are the same", answers)
			}
			if !strings.HasPrefix(answers[1], `{"input_line":3,"error":"`) {
				t.Errorf("second answer is %s, want an error for line 3", answers[1])
			}
			if !strings.Contains(answers[1], tt.want) {
				t.Errorf("second answer is %s, want it to contain %s", answers[1], tt.want)
			}
		})
	}
}

// A URL is disallowed if servers may treat it as another, disallowed URL.
func TestBatch_Resolved(t *testing.T) {
	const in = `{"robots":"User-agent: *\nDisallow: /private/\n","agent":"ExampleBot",` +
		`"url":"https://example.com//private/"}`
	const want = `{"url":"https://example.com//private/","agent":"ExampleBot","allowed":false,` +
		`"reason":"rule","rule":"Disallow: /private/","line":2,"resolved":"/private/"}` + "\n"
	got, status, err := run(t, strings.NewReader(in))
	if status != command.No || err != nil {
		t.Errorf("run returned the status %d and the error %v; want %d and no error", status, err, command.No)
	}
	if got != want {
		t.Errorf("answer is %s, want %s", got, want)
	}
}

// An answer does not wait for later questions.
func TestBatch_Interactive(t *testing.T) {
	in, questions := io.Pipe()
	answers, out := io.Pipe()
	done := make(chan error)
	go func() {
		b := batch{cache: newRulesCache(1 << 20), maxLine: maxLine}
		_, err := b.run(t.Context(), in, bufio.NewWriter(out))
		done <- err
	}()
	read := bufio.NewReader(answers)
	for range 3 {
		io.WriteString(questions, `{"robots":"","agent":"ExampleBot","url":"/"}`+"\n")
		if line, err := read.ReadString('\n'); err != nil || !strings.Contains(line, "true") {
			t.Fatalf("answer is %q, error %v; want one that contains true", line, err)
		}
	}
	questions.Close()
	if err := <-done; err != nil {
		t.Errorf("run returned the error %v, want none", err)
	}
}

// The size of the files and rules in a cache exceeds its maximum by at most a
// tenth.
func TestRulesCache_IsBounded(t *testing.T) {
	const maxSize = 1 << 20
	c := newRulesCache(maxSize)
	for i := range 10000 {
		file := i % 5000
		text, err := json.Marshal(fmt.Sprintf("# %d\nUser-agent: *\nDisallow: /%d\n", file, file))
		if err != nil {
			t.Fatal(err)
		}
		q := question{robots: text[1 : len(text)-1], agent: fmt.Sprintf("Bot%d", i%7)}
		rules, err := c.rulesFor(&q)
		if err != nil {
			t.Fatal(err)
		}
		if rules.Allowed(fmt.Sprintf("/%d", file)) {
			t.Fatalf("question %d got the rules of another file", i)
		}
		if i%100 > 0 {
			continue
		}
		size := 0
		for key, rules := range c.entries {
			size += len(key.robots) + len(key.agent) + rules.Size() + entryOverhead
		}
		if size > maxSize+maxSize/10 {
			t.Fatalf("after %d questions, the cache has %d bytes, want at most %d", i, size, maxSize+maxSize/10)
		}
	}
}

// If scan accepts a line, it returns the same question as decode.
func FuzzScan(f *testing.F) {
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
		var scanned, decoded question
		isTrimmed := line == strings.TrimSpace(line)
		if !isTrimmed || !utf8.ValidString(line) || !scanned.scan([]byte(line)) {
			return
		}
		isPath := scanned.isPath
		scanned.isPath = false // so that text does not read the file
		text, textErr := scanned.text()
		if err := decoded.decode([]byte(line)); err != nil {
			if textErr == nil && json.Valid([]byte(line)) {
				t.Fatalf("scan accepted %q, want a rejection as by decode, which returned the error %v", line, err)
			}
			return
		}
		if decoded.isPath != isPath {
			t.Fatalf("isPath of %q is %t, want %t as decode returned", line, isPath, decoded.isPath)
		}
		decoded.isPath = false
		want, err := decoded.text()
		if err != nil && textErr == nil {
			t.Fatalf("text of %q is %q, want the error of decode, %v", line, text, err)
		}
		isSame := scanned.agent == decoded.agent && scanned.url == decoded.url
		if !isSame || string(text) != string(want) {
			t.Fatalf("scan of %q = %+v, want %+v as decode returned", line, scanned, decoded)
		}
	})
}

// BenchmarkBatch measures how many questions a batch answers per second and,
// for comparison, how many the parser alone answers from memory, on all cores.
// If the cache contains the rules, a batch spends nearly all its time on
// reading the lines.
func BenchmarkBatch(b *testing.B) {
	lines, allowed := randomQuestions(b, 100_000, true)
	var questions []question
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
		questions = append(questions, q)
		files = append(files, string(text))
	}
	parse := func(i int) *robotstxt.Rules {
		return robotstxt.Parse([]byte(files[i])).Rules(questions[i].agent)
	}
	parsed := parseOnce(questions, files)
	for _, bench := range []struct {
		name      string
		cacheSize int
		rules     func(i int) *robotstxt.Rules // for question i
	}{
		{"kept", 64 << 20, func(i int) *robotstxt.Rules { return parsed[i] }},
		{"parsed-anew", 1, parse},
	} {
		b.Run(bench.name, func(b *testing.B) {
			var batchTime, parserTime time.Duration
			for b.Loop() {
				start := time.Now()
				batch := batch{cache: newRulesCache(bench.cacheSize), maxLine: maxLine}
				in := strings.NewReader(lines)
				if _, err := batch.run(b.Context(), in, bufio.NewWriter(io.Discard)); err != nil {
					b.Fatal(err)
				}
				batchTime += time.Since(start)

				parserTime += onAllCores(len(questions), func(i int) {
					if got := bench.rules(i).Allowed(questions[i].url); got != allowed[i] {
						b.Errorf("verdict %d is %t, want %t", i, got, allowed[i])
					}
				})
			}
			n := float64(len(questions) * b.N)
			b.ReportMetric(n/batchTime.Seconds(), "verdicts/s")
			b.ReportMetric(n/parserTime.Seconds(), "parser-verdicts/s")
		})
	}
}

// parseOnce returns the rules for each question. It parses each file only once
// for each agent.
func parseOnce(questions []question, files []string) []*robotstxt.Rules {
	type key struct{ file, agent string }
	cache := make(map[key]*robotstxt.Rules)
	rules := make([]*robotstxt.Rules, len(questions))
	for i, q := range questions {
		k := key{files[i], q.agent}
		if cache[k] == nil {
			cache[k] = robotstxt.Parse([]byte(files[i])).Rules(q.agent)
		}
		rules[i] = cache[k]
	}
	return rules
}

// onAllCores calls f for each index below n, on all cores in parallel, and
// returns how long that took.
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
