package host_test

import (
	"testing"

	"github.com/aks-oneshot/aks-oneshot/internal/host"
)

func env(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func TestDetect(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		env  map[string]string
		want host.Kind
	}{
		{"nothing", nil, host.Terminal},
		{"a workflow", map[string]string{"GITHUB_ACTIONS": "true"}, host.GitHub},
		{"some CI system", map[string]string{"CI": "true", "GITHUB_ACTIONS": ""}, host.Terminal},
		{"a pipeline", map[string]string{"TF_BUILD": "True"}, host.Pipelines},
		{"a script that plays a pipeline", map[string]string{"TF_BUILD": "true"}, host.Terminal},
		{"a workflow's runner within a pipeline", map[string]string{"GITHUB_ACTIONS": "true", "TF_BUILD": "True"}, host.GitHub},
		{"said to be no workflow", map[string]string{"GITHUB_ACTIONS": "false"}, host.Terminal},
	}
	for _, tt := range tests {
		if got := host.Detect(env(tt.env)); got != tt.want {
			t.Errorf("%s is %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestCheckOutput(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]bool{
		"outcome": true, "job-name": true, "_a9": true,
		"": false, "9a": false, "-a": false, "a b": false, "a=b": false, "a<<b": false, "a\n": false, "a\nb": false, "é": false,
	} {
		if err := host.CheckOutput(name); (err == nil) != good {
			t.Errorf("CheckOutput(%q) = %v, want an error: %t", name, err, !good)
		}
	}
}
