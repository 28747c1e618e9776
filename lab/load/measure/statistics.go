// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"math"
	"slices"
)

// Percentiles of latencies, in milliseconds.
type Percentiles struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// PercentilesOf returns nil if there are no values. A percentile is the smallest value that so many are not above.
func PercentilesOf(valuesUS []int64) *Percentiles {
	if len(valuesUS) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(valuesUS))
	at := func(share float64) float64 {
		rank := max(1, int(math.Ceil(share*float64(len(sorted)))))
		return float64(sorted[rank-1]) / 1000
	}
	return &Percentiles{P50: at(0.50), P95: at(0.95), P99: at(0.99), Max: at(1)}
}

// Latencies are the samples' latencies alone.
func Latencies(samples []Sample) []int64 {
	latencies := make([]int64, len(samples))
	for i, s := range samples {
		latencies[i] = s.LatencyUS
	}
	return latencies
}

// What Grows needs to see: four quarters of the window with so many samples each, each quarter's p99 above that of the
// one before, and the last well above the first.
const (
	growthParts      = 4
	growthSamplesMin = 20
	growthFactor     = 2
	growthMinMS      = 50
)

// Grows reports whether the 99th percentile rises steadily over the window: a queue that is never worked off.
func Grows(samples []Sample, beginUS, endUS int64) bool {
	parts := make([][]int64, growthParts)
	for _, s := range samples {
		if s.LeftUS >= beginUS && s.LeftUS < endUS {
			i := (s.LeftUS - beginUS) * growthParts / (endUS - beginUS)
			parts[i] = append(parts[i], s.LatencyUS)
		}
	}
	var p99s []float64
	for _, part := range parts {
		if len(part) < growthSamplesMin {
			return false
		}
		p99s = append(p99s, PercentilesOf(part).P99)
	}
	for i := 1; i < growthParts; i++ {
		if p99s[i] <= p99s[i-1] {
			return false
		}
	}
	first, last := p99s[0], p99s[growthParts-1]
	return last > growthFactor*first && last-first > growthMinMS
}
