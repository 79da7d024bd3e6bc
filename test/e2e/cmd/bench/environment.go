package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Environment is where something was measured.
type Environment struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"`
	Go   string `json:"go"`
	// Kubernetes is the version of the API server, and Node who ran the pods:
	// kubelet or kwok.
	Kubernetes string `json:"kubernetes"`
	Node       string `json:"node"`
	// Kubectl is the version of the kubectl that was compared with, and
	// KubectlFrom where it came from.
	Kubectl     string `json:"kubectl"`
	KubectlFrom string `json:"kubectl_from"`
	// Kubelogin is the version of the kubelogin that was compared with, "" where
	// there was none.
	Kubelogin string `json:"kubelogin,omitempty"`
	// LoadBefore and LoadAfter are how many processes were ready to run, as an
	// average over a minute, -1 where that is not known. What was measured under
	// a load of others is no measure.
	LoadBefore float64 `json:"load_before"`
	LoadAfter  float64 `json:"load_after"`
}

func newEnvironment() Environment {
	return Environment{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version(),
		LoadBefore: load(), LoadAfter: -1,
	}
}

// load returns the load average over one minute (proc_loadavg(5)), or -1.
func load() float64 {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return -1
	}
	first, _, _ := strings.Cut(string(b), " ")
	l, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return -1
	}
	return l
}
