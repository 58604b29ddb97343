package preference

import (
	"slices"

	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

// deniedBy maps page directives to the uses that they deny.
var deniedBy = map[string]Use{"noai": TrainAI, "noml": TrainAI, "noimageai": TrainAIImages}

// noAI returns the statements of the page directives noai, noimageai and noml.
func (in Input) noAI() []Statement {
	var all []Statement
	for r := range in.Page.Rules() {
		use, ok := deniedBy[r.Name]
		if !r.Known || !ok {
			continue
		}
		where := "header"
		if r.Source == robotsmeta.Meta || r.Source == robotsmeta.Content {
			where = "meta"
		}
		all = append(all, Statement{
			Use:    use,
			Answer: Deny,
			Signal: r.Name,
			Where:  where,
			Line:   r.Line,
			Raw:    r.Raw,
		})
	}
	// Rules yields only the first 256 directives of a page, but Says reports
	// all of them. Because noai implies noimageai, they are not both added.
	for _, signal := range []string{"noai", "noml", "noimageai"} {
		isImplied := signal == "noimageai" && in.Page.Says("noai")
		isListed := slices.ContainsFunc(all, func(s Statement) bool { return s.Signal == signal })
		if isImplied || isListed {
			continue
		}
		if in.Page.Says(signal) {
			all = append(all, Statement{
				Use:    deniedBy[signal],
				Answer: Deny,
				Signal: signal,
				Where:  "header or meta",
				Raw:    signal,
			})
		}
	}
	if in.Page.Truncated() {
		all = append(all, Statement{
			Use:       TrainAI,
			Answer:    Unknown,
			Signal:    "noai",
			Where:     "header or meta",
			truncated: true,
			Raw:       unreadablePrefix + "the page's directives are too long",
		})
	}
	return all
}
