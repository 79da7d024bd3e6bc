package kubeconfig

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// maxFile bounds a file that a kubeconfig names, in bytes. Certificates, keys
// and tokens are a few KiB.
const maxFile = 1 << 20

// dataOrFile returns what a pair of fields like client-key-data and client-key
// holds. path is the one without -data.
func dataOrFile(path string, data []byte, file string) ([]byte, error) {
	if file == "" {
		return data, nil
	}
	if len(data) > 0 {
		return nil, invalid(path, "is given together with %s-data; keep one", path[strings.LastIndexByte(path, '.')+1:])
	}
	content, err := readFile(file)
	if err != nil {
		return nil, invalid(path, "%w", err)
	}
	return content, nil
}

// token returns the user's bearer token, and the file to read it again from.
// The file wins over the token, as in kubectl.
func token(user *clientcmdapi.AuthInfo, path string) (token, file string, err error) {
	token, path = user.Token, path+".token"
	if user.TokenFile != "" {
		path += "File"
		content, err := readFile(user.TokenFile)
		if err != nil {
			return "", "", invalid(path, "%w", err)
		}
		token = strings.TrimSpace(string(content))
		if token == "" {
			return "", "", invalid(path, "names a file without a token")
		}
	}
	for _, r := range token {
		if r <= ' ' || r > '~' {
			return "", "", invalid(path, "holds a character that no token has (white space, a control character, or one beyond ASCII)")
		}
	}
	return token, user.TokenFile, nil
}

// readFile reads a regular file. The error does not tell its name, which is a
// secret when people put the content where the name belongs. Links are followed:
// Kubernetes mounts tokens behind some.
func readFile(name string) ([]byte, error) {
	if !filepath.IsAbs(name) {
		return nil, errors.New("is not an absolute path; use one, or put the content into the kubeconfig (kubectl config view --flatten --minify)")
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("names a file that cannot be read: %w", cause(err))
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("names something that is not a regular file")
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("names a file that cannot be read: %w", cause(err))
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("names a file that cannot be read: %w", cause(err))
	case len(content) > maxFile:
		return nil, fmt.Errorf("names a file that is larger than %d bytes", maxFile)
	case len(content) == 0:
		return nil, errors.New("names a file that is empty")
	}
	return content, nil
}

// cause drops the operation and path that an os error repeats.
func cause(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
