package supervise

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/cluster/internal/control"
)

// process names one process for good: its number alone may be given to another.
type process struct {
	PID     int
	Started string
}

func thisProcess() process {
	return process{PID: os.Getpid(), Started: startTime(os.Getpid())}
}

// startTime is when a process started, in the system's own words; "" if there
// is no such process.
func startTime(pid int) string {
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		// The second field is a name in parentheses and may contain anything.
		fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		return fields[19]
	}
	if _, err := os.Stat("/proc/self/stat"); err == nil {
		return ""
	}
	b, _ := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	return strings.TrimSpace(string(b))
}

// State is what is known of the cluster in a folder.
type State int

// The states of a folder.
const (
	Absent   State = iota
	Left           // a cluster's supervisor was killed: files remain
	Starting       // not ready yet, or about to end
	Running
)

// Look tells the state of the cluster in a folder.
func Look(dir string) (State, control.Info) {
	var info control.Info
	if lock, err := lockFolder(dir); err == nil {
		defer lock.Close()
		if _, err := os.Stat(filepath.Join(dir, specFile)); err != nil {
			return Absent, info // a folder, but not a cluster's
		}
		return Left, info
	} else if errors.Is(err, fs.ErrNotExist) {
		return Absent, info
	}
	if err := readJSON(filepath.Join(dir, readyFile), &info); err != nil {
		return Starting, info
	}
	return Running, info
}

// Down ends the cluster in a folder, whoever started it, and returns when
// nothing is left. It is content when there is none.
func Down(dir string) error {
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		switch state, _ := Look(dir); state {
		case Absent:
			return nil
		case Left:
			f, err := claimGiven(dir)
			if err != nil {
				return err
			}
			sweepCgroups()
			return f.remove()
		}
		var owner process
		if err := readJSON(filepath.Join(dir, ownerFile), &owner); err != nil {
			continue // it is just being written or removed
		}
		if owner.Started != "" && startTime(owner.PID) == owner.Started {
			_ = syscall.Kill(owner.PID, syscall.SIGTERM)
		}
	}
	return fmt.Errorf("the cluster in %s did not end within 30 s; its supervisor is named in %s", dir, filepath.Join(dir, ownerFile))
}
