package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestOrder(t *testing.T) {
	tests := []struct {
		name   string
		files  []string
		arrows []Arrow
		back   int
		layers int // 0 means not tested: Plan.Layers depends on which arrows are in Plan.Back
	}{
		{"nothing uses anything", []string{"a", "b"}, nil, 0, 1},
		{"one way down", []string{"a", "b", "c"}, []Arrow{{0, 1}, {1, 2}, {0, 2}}, 0, 3},
		{"two that use each other", []string{"a", "b"}, []Arrow{{0, 1}, {1, 0}}, 1, 2},
		{"a circle of three", []string{"a", "b", "c"}, []Arrow{{0, 1}, {1, 2}, {2, 0}}, 1, 3},
		{"one in the middle of everything", []string{"a", "b", "c", "d"}, []Arrow{{0, 1}, {1, 0}, {2, 0}, {0, 2}, {3, 0}, {0, 3}}, 3, 0},
		{"two circles, one above the other", []string{"a", "b", "c", "d"}, []Arrow{{0, 1}, {1, 0}, {2, 3}, {3, 2}, {1, 2}}, 2, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := FileGraph{Files: tt.files, Arrows: make(map[Arrow][]string)}
			for _, a := range tt.arrows {
				g.Arrows[a] = nil
			}
			plan := g.bestOrder()
			if !plan.Exact || len(plan.Back) != tt.back {
				t.Errorf("the arrows %v run back (exact: %v), want %d arrows (exact: true)", plan.Back, plan.Exact, tt.back)
			}
			if tt.layers != 0 && plan.Layers != tt.layers {
				t.Errorf("the plan has %d layers, want %d", plan.Layers, tt.layers)
			}
		})
	}
}

// For six files and random costs, the test tries all orders of the files.
// exactOrder and goodOrder must both find one of the cheapest orders.
func TestCheapestIsTheCheapest(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		cost := chance(random, 6)
		least := math.MaxInt
		permute([]int{0, 1, 2, 3, 4, 5}, 0, func(order []int) { least = min(least, orderCost(cost, order)) })
		if n := orderCost(cost, exactOrder(cost)); n != least {
			t.Errorf("the order of exactOrder costs %d, want %d with the costs %v", n, least, cost)
		}
		if n := orderCost(cost, goodOrder(cost)); n != least {
			t.Errorf("the order of goodOrder costs %d, want %d with the costs %v", n, least, cost)
		}
	}
}

// For 16 files, goodOrder finds the cheapest order. For 70 files, which are too
// many for exactOrder, it finds an order that is no worse than a random one.
func TestGoodOrderOfMany(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	cost := chance(random, 16)
	if good, best := orderCost(cost, goodOrder(cost)), orderCost(cost, exactOrder(cost)); good != best {
		t.Errorf("the order of goodOrder for 16 files costs %d, want %d as that of exactOrder", good, best)
	}
	large := chance(random, 70)
	order, exact := cheapest(large)
	if exact {
		t.Error("cheapest of 70 files reports an exact order, want an approximate one")
	}
	if c := orderCost(large, order); c == 0 || c > orderCost(large, random.Perm(70)) {
		t.Errorf("the order of goodOrder for 70 files costs %d, want at most the cost of a random order, and not 0", c)
	}
	slices.Sort(order)
	for i, file := range order {
		if i != file {
			t.Fatalf("the order of 70 files, sorted, is %v, want each number once", order)
		}
	}
}

func chance(random *rand.Rand, n int) [][]int {
	cost := make([][]int, n)
	for i := range cost {
		for j := range n {
			c := 0
			if i != j && random.IntN(3) == 0 {
				c = anArrow + random.IntN(10)
			}
			cost[i] = append(cost[i], c)
		}
	}
	return cost
}

func permute(order []int, at int, visit func([]int)) {
	if at == len(order) {
		visit(order)
		return
	}
	for i := at; i < len(order); i++ {
		order[at], order[i] = order[i], order[at]
		permute(order, at+1, visit)
		order[at], order[i] = order[i], order[at]
	}
}
