package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The bounds of a retention. A day is more than a run can take (the timeouts of
// an execution and two successors, of six hours each) and the hour after which
// the contract has its Job removed.
const (
	day          = 24 * time.Hour
	minRetention = 1
	maxRetention = 3650
)

// parseRetention reads days, or a duration as Go has them. A number alone is
// seconds in one input and days in another tool: it has to say which.
func parseRetention(s string) (time.Duration, error) {
	var out time.Duration
	var err error
	if days, found := strings.CutSuffix(s, "d"); found {
		n, bad := strconv.ParseUint(days, 10, 16)
		out, err = time.Duration(n)*day, bad
	} else {
		out, err = time.ParseDuration(s)
	}
	if err != nil || strings.Trim(s, "0123456789") == "" {
		return 0, fmt.Errorf("is %q; want days such as 90d, or hours such as 36h", s)
	}
	if out < minRetention*day || out > maxRetention*day {
		return 0, fmt.Errorf("is %q; want from %dd to %dd", s, minRetention, maxRetention)
	}
	return out, nil
}
