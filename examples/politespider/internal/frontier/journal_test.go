package frontier

import (
	"bytes"
	"strings"
	"testing"
)

// JournalName and CloseJournal are for the tests in package frontier_test.
const JournalName = journalName

func (q *Queue) CloseJournal() { q.journal.file.Close() }

// readJournal does not panic on any journal. If the first damaged line and the
// lines after it are cut off, the journal has the same content as before.
func FuzzJournal(f *testing.F) {
	const header = `{"version":1,"crawl":{}}`
	for _, lines := range [][]string{
		{
			`{"add":[{"url":"http://a.example/","puts":1},{"url":"http://b.example/","from":"http://a.example/"}]}`,
			`{"done":"http://a.example/","next":"2026-11-21T12:00:01Z","interval":1}`,
			``,
		},
		{
			`{"add":[{"url":"//a"}]}`,
			`{"put":"//a","puts":2,"next":"2026-11-21T12:10:00Z"}`,
			`{"done":"//a","free":true}`,
		},
		{`{"add":[{"url":"//a/%41"},{"url":"//a/A"},{"url":"HTTP://a"},{"url":"http://a"}]}`, ``},
		{`{"add":[{},{"url":"http://:80/"}]}`, `{"done":"http://:80/"}`, ``},
		{`{"add":[null]}`, ``},
		{`{"put":"","next":"2026-11-21T12:00:00Z"}`, `{`},
	} {
		f.Add([]byte(header + "\n" + strings.Join(lines, "\n")))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		first, good, err := replayBytes(data)
		if err != nil {
			return
		}
		second, again, err := replayBytes(data[:good])
		if err != nil || again != good {
			t.Fatalf("reading only the %d good bytes of a journal: %d of them are good, error %v; want all and no error", good, again, err)
		}
		for name, values := range map[string][2]int{
			"queued": {len(first.queued), len(second.queued)},
			"spent":  {first.state.Spent, second.state.Spent},
			"seen":   {len(first.seen), len(second.seen)},
		} {
			if values[0] != values[1] {
				t.Errorf("%s: %d pages in the whole journal, %d in its good part; want equal numbers", name, values[0], values[1])
			}
		}
	})
}

func replayBytes(journal []byte) (*replay, int64, error) {
	r := &replay{
		Queue:  NewQueue(Limits{Pages: 1000}),
		queued: make(map[string]*Page),
		paces:  make(map[string]hostPace),
	}
	good, err := readJournal(bytes.NewReader(journal), r.line)
	return r, good, err
}
