package preference

// A Use is a purpose that a page may be used for.
type Use string

const (
	Search        Use = "search"          // a search application that links to its results
	TrainAI       Use = "train-ai"        // training an AI model
	TrainAIImages Use = "train-ai-images" // training an AI model on images: like TrainAI, but noimageai denies it too
	AIInput       Use = "ai-input"        // input to a model's answer (grounding, retrieval)
)

var uses = []Use{Search, TrainAI, TrainAIImages, AIInput}

// An Answer is what an owner says about a use. The zero Answer is none of the
// three.
type Answer string

const (
	Unknown Answer = "unknown" // nothing was said, or what was said neither allows nor denies
	Allow   Answer = "allow"
	Deny    Answer = "deny"
)

// These are the ways in which owners state an Answer, as in Statement.Signal.
const (
	contentUsage   = "Content-Usage"
	contentSignal  = "Content-Signal"
	tdmReservation = "TDM-Reservation"
	policyToken    = "policy token"
)

// drafts names the documents that define a signal and may still change. No
// other place of this module names their numbers and dates.
var drafts = map[string]string{
	contentUsage:   "draft-ietf-aipref-attach-05 (2026-08-19), draft-ietf-aipref-vocab-08 (2026-09-13)",
	policyToken:    "draft-kelley-aipref-training-preference-signal-00 (2026-10-30)",
	tdmReservation: "TDMRep, a W3C Community Group report (2024-05-10)",
}
