package main

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// A Plan describes the best order that was found for the files of a FileGraph.
// The files stand one above the other.
type Plan struct {
	Back   []Arrow // the arrows that run back up; no order with fewer was found
	Layers int     // how many layers the package has without the arrows in Back
	Exact  bool    // whether Back is known to be as short as possible
}

// anArrow is the cost of an arrow that runs back up, without the number of the
// arrow's names (see FileGraph.Arrows), which is added. Therefore the order
// with the fewest such arrows wins. If two orders have equally many such
// arrows, the order whose arrows have fewer names wins.
const anArrow = 1 << 16

// bestOrder finds the order of the files in which the fewest arrows run back up
// (a minimum feedback arc set). Only files that use each other in a circle
// cause such arrows, so each circle is ordered by itself.
func (g *FileGraph) bestOrder() Plan {
	n := len(g.Files)
	cost := make([][]int, n) // cost[i][j] is the cost of the arrow from i to j; 0 means there is none
	for i := range cost {
		cost[i] = make([]int, n)
	}
	for a, uses := range g.Arrows {
		cost[a.From][a.To] = anArrow + len(uses)
	}
	plan := Plan{Exact: true}
	for _, circle := range circles(cost) {
		order, exact := cheapest(costsWithin(cost, circle))
		plan.Exact = plan.Exact && exact
		for at, i := range order {
			for _, j := range order[at+1:] {
				if a := (Arrow{circle[i], circle[j]}); cost[a.From][a.To] > 0 {
					plan.Back = append(plan.Back, a)
					cost[a.From][a.To] = 0
				}
			}
		}
	}
	slices.SortFunc(plan.Back, func(a, b Arrow) int { return (a.From-b.From)*n + a.To - b.To })
	plan.Layers = layers(cost)
	return plan
}

// circles returns the sets of two or more files in which each file can reach
// all others.
func circles(cost [][]int) [][]int {
	n := len(cost)
	reaches := make([][]bool, n)
	for i := range reaches {
		for _, c := range cost[i] {
			reaches[i] = append(reaches[i], c > 0)
		}
	}
	for via := range n {
		for i := range n {
			for j := range n {
				reaches[i][j] = reaches[i][j] || reaches[i][via] && reaches[via][j]
			}
		}
	}
	var sets [][]int
	done := make([]bool, n)
	for i := range n {
		var set []int
		for j := i; j < n; j++ {
			if !done[j] && reaches[i][j] && reaches[j][i] {
				done[j] = true
				set = append(set, j)
			}
		}
		if len(set) > 1 {
			sets = append(sets, set)
		}
	}
	return sets
}

// layers returns how many layers the files need. There must be no circles.
func layers(cost [][]int) int {
	height := make([]int, len(cost))
	var of func(i int) int
	of = func(i int) int {
		if height[i] == 0 {
			below := 0
			for j, c := range cost[i] {
				if c > 0 {
					below = max(below, of(j))
				}
			}
			height[i] = below + 1
		}
		return height[i]
	}
	top := 0
	for i := range cost {
		top = max(top, of(i))
	}
	return top
}

// costsWithin returns the costs of the arrows between the files of a circle.
// File i of the result is the file circle[i].
func costsWithin(cost [][]int, circle []int) [][]int {
	part := make([][]int, len(circle))
	for i, from := range circle {
		for _, to := range circle {
			part[i] = append(part[i], cost[from][to])
		}
	}
	return part
}

// A circle of up to maxExact files is ordered by exactOrder, which examines
// each set of the files. 20 files have a million sets.
const maxExact = 20

// cheapest returns an order of a circle's files, from the lowest up. In this
// order, the cost of the arrows that run up is low. If exact is true, no order
// costs less.
func cheapest(cost [][]int) (order []int, exact bool) {
	if len(cost) <= maxExact {
		return exactOrder(cost), true
	}
	return goodOrder(cost), false
}

// exactOrder returns the cheapest order of the files, from the lowest up.
//
// Each set of files could be the lowest part of the package. For each set,
// exactOrder finds the least cost of the arrows that would run up from the
// set's files. This cost has two parts. The first is the cost of the arrows
// from the set's highest file to files outside the set. The second is the least
// cost of the set without that file, which is already known.
func exactOrder(cost [][]int) []int {
	n := len(cost)
	least := make([]int32, 1<<n)
	highest := make([]uint8, 1<<n)
	for set := uint32(1); set < 1<<n; set++ {
		best := int32(math.MaxInt32)
		for rest := set; rest != 0; rest &= rest - 1 {
			i := bits.TrailingZeros32(rest)
			c := least[set&^(1<<i)]
			for above := (1<<n - 1) &^ set; above != 0; above &= above - 1 {
				c += int32(cost[i][bits.TrailingZeros32(above)])
			}
			if c < best {
				best, highest[set] = c, uint8(i)
			}
		}
		least[set] = best
	}
	order := make([]int, n)
	set := uint32(1)<<n - 1
	for at := n - 1; at >= 0; at-- {
		order[at] = int(highest[set])
		set &^= 1 << order[at]
	}
	return order
}

// goodOrder returns the cheapest order that it finds. It starts from many
// random orders, which are the same in each run. In each order it moves single
// files until no move lowers the cost of the arrows that run up.
func goodOrder(cost [][]int) []int {
	random := rand.New(rand.NewPCG(1, 2))
	var best []int
	for range 300 {
		order := random.Perm(len(cost))
		for improved := true; improved; {
			improved = false
			for _, file := range random.Perm(len(cost)) {
				improved = settle(cost, order, file) || improved
			}
		}
		if best == nil || orderCost(cost, order) < orderCost(cost, best) {
			best = order
		}
	}
	return best
}

// settle moves a file to the place at which the cost of the arrows that run up
// is lowest. It reports whether this lowered the cost.
func settle(cost [][]int, order []int, file int) bool {
	at := slices.Index(order, file)
	best, most := at, 0
	for _, step := range []int{-1, 1} {
		saved := 0
		for j := at + step; j >= 0 && j < len(order); j += step {
			// The two files change places. An arrow between them that ran down
			// now runs up. An arrow that ran up now runs down.
			saved += step * (cost[file][order[j]] - cost[order[j]][file])
			if saved > most {
				best, most = j, saved
			}
		}
	}
	if most == 0 {
		return false
	}
	copy(order[at:], order[at+1:])
	copy(order[best+1:], order[best:len(order)-1])
	order[best] = file
	return true
}

// orderCost adds up the cost of the arrows that run up. The order begins with
// the lowest file.
func orderCost(cost [][]int, order []int) int {
	sum := 0
	for at, i := range order {
		for _, j := range order[at+1:] {
			sum += cost[i][j]
		}
	}
	return sum
}
