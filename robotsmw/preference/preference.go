package preference

import "fmt"

// A Use is what a page is to be used for.
type Use string

const (
	Search        Use = "search"          // a search application that links to its results
	TrainAI       Use = "train-ai"        // training an AI model
	TrainAIImages Use = "train-ai-images" // training on images: denied by noimageai, and by all that denies TrainAI
	AIInput       Use = "ai-input"        // as input to a model's answer (grounding, retrieval)
)

// general returns the use that a statement must be about to bear on use: what
// holds for training holds for training on images.
func general(use Use) Use {
	if use == TrainAIImages {
		return TrainAI
	}
	return use
}

// An Answer is what an owner says about a use.
type Answer uint8

const (
	Unknown Answer = iota // nothing was said, or nothing that can be read
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

// MarshalText is String.
func (a Answer) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads what MarshalText wrote, so that a program can read the
// verdicts in a log.
func (a *Answer) UnmarshalText(text []byte) error {
	for _, known := range []Answer{Unknown, Allow, Deny} {
		if string(text) == known.String() {
			*a = known
			return nil
		}
	}
	return fmt.Errorf("preference: %q is no answer: write unknown, allow or deny", text)
}

// A Signal is a way of saying it.
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

// Draft names the documents that a signal is read by, with their versions,
// where they are drafts and may change. It is empty for the others.
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
