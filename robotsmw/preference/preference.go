package preference

// A Use is a purpose that a page may be used for.
type Use string

const (
	Search        Use = "search"          // a search application that links to its results
	TrainAI       Use = "train-ai"        // training an AI model
	TrainAIImages Use = "train-ai-images" // like TrainAI, for images: also denied by noimageai
	AIInput       Use = "ai-input"        // input to the output of a model (grounding, retrieval)
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

// combine returns the answer of two statements: deny overrides allow, and allow
// overrides unknown.
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

// drafts maps a signal to the specifications that may still change. The
// versions of specifications must not occur elsewhere in this module.
var drafts = map[string]string{
	contentUsage:   "draft-ietf-aipref-attach-05 (2026-08-19), draft-ietf-aipref-vocab-08 (2026-09-13)",
	policyToken:    "draft-kelley-aipref-training-preference-signal-00 (2026-10-30)",
	tdmReservation: "TDMRep, a W3C Community Group report (2024-05-10)",
}
