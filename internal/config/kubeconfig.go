package config

import (
	"fmt"
	"path/filepath"

	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// Kubeconfig is either a file or its content.
type Kubeconfig struct {
	// Path is the absolute path of the file, "" when Content is there.
	Path string
	// Content is the kubeconfig itself.
	Content []byte
	// Input names the input that it came from, for messages.
	Input string
}

// readKubeconfig returns the kubeconfig that is to be used. azure are the inputs
// that have one asked from Azure: where there are any, the one that a context
// names does not count, and one that is given is told to be too much, and
// returned all the same, so that the credentials in it are hidden.
func readKubeconfig(p *problems, v values, pinned pinned, azure []string) Kubeconfig {
	if len(azure) > 0 {
		for _, input := range []string{kubeconfig, kubeconfigContent} {
			if v.given(input) {
				p.add(input, "is given beside %s; give one way into the cluster, a kubeconfig or the inputs of Azure", list("and", azure))
			}
		}
		pinned.kubeconfig = ""
	}
	if v.given(kubeconfigContent) {
		if v.given(kubeconfig) {
			p.add(kubeconfigContent, "is given beside %s; give one of them", kubeconfig)
		}
		return Kubeconfig{Content: []byte(v[kubeconfigContent]), Input: kubeconfigContent}
	}
	path, input := v.text(kubeconfig), kubeconfig
	if path == "" {
		path, input = pinned.kubeconfig, contextFile+"#kubeconfig"
	}
	if path == "" {
		// A context that could not be read may well have named one.
		unread := p.with(contextFile) && (v.given(contextFile) || p.byInput[contextFile].code() != failure.ContextIncomplete)
		if len(azure) == 0 && !unread && !p.with(kubeconfig) {
			p.add(kubeconfig, "is missing, and so are %s and the inputs of Azure%s: nothing says how to get into the cluster", kubeconfigContent, pinned.noKubeconfig()).
				Fix = fmt.Sprintf("Give %s (az needs none), and %s or both %s and %s, to sign in to Azure; or else a kubeconfig. %s",
				clientID, clusterID, resourceGroup, clusterName, emptyInput)
		}
		return Kubeconfig{}
	}
	if !isPath(p, input, path, "a kubeconfig", "; the content goes into "+kubeconfigContent) {
		// It is read all the same, so that the credentials in it are hidden.
		return Kubeconfig{Content: []byte(path), Input: input}
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		p.add(kubeconfig, "making %q absolute: %w", path, err)
	}
	return Kubeconfig{Path: absolute, Input: input}
}
