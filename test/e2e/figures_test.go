package e2e

import (
	"fmt"
	"slices"
	"sync"
)

// figures are what tests measured that is worth telling.
var (
	figuresMu sync.Mutex
	figures   []string
)

// figure keeps one, for whoever reads the output of the tests: each is a line
// that begins with "figure: ".
func figure(name, format string, args ...any) {
	figuresMu.Lock()
	defer figuresMu.Unlock()
	figures = append(figures, "figure: "+name+": "+fmt.Sprintf(format, args...))
}

// printFigures prints them when all tests are over: a test's own output is only
// shown with -v.
func printFigures() {
	figuresMu.Lock()
	defer figuresMu.Unlock()
	slices.Sort(figures)
	for _, f := range figures {
		fmt.Println(f)
	}
	figures = nil
}
