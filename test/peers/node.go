package peers

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

//go:embed node/*.mjs
var scripts embed.FS

// Node runs the scripts of the folder node with the packages pinned there.
type Node struct {
	program string // of Node.js
	dir     string // has the scripts, and node_modules
}

// NewNode installs the packages if they are not there yet, and puts the scripts
// beside them into a folder, which is the caller's to remove.
func NewNode(ctx context.Context, dir string) (*Node, error) {
	_, here, _, ok := runtime.Caller(0)
	if !ok {
		return nil, fmt.Errorf("the folder of the test's source is not known")
	}
	root := filepath.Join(filepath.Dir(here), "..", "..")
	install := exec.CommandContext(ctx, filepath.Join(root, "hack", "npm"), "test/peers/node")
	var stderr bytes.Buffer
	install.Stderr = &stderr
	out, err := install.Output()
	if err != nil {
		return nil, fmt.Errorf("could not install the peers: hack/npm: %w\n%s", err, stderr.Bytes())
	}
	program, modules, ok := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if !ok {
		return nil, fmt.Errorf("hack/npm printed %q in place of two lines", out)
	}
	if err := os.CopyFS(dir, scripts); err != nil {
		return nil, err
	}
	n := &Node{program: program, dir: filepath.Join(dir, "node")}
	// A module is looked for beside the script that imports it, and nowhere else.
	return n, os.Symlink(filepath.Join(modules, "node_modules"), filepath.Join(n.dir, "node_modules"))
}

// command is a script that is about to be started, with that environment alone.
// When ctx ends it is asked to end, and killed if it does not.
func (n *Node) command(ctx context.Context, env map[string]string, script string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, n.program, append([]string{filepath.Join(n.dir, script)}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}
