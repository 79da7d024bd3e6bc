package config

import (
	"fmt"
	"strconv"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
)

// readSuccessors reads how many successors there may be and the environment of
// each. The reference wants exactly as many environments as retries, so that
// none is forgotten.
func readSuccessors(p *problems, v values, q contract.Request) (int, []map[string]string) {
	count := parsed(p, v, retries, func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || n > oneshot.MaxSuccessors {
			return 0, fmt.Errorf("is %q; want a number from 0 to %d", s, oneshot.MaxSuccessors)
		}
		return n, nil
	})
	items := readEnvironments(p, retryEnvironment, v.text(retryEnvironment))
	var out []map[string]string
	for _, item := range items {
		out = append(out, checkEnvironment(p, retryEnvironment, item))
	}
	if !p.with(retries) && !p.with(retryEnvironment) && len(out) != count {
		p.add(retryEnvironment, "has %d environments, but %s is %d; give one for each successor", len(out), retries, count)
	}
	checkPurpose(p, q, out)
	return count, out
}

// The bounds of a timeout. Six hours is how long a job on GitHub's runners may
// take; one execution cannot use more.
const (
	minTimeout = time.Second
	maxTimeout = 6 * time.Hour
)

func readTimeout(p *problems, v values) time.Duration {
	return parsed(p, v, timeout, func(s string) (time.Duration, error) {
		d, err := time.ParseDuration(s)
		if seconds, errSeconds := strconv.ParseUint(s, 10, 31); errSeconds == nil {
			d, err = time.Duration(seconds)*time.Second, nil
		}
		if err != nil {
			return 0, fmt.Errorf("is %q; want a duration such as 90s or 45m, or a number of seconds", s)
		}
		if d < minTimeout || d > maxTimeout {
			return 0, fmt.Errorf("is %q; want from %s to %s", s, minTimeout, maxTimeout)
		}
		return d, nil
	})
}
