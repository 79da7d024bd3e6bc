//go:build !race

package configmap

const raceEnabled = false
