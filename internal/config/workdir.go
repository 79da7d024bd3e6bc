package config

import "path/filepath"

// rootWorkDir is where the records of a container that runs as root are, and
// where a volume for them is mounted: the place of variable state that
// programs keep between runs (Filesystem Hierarchy Standard 3.0, 5.8).
const rootWorkDir = "/var/lib/aks-oneshot"

// readWorkDir returns the absolute path of the work folder.
//
// The default is never the workspace, HOME or RUNNER_TEMP of a runner: those
// are mounts that belong to the runner's user, who could replace the folder
// under a container that runs as root, so they fail the ownership rules.
func readWorkDir(p *problems, v values, src Source) string {
	if v.given(workDir) {
		if isContent(v.text(workDir)) {
			p.add(workDir, "holds more than the path of a folder")
			return ""
		}
		path, err := filepath.Abs(v.text(workDir))
		if err != nil {
			p.add(workDir, "making %q absolute: %w", v.text(workDir), err)
		}
		return path
	}
	if src.UID == 0 {
		return rootWorkDir
	}
	// The XDG Base Directory Specification has a relative path ignored.
	if state := src.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "aks-oneshot")
	}
	if home := src.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "aks-oneshot")
	}
	p.add(workDir, "is missing, and neither XDG_STATE_HOME nor HOME says where this user keeps state")
	return ""
}
