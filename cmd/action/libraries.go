package main

import (
	"io"
	"log"

	azlog "github.com/Azure/azure-sdk-for-go/sdk/azcore/log"
	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// silenceLibraries keeps what libraries log by themselves out of the log: the
// Azure SDK with AZURE_SDK_GO_LOGGING, net/http with GODEBUG, client-go. They
// write past the host, so nothing is masked in it, and a line that a server sent
// could be a command to the runner.
//
// It changes the whole process, before anything else runs in it.
func silenceLibraries() {
	azlog.SetListener(nil)
	log.SetOutput(io.Discard)
	klog.SetLogger(logr.Discard())
}
