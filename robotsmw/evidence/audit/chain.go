package audit

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"
)

var (
	errChanged   = errors.New("changed: the hash in the line is not that of its bytes")
	errMissing   = errors.New("changed: the line does not follow the one before it")
	errCut       = errors.New("the record ends in a line that is not whole: what came after is not known")
	errUnclosed  = errors.New("the session did not end here in order: what came after is not known")
	errBeginning = errors.New("the record does not begin here: what was before is not known")
	errFile      = errors.New("changed: the bytes of the robots.txt have another hash")
	errNoRecord  = errors.New("there is no record in the directory")
)

const sealLength = len(`,"hash":"`) + 2*sha256.Size + len(`"}`)

// longestRecord is how many bytes a line of a record may have. A longer line
// may be read only in part, and then its hash is wrong.
const longestRecord = 16 << 20

// ReadRecord judges a crawl by the record that package evidence has written
// into a directory.
//
// ReadRecord checks the record itself. Each line must have the hash of the line
// before it. Each robots.txt and each part of a WARC file must have the hash
// that a line gives for it.
//
// ReadRecord also checks what the record says. The robots.txt in force must
// allow each request for a page. A decision, with its group, rule and line,
// must follow from the robots.txt that it names. A decision that allowed a
// request must be based on the newest robots.txt. After the end of its
// lifetime, a file may be used in two cases only: if a later fetch has failed,
// or if the decision is marked stale and the file was fetched at most 24 hours
// before. The gap between two requests to a host must be long enough, and no
// page may be requested during a pause.
//
// ReadRecord passes each fault in the record itself to OnBroken. It counts all
// faults in Result.Broken, and most of them in Result.Cut as well. A loss line
// says how many requests were lost: these are unaudited. ReadRecord returns an
// error if ctx ends or if there is no record.
func (a *Auditor) ReadRecord(ctx context.Context, name string, dir fs.FS) error {
	names, err := fs.Glob(dir, "evidence-*.jsonl")
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("%s: %w", name, errNoRecord)
	}
	a.begin()
	c := &chain{ctx: ctx, dir: dir, name: strings.TrimSuffix(name, "/"), a: a, judge: newRecordJudge(a)}
	for i, segment := range names {
		next := ""
		if i+1 < len(names) {
			next = names[i+1]
		}
		if err := c.segment(segment, next); err != nil {
			return err
		}
	}
	if c.open {
		c.say(c.file, c.number, errUnclosed)
		a.result.Cut++
	}
	c.judge.flush()
	return nil
}

// A chain reads the lines of a record and checks that each line follows the
// previous one.
type chain struct {
	ctx    context.Context
	dir    fs.FS
	name   string
	a      *Auditor
	judge  *recordJudge
	n      uint64
	hash   string // the hash of the line that was read last; "" if there was none
	open   bool   // a session has begun and has no close line yet
	file   string // the segment being read
	number int    // how many lines of this segment were read
}

func (c *chain) say(file string, line int, err error) {
	c.a.broken(Broken{Input: c.name + "/" + file, Line: max(line, 1), Err: err})
}

// segment reads a file of the record. The second argument is the name of the
// following file, or "" if this file is the last one.
func (c *chain) segment(name, next string) error {
	file, err := c.dir.Open(name)
	if err != nil {
		c.say(name, 0, err)
		c.a.result.Cut++
		return nil
	}
	defer file.Close()
	c.file, c.number = name, 0
	end := c.cutAt(name, next)
	in := bufio.NewReaderSize(file, 64<<10)
	var bad []int // numbers of the broken lines since the last good line
	for offset := int64(0); ; {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		line, err := readRecordLine(in)
		offset += int64(len(line))
		if len(line) == 0 {
			if !errors.Is(err, io.EOF) {
				c.say(name, c.number+1, err)
				c.a.result.Cut++
			}
			break
		}
		c.number++
		v, hash, ok := sealed(line)
		if end >= 0 && offset > end { // the next segment says that this file was cut off before this line
			if ok {
				c.say(name, c.number, errChanged)
				c.a.result.Cut++
				break
			}
			continue
		}
		if !ok {
			bad = append(bad, c.number)
			continue
		}
		for _, number := range bad {
			c.say(name, number, errChanged)
			c.a.result.Cut++
		}
		changed := len(bad) > 0
		bad = nil
		switch {
		case c.hash == "" && v.N != 1:
			c.say(name, c.number, errBeginning)
			c.judge.partial = true
			c.a.result.Cut++
		case c.hash != "" && (v.Prev != c.hash || v.N != c.n+1) && !changed:
			c.say(name, c.number, errMissing)
			c.a.result.Cut++
		}
		c.n, c.hash = v.N, hash
		c.take(v)
	}
	if len(bad) > 0 {
		c.say(name, bad[0], errCut)
		c.a.result.Cut++
		c.open = false // so that errUnclosed is not reported as well
	}
	return nil
}

// cutAt returns the offset at which the good part of a file ends, if the first
// line of the next file gives this offset. Otherwise it returns -1. The
// arguments are the names of the two files.
func (c *chain) cutAt(name, next string) int64 {
	if next == "" {
		return -1
	}
	file, err := c.dir.Open(next)
	if err != nil {
		return -1
	}
	defer file.Close()
	line, _ := readRecordLine(bufio.NewReader(file))
	v, _, ok := sealed(line)
	number, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(name, "evidence-"), ".jsonl"))
	if !ok || err != nil || v.Cut == nil || v.Cut.Segment != number {
		return -1
	}
	return v.Cut.Offset
}

// readRecordLine reads a line with its newline. If the line is too long,
// readRecordLine returns only the beginning, which has no valid hash.
func readRecordLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line) <= longestRecord {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// The function "sealed" parses a line and checks its hash. ok is false if the
// hash is wrong or the line cannot be parsed.
func sealed(line []byte) (v *recordLine, hash string, ok bool) {
	body, whole := bytes.CutSuffix(line, []byte("\n"))
	if !whole || len(body) < sealLength {
		return nil, "", false
	}
	text, seal := body[:len(body)-sealLength], body[len(body)-sealLength:]
	sum := sha256.Sum256(text)
	hash = hex.EncodeToString(sum[:])
	if string(seal) != `,"hash":"`+hash+`"}` {
		return nil, "", false
	}
	v = new(recordLine)
	if json.Unmarshal(body, v) != nil || v.N == 0 {
		return nil, "", false
	}
	return v, hash, true
}

// take judges a line whose hash is right. It also checks that a session is
// closed before the next one begins, and that robots.txt files and parts of
// WARC files have the right hashes.
func (c *chain) take(v *recordLine) {
	switch v.Event {
	case "segment":
		if v.Why == "open" {
			if c.open {
				c.say(c.file, c.number, errUnclosed)
				c.a.result.Cut++
			}
			c.judge.session()
		}
		c.open = true
	case "close":
		c.open = false
	case "loss":
		c.lost(v)
	case "file":
		text := []byte(v.Text)
		if v.Base64 != "" {
			text, _ = base64.StdEncoding.DecodeString(v.Base64)
		}
		if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != v.SHA256 {
			c.say(c.file, c.number, errFile)
			c.a.result.Cut++
			return
		}
		c.judge.file(v.SHA256, text)
	default:
		if err := c.judge.line(v); err != nil {
			c.say(c.file, c.number, err)
		}
	}
	c.pieces(v)
}

// The method "lost" reads a loss line. It counts the lost requests as
// unaudited.
func (c *chain) lost(v *recordLine) {
	c.a.result.Cut++
	n := v.Lost["request"]
	c.a.result.Unaudited += n
	from, err := time.Parse(time.RFC3339Nano, v.From)
	to, err2 := time.Parse(time.RFC3339Nano, v.To)
	if err != nil || err2 != nil {
		from, to = v.Time, v.Time
	}
	c.a.result.addSpan(Tally{First: from, Last: to, Requests: n})
}

func (c *chain) pieces(v *recordLine) {
	if len(v.Pieces) == 0 {
		return
	}
	if v.Event != "fetch" {
		var whole recordPiece
		if json.Unmarshal(v.Pieces, &whole) == nil && whole.File != "" {
			c.piece(whole.File, 0, whole.Bytes, whole.SHA256, true)
		}
		return
	}
	var parts map[string]json.RawMessage
	var file string
	if json.Unmarshal(v.Pieces, &parts) != nil || json.Unmarshal(parts["file"], &file) != nil {
		return
	}
	for _, kind := range []string{"request", "response", "revisit", "metadata"} {
		var p recordPiece
		if len(parts[kind]) > 0 && json.Unmarshal(parts[kind], &p) == nil {
			c.piece(file, p.Offset, p.Length, p.SHA256, false)
		}
	}
}

// piece checks the hash of a part of a WARC file, or of the whole file.
func (c *chain) piece(name string, offset, length int64, want string, isWhole bool) {
	if !fs.ValidPath(name) || strings.Contains(name, "/") {
		c.say(c.file, c.number, fmt.Errorf("%.100q is no file of the record", name))
		return
	}
	file, err := c.dir.Open(name)
	if err != nil {
		c.say(c.file, c.number, fmt.Errorf("the line has the hash of a WARC file that is not there: %w", err))
		c.a.result.Cut++
		return
	}
	defer file.Close()
	hash := sha256.New()
	if seeker, ok := file.(io.Seeker); ok {
		_, err = seeker.Seek(offset, io.SeekStart)
	} else {
		_, err = io.CopyN(io.Discard, file, offset)
	}
	if err == nil {
		_, err = io.CopyN(hash, file, length)
	}
	if err != nil || hex.EncodeToString(hash.Sum(nil)) != want {
		c.say(c.file, c.number, fmt.Errorf("changed: bytes %d to %d of %s have another hash than the line says", offset, offset+length, name))
		c.a.result.Cut++
		return
	}
	if n, err := io.CopyN(io.Discard, file, 1); isWhole && (n > 0 || !errors.Is(err, io.EOF)) {
		c.say(c.file, c.number, fmt.Errorf("changed: %s has more than the %d bytes that the line says", name, length))
		c.a.result.Cut++
	}
}
