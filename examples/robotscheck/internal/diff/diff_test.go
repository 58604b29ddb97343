package diff

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// If a file is not meant for robots, or robots read only a part of it, the
// output begins with the reason, whether a verdict changes or not.
func TestDiff_Doubtful(t *testing.T) {
	writeFiles(t)
	const (
		isHTML  = "doubtful: html.txt: the file is an HTML page; robots.txt must be plain text\n"
		isUTF16 = "doubtful: u16.txt: the file is in UTF-16; robots expect UTF-8\n"
		isLong  = "doubtful: long.txt: the file has 512027 bytes, of which only 511999 are parsed: " +
			"line 255989 and all later lines are ignored\n"
		opened = "/a: disallowed -> allowed for *\n" +
			"    old: line 2: Disallow: /a\n" +
			"    new: no group is for it\n"
	)
	for _, tt := range []struct {
		args, stdout string
		want         command.Status
	}{
		{"good.txt good.txt", "", command.OK},
		{"good.txt none.txt", opened, command.No},
		{"good.txt html.txt", isHTML + opened, command.Doubtful},
		{"good.txt png.txt", "doubtful: png.txt: the file is not text\n" + opened, command.Doubtful},
		{"u16.txt html.txt", isUTF16 + isHTML, command.Doubtful},
		{"long.txt good.txt", isLong, command.Doubtful},
		{
			"-json good.txt html.txt",
			`{"source":"html.txt","doubt":"the file is an HTML page; robots.txt must be plain text"}` + "\n" +
				`{"url":"/a","agents":["*"],` +
				`"old":{"allowed":false,"reason":"rule","rule":"Disallow: /a","line":2},` +
				`"new":{"allowed":true,"reason":"no-group"}}` + "\n",
			command.Doubtful,
		},
	} {
		checkDiff(t, tt.args, tt.stdout, tt.want)
	}
}

// The draft of 1996 uses the first matching rule, and has no wildcards.
func TestDiff_Dialects(t *testing.T) {
	writeFiles(t)
	for args, stdout := range map[string]string{
		"good.txt first.txt": "/a: disallowed -> allowed for *\n" +
			"    old: line 2: Disallow: /a\n" +
			"    new: line 3: Allow: /a\n" +
			"    1996 draft: disallowed -> disallowed for *\n",
		"first.txt wild.txt": "/a: allowed -> disallowed for *\n" +
			"    old: line 3: Allow: /a\n" +
			"    new: line 2: Disallow: /*a$\n" +
			"    1996 draft: disallowed -> allowed for *\n",
		"-json good.txt first.txt": `{"url":"/a","agents":["*"],` +
			`"old":{"allowed":false,"reason":"rule","rule":"Disallow: /a","line":2},` +
			`"new":{"allowed":true,"reason":"rule","rule":"Allow: /a","line":3},` +
			`"dialects":{"koster1996":[{"agents":["*"],` +
			`"old":{"allowed":false,"reason":"rule","rule":"Disallow: /a","line":2},` +
			`"new":{"allowed":false,"reason":"rule","rule":"Disallow: /","line":2}}]}}` + "\n",
	} {
		checkDiff(t, args, stdout, command.No)
	}
}

// writeFiles writes robots.txt files, and urls.txt with the path /a, into a new
// directory, which becomes the current directory.
func writeFiles(t *testing.T) {
	t.Helper()
	const rules = "User-agent: *\nDisallow: /a\n"
	dir := t.TempDir()
	for name, text := range map[string]string{
		"urls.txt":  "/a\n",
		"good.txt":  rules,
		"none.txt":  "",
		"first.txt": "User-agent: *\nDisallow: /\nAllow: /a\n",
		"wild.txt":  "User-agent: *\nDisallow: /*a$\n",
		"html.txt":  "<!DOCTYPE html>\n<title>Welcome</title>\n",
		"png.txt":   "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x01",
		"u16.txt":   "\xff\xfeU\x00s\x00e\x00r\x00",
		"long.txt":  rules + strings.Repeat("#\n", robotstxt.MaxSize/2),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

func checkDiff(t *testing.T, args, wantStdout string, want command.Status) {
	t.Helper()
	var stdout, stderr strings.Builder
	e := command.Env{
		Stdin:  strings.NewReader(""),
		Stdout: bufio.NewWriter(&stdout),
		Stderr: &stderr,
	}
	status := Command.Run(t.Context(), e, append(strings.Fields(args), "-urls", "urls.txt"))
	e.Stdout.Flush()
	if status != want {
		t.Errorf("%s: exit status %d, want %d; standard error:\n%s", args, status, want, stderr.String())
	}
	if stdout.String() != wantStdout {
		t.Errorf("%s: standard output is\n%swant\n%s", args, stdout.String(), wantStdout)
	}
}
