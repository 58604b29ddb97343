package preference

// A Verdict is the answer about one use, with everything that was said about
// the use.
type Verdict struct {
	Use      Use         `json:"use"`
	Answer   Answer      `json:"answer"`
	Evidence []Statement `json:"evidence,omitempty"` // all statements about the use, including those that were outweighed
}

// String returns the first statement that has the verdict's answer, or
// "unknown" if nothing was said.
func (v Verdict) String() string {
	for _, s := range v.Evidence {
		if s.Answer == v.Answer {
			return s.String()
		}
	}
	return v.Answer.String()
}

// For returns the Verdict on a use: the answer and its evidence. If any signal
// denies the use, the answer is deny. If none denies it and one allows it, the
// answer is allow. Otherwise the answer is unknown.
func (in Input) For(use Use) Verdict {
	v := Verdict{Use: use}
	for _, s := range in.statements(use) {
		v.Evidence = append(v.Evidence, s)
		v.Answer = max(v.Answer, s.Answer)
	}
	return v
}

// Says returns everything that was said about the uses of this package.
// Content-Signal may have keys that this package does not know, as in
// "use=reference". Up to 256 of these are returned too, each in a Statement
// whose Use is the key and whose Answer is Unknown.
func (in Input) Says() []Statement {
	var all []Statement
	for _, use := range []Use{Search, TrainAI, TrainAIImages, AIInput} {
		all = append(all, in.statements(use)...)
	}
	return append(all, in.unknownSignals()...)
}

func (in Input) statements(use Use) []Statement {
	var all []Statement
	all = append(all, in.contentUsage(use)...)
	all = append(all, in.contentSignal(use)...)
	all = append(all, in.tdm(use)...)
	all = append(all, in.directives(use)...)
	all = append(all, in.policyTokens(use)...)
	all = append(all, in.rsl(use)...)
	return all
}
