package frontier

import (
	"bytes"
	"testing"
)

// The tests in package frontier_test use these.
const JournalName = journalName

func (q *Queue) CloseJournal() { q.journal.file.Close() }

// readJournal does not panic on any journal. If what follows the first damaged
// line is cut off, it reads the same again.
func FuzzJournal(f *testing.F) {
	for _, seed := range []string{
		`{"add":[{"url":"http://a.example/","puts":1},{"url":"http://b.example/","from":"http://a.example/"}]}` + "\n" +
			`{"done":"http://a.example/","next":"2026-11-21T12:00:01Z","interval":1}` + "\n",
		`{"add":[{"url":"//a"}]}` + "\n" + `{"put":"//a","puts":2,"next":"2026-11-21T12:10:00Z"}` + "\n" + `{"done":"//a","free":true}`,
		`{"add":[{"url":"//a/%41"},{"url":"//a/A"},{"url":"HTTP://a"},{"url":"http://a"}]}` + "\n",
		`{"add":[{},{"url":"http://:80/"}]}` + "\n" + `{"done":"http://:80/"}` + "\n",
		`{"add":[null]}` + "\n",
		`{"put":"","next":"2026-11-21T12:00:00Z"}` + "\n{",
	} {
		f.Add([]byte(`{"version":1,"crawl":{}}` + "\n" + seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		first, good, err := replayBytes(data)
		if err != nil {
			return
		}
		second, again, err := replayBytes(data[:good])
		if err != nil || again != good {
			t.Fatalf("%v after %d bytes of the %d that were read", err, again, good)
		}
		if a, b := len(first.queued), len(second.queued); a != b || first.state.Spent != second.state.Spent || len(first.seen) != len(second.seen) {
			t.Errorf("%d pages, then %d; %d spent, then %d; %d seen, then %d",
				a, b, first.state.Spent, second.state.Spent, len(first.seen), len(second.seen))
		}
	})
}

func replayBytes(journal []byte) (*replay, int64, error) {
	r := &replay{
		Queue:  NewQueue(Limits{Pages: 1000}),
		queued: make(map[string]*Page),
		rests:  make(map[string]line),
	}
	good, err := readJournal(bytes.NewReader(journal), r.line)
	return r, good, err
}
