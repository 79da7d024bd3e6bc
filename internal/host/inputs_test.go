package host_test

import (
	"testing"

	"github.com/aks-oneshot/aks-oneshot/internal/host"
)

func TestEnv(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		env   map[string]string
		input string
		want  string
		given bool
	}{
		{"as the runner hands it over", map[string]string{"INPUT_CLUSTER-NAME": "prod"}, "cluster-name", "prod", true},
		{"as a shell can export it", map[string]string{"INPUT_CLUSTER_NAME": "prod"}, "cluster-name", "prod", true},
		{"the runner's spelling first", map[string]string{"INPUT_CLUSTER-NAME": "a", "INPUT_CLUSTER_NAME": "b"}, "cluster-name", "a", true},
		{"declared but not set", map[string]string{"INPUT_CLUSTER-NAME": "", "INPUT_CLUSTER_NAME": "b"}, "cluster-name", "b", true},
		{"a space in the name", map[string]string{"INPUT_A_B": "x"}, "a b", "x", true},
		{"not set", nil, "image", "", false},
		{"set to nothing", map[string]string{"INPUT_IMAGE": ""}, "image", "", false},
		{"set to blanks", map[string]string{"INPUT_IMAGE": " \n\t\r\n"}, "image", "", false},
		{"white space around one line", map[string]string{"INPUT_IMAGE": "\n  x y \n"}, "image", "x y", true},
		{"Windows line ends", map[string]string{"INPUT_ARGS": "\r\na\r\nb\r\n"}, "args", "a\nb", true},
		{"blank lines around several", map[string]string{"INPUT_ARGS": "\n \n  a \n\n b\t\n \n"}, "args", "  a \n\n b\t", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, given := host.Env(env(tt.env))(tt.input)
			if got != tt.want || given != tt.given {
				t.Errorf("got %q, %t, want %q, %t", got, given, tt.want, tt.given)
			}
		})
	}
}
