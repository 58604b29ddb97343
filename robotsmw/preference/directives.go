package preference

import (
	"slices"

	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

// directives returns what noai, noimageai and noml say about a use.
func (in Input) directives(use Use) (all []Statement) {
	if general(use) != TrainAI {
		return nil
	}
	for r := range in.Page.Rules() {
		var signal Signal
		switch {
		case !r.Known:
			continue
		case r.Name == "noai":
			signal = NoAI
		case r.Name == "noml":
			signal = NoML
		case r.Name == "noimageai" && use == TrainAIImages:
			signal = NoImageAI
		default:
			continue
		}
		where := "header"
		if r.Source == robotsmeta.Meta || r.Source == robotsmeta.Content {
			where = "meta"
		}
		all = append(all, Statement{Use: use, Answer: Deny, Signal: signal, Where: where, Line: r.Line, Raw: r.Raw})
	}
	// Rules yields only the first 256 rules of a page. NoAI, NoML and NoImageAI
	// also know about the later ones.
	add := func(signal Signal, said bool) {
		if said && !slices.ContainsFunc(all, func(s Statement) bool { return s.Signal == signal }) {
			all = append(all, Statement{Use: use, Answer: Deny, Signal: signal, Where: "header or meta", Raw: string(signal)})
		}
	}
	add(NoAI, in.Page.NoAI())
	add(NoML, in.Page.NoML())
	add(NoImageAI, use == TrainAIImages && in.Page.NoImageAI() && !in.Page.NoAI())
	return all
}
