//go:build race

package configmap

// raceEnabled says that the race detector, which costs several times the time,
// is on.
const raceEnabled = true
