//go:build race

package effort

// Share is the part of hostile input that a test uses, as the race detector slows it down. With it
// the limits are those of the whole input.
const Share = 8

// slowdown is what the race detector costs in memory and time for a share of the input.
const slowdown = 4
