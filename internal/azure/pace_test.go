package azure

import (
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The documentation tells people these numbers.
func TestUsualPace(t *testing.T) {
	t.Parallel()
	want := pace{
		limit: 2 * time.Minute,
		retries: policy.RetryOptions{
			MaxRetries: 3, RetryDelay: 500 * time.Millisecond, MaxRetryDelay: 15 * time.Second, TryTimeout: 15 * time.Second,
		},
		again:      45 * time.Second,
		unknownYet: []time.Duration{time.Second, 2 * time.Second, 4 * time.Second},
		patience:   10 * time.Second,
		az:         30 * time.Second,
	}
	if diff := cmp.Diff(want, usual, cmp.AllowUnexported(pace{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the usual pace (-want +got):\n%s", diff)
	}
	for name, d := range map[string][2]time.Duration{
		"young": {young, time.Minute}, "renewal": {renewal, 90 * time.Second}, "ahead": {ahead, 5 * time.Minute},
		"spare": {spare, 10 * time.Second}, "again": {again, 10 * time.Second}, "localDial": {localDial, 2 * time.Second},
	} {
		if d[0] != d[1] {
			t.Errorf("%s is %s, want %s", name, d[0], d[1])
		}
	}
}

func TestPause(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		retries      int
		since, asked time.Duration
		least, most  time.Duration // 0 is none
	}{
		"the first":                {0, time.Second, 0, 400 * time.Millisecond, 650 * time.Millisecond},
		"the third":                {2, time.Second, 0, 1600 * time.Millisecond, 2600 * time.Millisecond},
		"the fourth":               {3, time.Second, 0, 0, 0},
		"asked for":                {0, time.Second, 7 * time.Second, 7 * time.Second, 7 * time.Second},
		"asked for too long":       {0, time.Second, 16 * time.Second, 0, 0},
		"late":                     {0, 45 * time.Second, 0, 0, 0},
		"late by what is asked":    {0, 35 * time.Second, 10 * time.Second, 0, 0},
		"in time by what is asked": {0, 34 * time.Second, 10 * time.Second, 10 * time.Second, 10 * time.Second},
	} {
		got, ok := usual.pause(c.retries, c.since, c.asked)
		if ok != (c.most > 0) || ok && (got < c.least || got > c.most) {
			t.Errorf("%s: %s, %v", name, got, ok)
		}
	}
	slow := pace{retries: policy.RetryOptions{MaxRetries: 20, RetryDelay: time.Second, MaxRetryDelay: 2 * time.Second}, again: time.Hour}
	if got, _ := slow.pause(9, 0, 0); got > 2600*time.Millisecond {
		t.Errorf("the tenth pause is %s", got)
	}
}
