// Package evidence writes a record of a crawl that a third party can check. The
// record has each robots.txt that the crawl saw, byte for byte. It also has the
// decisions, and what each request waited for. With a record, the operator of a
// crawler can answer a complaint by showing what happened, and an archive can
// keep each robots.txt as the crawl saw it.
//
//	rec, err := evidence.Open("record", evidence.Options{})
//	...
//	defer rec.Close()
//	opts := robotsmw.Options{UserAgent: agent, Limiter: new(politeness.Limiter)}
//	err = rec.Observe(&opts) // before opts is given to NewClient
//	...
//	client, err := robotsmw.NewClient(opts)
//
// No request waits for the record. If the disk is full or too slow, lines are
// lost. The record then says in which span of time lines were lost, and proves
// nothing about that span. If the process is killed, the lines that it had not
// written are missing. These are the lines of the last milliseconds, or of a
// longer time if the disk is slow. The last line that it wrote may be
// incomplete. If the machine loses power, everything that was not on the disk
// yet is missing.
//
// # The directory
//
// One process at a time writes a record. Where the operating system has flock,
// a second process gets an error. Later processes may continue the record. Each
// call of [Open] begins a session. A record is about one robot; within a
// session, [Recorder.Observe] makes sure of that.
//
//	evidence-000001.jsonl    segments: lines of JSON
//	evidence-000002.jsonl
//	robots-000001.warc.gz    the WARC file that belongs to a segment
//	lock
//
// A segment no longer changes after the next segment has begun. If a further
// segment could make the record larger than [Options.MaxBytes], the oldest
// segments are deleted, together with their WARC files. Lines are numbered from
// 1. If the first line of a record has a number above 1, older lines have been
// deleted.
//
// # Lines
//
// A line is one JSON object, such as a request with the decision that allowed
// it. It has a number, the hash of the line before it, and the hash of itself:
// the SHA-256 of all that stands before it in the line. So a changed byte is
// noticed, because the line no longer has the hash that it names. But somebody
// who can write all files could compute all hashes anew. To rule this out,
// deposit the hash of the last line elsewhere ([Recorder.Head]). Then a change
// of that line, or of any line before it, can be noticed.
//
// The doc of [Recorder] describes each kind of line, and the WARC files.
// Package audit checks a record.
//
// # With jq
//
//	jq -c 'select(.event=="request") | [.start,.url,.interval]' evidence-*.jsonl
//	jq -r 'select(.event=="file" and .sha256=="…") | .text' evidence-*.jsonl
package evidence
