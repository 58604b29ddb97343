package politeness

import (
	"math"
	"strings"
	"unicode/utf8"
)

// asciiHost is the host name as it goes into DNS, so that a name and its xn--
// form are one host. It lower-cases and encodes, without the rest of IDNA's
// mapping: what it misses is a host with a pace of its own.
func asciiHost(host string) string {
	labels := strings.Split(strings.NewReplacer("。", ".", "．", ".", "｡", ".").Replace(strings.ToLower(host)), ".")
	for i, label := range labels {
		if encoded, ok := punycode(label); ok {
			labels[i] = "xn--" + encoded
		}
	}
	return strings.TrimRight(strings.Join(labels, "."), ".")
}

// Parameters of RFC 3492 §5.
const (
	punyBase, punyTMin, punyTMax      = 36, 1, 26
	punySkew, punyDamp, punyBias      = 38, 700, 72
	punyFirst                    rune = 0x80
)

// punycode encodes a label by RFC 3492 §6.3. It is false for a label that is
// ASCII already, or is no text.
func punycode(label string) (string, bool) {
	if !utf8.ValidString(label) {
		return "", false
	}
	runes := []rune(label)
	var out []byte
	for _, r := range runes {
		if r < utf8.RuneSelf {
			out = append(out, byte(r))
		}
	}
	basic := len(out)
	if basic == len(runes) {
		return "", false
	}
	if basic > 0 {
		out = append(out, '-')
	}
	n, delta, bias := punyFirst, 0, punyBias
	for done := basic; done < len(runes); n++ {
		least := rune(math.MaxInt32)
		for _, r := range runes {
			if r >= n {
				least = min(least, r)
			}
		}
		delta += int(least-n) * (done + 1)
		n = least
		for _, r := range runes {
			if r < n {
				delta++
			}
			if r != n {
				continue
			}
			q := delta
			for k := punyBase; ; k += punyBase {
				t := min(max(k-bias, punyTMin), punyTMax)
				if q < t {
					break
				}
				out = append(out, punyDigit(t+(q-t)%(punyBase-t)))
				q = (q - t) / (punyBase - t)
			}
			out = append(out, punyDigit(q))
			bias = punyAdapt(delta, done+1, done == basic)
			delta = 0
			done++
		}
		delta++
	}
	return string(out), true
}

func punyDigit(d int) byte { return "abcdefghijklmnopqrstuvwxyz0123456789"[d] }

// punyAdapt is RFC 3492 §6.1.
func punyAdapt(delta, points int, first bool) int {
	if first {
		delta /= punyDamp
	} else {
		delta /= 2
	}
	delta += delta / points
	k := 0
	for ; delta > (punyBase-punyTMin)*punyTMax/2; k += punyBase {
		delta /= punyBase - punyTMin
	}
	return k + (punyBase-punyTMin+1)*delta/(delta+punySkew)
}
