package artifact

import (
	"slices"
	"strconv"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
)

// name is what an artifact is called: the execution, the step, the attempt of the
// run and, where that was taken by one that nobody can read, a number from 2 on. No
// part of it is believed of what is in the artifact.
type name struct {
	execution string
	step      checkpoint.Step
	attempt   int
	number    int // 1 is not written
}

func (n name) String() string {
	text := n.execution + "." + string(n.step) + "." + strconv.Itoa(n.attempt)
	if n.number > 1 {
		text += "." + strconv.Itoa(n.number)
	}
	return text
}

// parseName returns the name that a text is, if it is one of ours: the artifacts of a
// run are everybody's in it.
func parseName(text string) (name, bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 && len(parts) != 4 {
		return name{}, false
	}
	n := name{execution: parts[0], step: checkpoint.Step(parts[1]), number: 1}
	n.attempt, _ = strconv.Atoi(parts[2])
	if len(parts) == 4 {
		n.number, _ = strconv.Atoi(parts[3])
	}
	// What is written otherwise, such as 01, is not ours.
	return n, checkpoint.IsExecution(n.execution) && slices.Contains(checkpoint.SharedSteps(), n.step) &&
		n.attempt > 0 && n.number > 0 && n.String() == text
}
