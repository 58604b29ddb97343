package match

// Most groups have a few rules, all of them literal: a handful of directories.
// tryLiterals tries these rules one by one, and the first that matches decides.
// For most targets, the byte after the "/" shows that no rule matches.

// atFirstSight returns a set of bytes. If a rule matches a target, the byte
// after the target's "/" is in the set. An ASCII byte that may change when it
// is brought into canonical form is always in the set. The second result is
// true if each rule is literal and has a plain byte after its "/". If it is
// false, the set must not be used.
func (t packed) atFirstSight() (second byteSet, few bool) {
	few = true
	for at, end := 0, t.end(); at < end; {
		p := t.rule(at)
		if p.tag() != tagWild && len(p.pattern) > 1 && isPlain(p.pattern[1]) {
			second = second.with(p.pattern[1])
		} else {
			few = false
		}
		at = p.next
	}
	for char := range byte(0x80) {
		if !isPlain(char) {
			second = second.with(char)
		}
	}
	return second, few
}

// tryLiterals returns the rule that decides, or None. All rules must be
// literal, and the Set must have no index. sure is false if the result depends
// on a byte of the target that may be different in canonical form.
func (t packed) tryLiterals(target string) (decides int, sure bool) {
	text := string(t)
	plain := false
	var block uint64
	if len(target) >= blockSize {
		block = load64(target)
		plain = isPlainBlock(block)
	}
	for at := 0; at < len(text)-padding; {
		h := head(load64(text[at:]))
		length := h.length()
		// If the first bytes differ, the rule does not match. The pattern's
		// last byte is not compared here, because it may be a "$" or a "*".
		differ := (load64(text[at+headSize:]) ^ block) << (8 * uint(blockSize-min(length, blockSize)) & 63) << 8
		if h&headRare != 0 {
			p := t.rule(at)
			if matches, sure := matchesLiteral(p.pattern, target); matches || !sure {
				return at, sure
			}
			at = p.next
			continue
		}
		next := at + headSize + length
		if !plain || differ == 0 {
			if matches, sure := matchesLiteral(text[at+headSize:next], target); matches || !sure {
				return at, sure
			}
		}
		at = next
	}
	return None, true
}
