package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version and commit are set by the linker (-ldflags "-X main.version=…"). A
// binary that `go install` built has them in its build information.
var version, commit string

// versionText is what `aks-oneshot version` prints.
func versionText() string {
	v, c := buildVersion(debug.ReadBuildInfo())
	return fmt.Sprintf("aks-oneshot %s\ncommit %s\n%s %s/%s\n", v, c, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func buildVersion(info *debug.BuildInfo, ok bool) (v, c string) {
	v, c = version, commit
	if !ok {
		info = &debug.BuildInfo{}
	}
	if v == "" {
		v = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && c == "" {
			c = s.Value
		}
	}
	if v == "" {
		v = "(devel)"
	}
	if c == "" {
		c = "unknown"
	}
	return v, c
}
