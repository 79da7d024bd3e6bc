package cache

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/checkpoint"
)

// maxNumber bounds how many keys there are for a step in an attempt. More than one is
// used where one is held by a save that never ended (GitHub holds it for up to 24
// hours), or by something that is no record.
const maxNumber = 16

// prefixOf begins the keys of a step in every attempt. Both names end with a dot, so
// that it begins no key of an execution or a step whose name goes on. In the name of
// an execution there is none, and no comma, which parts keys in the protocol (v1).
func prefixOf(execution string, step checkpoint.Step) string {
	return keyPrefix + execution + "." + string(step) + "."
}

// keyOf returns the n-th key of a step in an attempt, n from 1.
func keyOf(execution string, step checkpoint.Step, attempt, n int) string {
	key := fmt.Sprintf("%s%d", prefixOf(execution, step), attempt)
	if n > 1 {
		key += fmt.Sprintf(".%d", n)
	}
	return key
}

// attemptOf returns the attempt of a key that [keyOf] makes for the step, and
// whether it is one: the service matches by prefix, and others may write keys.
func attemptOf(key, execution string, step checkpoint.Step) (attempt int, ok bool) {
	rest, ok := strings.CutPrefix(key, prefixOf(execution, step))
	if !ok {
		return 0, false
	}
	first, second, more := strings.Cut(rest, ".")
	attempt, ok = counted(first, 1)
	if ok && more {
		_, ok = counted(second, 2)
	}
	return attempt, ok
}

// counted reads a number, which must be in its shortest form and not below least.
func counted(text string, least int) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= least && strconv.Itoa(n) == text
}
