package config

import (
	"fmt"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
)

// pinned is what of a context is wanted beside the pins.
type pinned struct {
	// file is the context file, "" when the members were given one by one.
	file       string
	kubeconfig string
	// tenant and subscription are those that are given, else the context's; zero
	// when there is an error about them.
	tenant, subscription contract.GUID
}

// place says where a member of the context is from: the input that is given, or
// else the file.
func (p pinned) place(v values, input, member string) string {
	if v.given(input) {
		return input
	}
	return fmt.Sprintf("%s in the context in %s", member, p.file)
}

// noKubeconfig ends the sentence that no kubeconfig is given.
func (p pinned) noKubeconfig() string {
	if p.file == "" {
		return ""
	}
	return fmt.Sprintf(", and the context in %s names none", p.file)
}

// isAzureToo reports whether a member of the context is also an input of Azure,
// which may be given beside the context file.
func isAzureToo(input string) bool { return input == tenantID || input == subscriptionID }

// agreed returns the one of the values that an input and the context's file give
// it that there is, and makes sure that they are the same. Either may be zero.
func agreed(p *problems, v values, input string, given, inContext contract.GUID, file string) contract.GUID {
	if !v.given(input) {
		return inContext
	}
	if none := (contract.GUID{}); given != none && inContext != none && given != inContext {
		p.add(input, "is %s, but %s in the context in %s is %s; they must be the same",
			given, strings.ReplaceAll(input, "-", "_"), file, inContext).
			Fix = fmt.Sprintf("Leave %s out or, where the one in the context is wrong, make a new context (aks-oneshot pin)", input)
	}
	return given
}
