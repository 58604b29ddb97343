package preference

// A Use is a purpose for which a page may be used.
type Use string

const (
	Search        Use = "search"          // a search application that links to its results
	TrainAI       Use = "train-ai"        // training an AI model
	TrainAIImages Use = "train-ai-images" // like TrainAI, but for images; also denied by noimageai
	AIInput       Use = "ai-input"        // input from which an AI model generates its output (grounding, retrieval)
)

var uses = []Use{Search, TrainAI, TrainAIImages, AIInput}

// An Answer is the preference of an owner about a use. The zero value is not a
// valid Answer.
type Answer string

const (
	Unknown Answer = "unknown" // neither allowed nor denied
	Allow   Answer = "allow"
	Deny    Answer = "deny"
)

// combine returns the combined answer of two statements. Deny overrides Allow,
// and Allow overrides Unknown.
func combine(a, b Answer) Answer {
	if a == Deny || b == Deny {
		return Deny
	}
	if a == Allow || b == Allow {
		return Allow
	}
	return Unknown
}

// Values of Statement.Signal.
const (
	contentUsage   = "Content-Usage"
	contentSignal  = "Content-Signal"
	tdmReservation = "TDM-Reservation"
	policyToken    = "policy token"
	rsl            = "RSL"
)

// drafts maps a signal to the version of its specification, if that may still
// change. These versions must not occur elsewhere in this module, so that an
// update changes only this map.
var drafts = map[string]string{
	contentUsage:   "draft-ietf-aipref-attach-05 (2026-08-19), draft-ietf-aipref-vocab-08 (2026-09-13)",
	policyToken:    "draft-kelley-aipref-training-preference-signal-00 (2026-10-30)",
	tdmReservation: "TDMRep, a W3C Community Group report (2024-05-10)",
}
