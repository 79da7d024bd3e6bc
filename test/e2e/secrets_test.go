package e2e

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
)

// expectNoSecrets looks for the credential, and parts of it, in everything that
// the runs printed and wrote.
func (s *scene) expectNoSecrets() {
	var secrets []string
	for _, secret := range s.secrets {
		secrets = append(secrets, secret, base64.StdEncoding.EncodeToString([]byte(secret)))
		for part := range strings.SplitSeq(secret, ".") { // a JWT's payload and signature are as telling
			if len(part) > 40 {
				secrets = append(secrets, part)
			}
		}
	}
	look := func(where, text string) {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "::add-mask::") {
				continue // it is there to be told to the runner, which shows ***
			}
			for _, secret := range secrets {
				if strings.Contains(line, secret) {
					s.t.Errorf("a secret is in %s", where)
				}
			}
		}
	}
	for _, e := range s.ends {
		look("standard output", e.Stdout)
		look("standard error", e.Stderr)
		s.lookInto(e.Dir, look)
	}
	s.lookInto(s.Dir, look)
}

// lookInto shows every file below a folder, but for the kubeconfigs, where the
// secrets belong.
func (s *scene) lookInto(dir string, look func(where, text string)) {
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(d.Name(), "kubeconfig") {
			return err
		}
		b, err := os.ReadFile(path)
		look(path, string(b))
		return err
	})
	if err != nil {
		s.t.Error(err)
	}
}
