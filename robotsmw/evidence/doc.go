// Package evidence writes a record of a crawl that a third party can check. The
// record contains each robots.txt that the crawl received, byte for byte, the
// decisions, and the reason why each request waited. The operator of a crawler
// can use it to respond to a complaint, and an archive can preserve its
// robots.txt files.
//
//	rec, err := evidence.Open("record", evidence.Options{})
//	...
//	defer rec.Close()
//	opts := robotsmw.Options{UserAgent: agent, Limiter: new(politeness.Limiter)}
//	err = rec.Observe(&opts) // before opts is passed to NewClient
//	...
//	client, err := robotsmw.NewClient(opts)
//
// Requests do not wait for the record to be written. If the disk is full or too
// slow, lines are lost. The record then contains the span of time in which they
// were lost, and proves nothing about that span. If the process is killed, the
// lines of the last milliseconds are missing, or more if the disk is slow, and
// the last line may be incomplete. If the machine loses power, everything is
// missing that the operating system had not written to the disk.
//
// # The directory
//
// Only one process at a time may write a record. On operating systems with
// flock, a second process gets an error. Later processes may continue the
// record. Each call of [Open] begins a session. A record is about one robot;
// within a session, [Recorder.Observe] returns an error for a second one.
//
//	evidence-000001.jsonl    segments: lines of JSON
//	evidence-000002.jsonl
//	robots-000001.warc.gz    the WARC file that belongs to a segment
//	lock
//
// A segment does not change after the next one has begun. If a new segment
// could make the record larger than [Options.MaxBytes], the oldest segments are
// deleted with their WARC files. Lines are numbered from 1, so a record whose
// first line has a larger number lacks the lines of deleted segments.
//
// # Lines
//
// A line is a JSON object, such as a request with the decision that allowed it.
// It contains its number, the hash of the previous line, and its own hash,
// which is the SHA-256 of the line up to the hash. If a byte is changed, the
// hash no longer matches. An attacker who can write all files could recompute
// all hashes. To detect that, callers should store the hash of the last line
// ([Recorder.Head]) in another place: it covers that line and all lines before
// it.
//
// [Recorder] documents each kind of line, and the WARC files. Package audit
// checks a record.
//
// # With jq
//
//	jq -c 'select(.event=="request") | [.start,.url,.interval]' evidence-*.jsonl
//	jq -r 'select(.event=="file" and .sha256=="…") | .text' evidence-*.jsonl
package evidence
