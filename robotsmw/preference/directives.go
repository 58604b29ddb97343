package preference

import (
	"slices"

	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

// directives returns what noai, noimageai and noml say. All of them deny
// training, noimageai that on images alone.
func (in Input) directives() (all []Statement) {
	denies := map[string]Use{"noai": TrainAI, "noml": TrainAI, "noimageai": TrainAIImages}
	for r := range in.Page.Rules() {
		use, ok := denies[r.Name]
		if !r.Known || !ok {
			continue
		}
		where := "header"
		if r.Source == robotsmeta.Meta || r.Source == robotsmeta.Content {
			where = "meta"
		}
		all = append(all, Statement{Use: use, Answer: Deny, Signal: r.Name, Where: where, Line: r.Line, Raw: r.Raw})
	}
	// Rules yields only the first 256 rules of a page. The result of Says
	// includes the later ones.
	add := func(signal string, said bool) {
		if said && !slices.ContainsFunc(all, func(s Statement) bool { return s.Signal == signal }) {
			all = append(all, Statement{Use: denies[signal], Answer: Deny, Signal: signal, Where: "header or meta", Raw: signal})
		}
	}
	add("noai", in.Page.Says("noai"))
	add("noml", in.Page.Says("noml"))
	add("noimageai", in.Page.Says("noimageai") && !in.Page.Says("noai"))
	if in.Page.Truncated() {
		all = append(all, Statement{
			Use: TrainAI, Answer: Unknown, Signal: "noai", Where: "header or meta", cut: true,
			Raw: "cannot be read: the page's directives are too long",
		})
	}
	return all
}
