package audit

import (
	"bytes"
	"time"
)

// withoutPrefix removes what log shippers write in front of a line:
//
//	Nov 20 10:00:00 web-1 nginx[42]:                      syslog, journald, Papertrail
//	<190>1 2026-11-20T10:00:00Z web-1 nginx 42 - -        RFC 5424
//	2026-11-20T10:00:00.1Z stdout F                       Kubernetes (CRI)
//	web-1  |                                              docker compose
//	[pod/web-1/nginx]                                     kubectl logs --prefix
//
// Columns that end with tabs are removed too. Text with an unknown prefix is
// returned unchanged.
func withoutPrefix(s []byte) []byte {
	s = s[bytes.LastIndexByte(s, '\t')+1:]
	if word, rest := cutWord(s); isPodName(word) {
		s = trimLeft(rest)
	}
	if name, rest, ok := bytes.Cut(s, []byte("|")); ok && len(bytes.Fields(name)) == 1 {
		s = trimLeft(rest)
	}
	if rest, ok := cutPriority(s); ok {
		if structured, ok := cutRFC5424(rest); ok {
			return structured
		}
		s = rest
	}
	rest, ok := cutTime(s)
	if !ok {
		return s
	}
	if stream, after := cutWord(rest); string(stream) == "stdout" || string(stream) == "stderr" {
		if flag, message := cutWord(after); len(flag) == 1 {
			return trimLeft(message)
		}
	}
	return cutMachine(rest)
}

// isPodName reports whether a word is like "[pod/web-1/nginx]".
func isPodName(word []byte) bool {
	isBracketed := len(word) > 1 && word[0] == '[' && word[len(word)-1] == ']'
	return isBracketed && bytes.IndexByte(word, '/') > 0
}

func trimLeft(s []byte) []byte { return bytes.TrimLeft(s, " ") }

// cutPriority removes the priority of a syslog message, such as "<190>".
func cutPriority(s []byte) (rest []byte, ok bool) {
	i := bytes.IndexByte(s, '>')
	if i < len("<1") || i > len("<190") {
		return nil, false
	}
	if s[0] != '<' || !isDigits(s[1:i]) {
		return nil, false
	}
	return s[i+1:], true
}

// cutRFC5424 removes the header and the structured data of a syslog message of
// RFC 5424, from its version on.
func cutRFC5424(s []byte) (message []byte, ok bool) {
	version, rest := cutWord(s)
	stamp, rest := cutWord(rest)
	hasTime := string(stamp) == "-" || isStamp(stamp)
	if string(version) != "1" || !hasTime {
		return nil, false
	}
	for range len([]string{"host", "application", "process", "message"}) {
		_, rest = cutWord(rest)
	}
	if bytes.HasPrefix(rest, []byte("[")) {
		end := bytes.Index(rest, []byte("] "))
		if end < 0 {
			return nil, false
		}
		rest = rest[end+2:]
	} else {
		_, rest = cutWord(rest) // "-"
	}
	return trimLeft(bytes.TrimPrefix(rest, []byte("\ufeff"))), true
}

// isStamp reports whether a word begins like the time of RFC 3339.
func isStamp(word []byte) bool {
	const form = "2006-01-02T15:04:05"
	if len(word) < len(form) || word[4] != '-' || word[10] != 'T' {
		return false
	}
	_, err := time.Parse(form, string(word[:len(form)]))
	return err == nil
}

// cutTime removes a time of RFC 3339, or one such as "Nov 20 10:00:00".
func cutTime(s []byte) (rest []byte, ok bool) {
	if word, rest := cutWord(s); isStamp(word) {
		return trimLeft(rest), true
	}
	const form = "Jan _2 15:04:05"
	if len(s) <= len(form) {
		return nil, false
	}
	if s[3] != ' ' || s[len(form)] != ' ' {
		return nil, false
	}
	if _, err := time.Parse(form, string(s[:len(form)])); err != nil {
		return nil, false
	}
	return trimLeft(s[len(form):]), true
}

// cutMachine removes the name of a machine, and that of a program such as
// "nginx:" or "nginx[42]:", if they precede the client.
func cutMachine(s []byte) []byte {
	word, rest := cutWord(s)
	_, isAddress := parseAddress(bytes.TrimSuffix(word, []byte(",")))
	isClient := isAddress && bytes.HasPrefix(rest, []byte("- "))
	if isClient || len(bytes.Fields(s)) == 3 {
		return s
	}
	rest = trimLeft(rest)
	if program, message := cutWord(rest); len(program) > 1 && program[len(program)-1] == ':' {
		return trimLeft(message)
	}
	return rest
}
