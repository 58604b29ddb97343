package preference

import "fmt"

// A Use is a purpose that a page may be used for.
type Use string

const (
	Search        Use = "search"          // a search application that links to its results
	TrainAI       Use = "train-ai"        // training an AI model
	TrainAIImages Use = "train-ai-images" // training an AI model on images: like TrainAI, but noimageai denies it too
	AIInput       Use = "ai-input"        // input to a model's answer (grounding, retrieval)
)

// general returns TrainAI for TrainAIImages, because what is said about TrainAI
// also applies to TrainAIImages. For any other use, general returns the use
// itself.
func general(use Use) Use {
	if use == TrainAIImages {
		return TrainAI
	}
	return use
}

// An Answer is what an owner says about a use.
type Answer uint8

const (
	Unknown Answer = iota // nothing was said, or what was said neither allows nor denies
	Allow
	Deny
)

// String returns "unknown", "allow" or "deny".
func (a Answer) String() string {
	switch a {
	case Allow:
		return "allow"
	case Deny:
		return "deny"
	}
	return "unknown"
}

// MarshalText returns the text that String returns.
func (a Answer) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText parses what MarshalText returns. A program can read logged
// verdicts with it.
func (a *Answer) UnmarshalText(text []byte) error {
	for _, known := range []Answer{Unknown, Allow, Deny} {
		if string(text) == known.String() {
			*a = known
			return nil
		}
	}
	return fmt.Errorf("preference: %q is no answer: write unknown, allow or deny", text)
}

// A Signal is a way in which an owner states an Answer.
type Signal string

const (
	ContentUsage   Signal = "Content-Usage"
	ContentSignal  Signal = "Content-Signal"
	TDMReservation Signal = "TDM-Reservation"
	NoAI           Signal = "noai"
	NoImageAI      Signal = "noimageai"
	NoML           Signal = "noml"
	PolicyToken    Signal = "policy token"

	ReallySimpleLicensing Signal = "RSL"
)

// Draft returns the names of the drafts or reports that define a signal and may
// still change. For any other signal it returns "".
func (s Signal) Draft() string {
	switch s {
	case ContentUsage:
		return "draft-ietf-aipref-attach-05, draft-ietf-aipref-vocab-08"
	case PolicyToken:
		return "draft-kelley-aipref-training-preference-signal-00"
	case TDMReservation:
		return "TDMRep, a W3C Community Group report"
	}
	return ""
}
