package keep

import "testing"

func TestShellWord(t *testing.T) {
	for word, want := range map[string]string{
		"/tmp/crawl-1_a.b": "/tmp/crawl-1_a.b",
		"my crawl":         "'my crawl'",
		"it's":             `'it'\''s'`,
		"":                 "''",
	} {
		if got := shellWord(word); got != want {
			t.Errorf("shellWord(%q) = %s, want %s", word, got, want)
		}
	}
}
