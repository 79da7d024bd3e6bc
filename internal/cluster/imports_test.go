package cluster

import (
	"os/exec"
	"strings"
	"testing"
)

// The typed clients are many times the size of all the rest: the binary is to
// stay small enough to be pulled in a second.
func TestNoTypedClientIsLinked(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	if len(deps) < 100 {
		t.Fatalf("only %d dependencies", len(deps))
	}
	for _, dep := range deps {
		for _, banned := range []string{"k8s.io/client-go/kubernetes", "k8s.io/client-go/informers", "k8s.io/client-go/dynamic", "k8s.io/client-go/discovery", "k8s.io/kubectl", "k8s.io/api/"} {
			if strings.HasPrefix(dep, banned) {
				t.Errorf("%s is linked", dep)
			}
		}
	}
}
