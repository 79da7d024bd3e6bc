//go:build !race

package oneshot

const raceEnabled = false
