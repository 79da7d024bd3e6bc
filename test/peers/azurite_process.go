package peers

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"time"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// listens is the line that azurite prints when it can be used.
var listens = regexp.MustCompile(`listens on (https://127\.0\.0\.1:\d+)`)

// start starts the process and waits until it says where it listens.
func (a *Azurite) start(ctx context.Context, cmd *exec.Cmd) error {
	a.process = cmd
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	a.stdin, cmd.Stdout, cmd.Stderr = stdin, in, &a.log
	err = cmd.Start()
	in.Close()
	if err != nil {
		out.Close()
		return fmt.Errorf("could not start azurite: %w", err)
	}
	found := make(chan string, 1)
	go func() {
		defer out.Close()
		defer close(found)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			fmt.Fprintln(&a.log, lines.Text())
			if m := listens.FindStringSubmatch(lines.Text()); m != nil {
				found <- m[1]
			}
		}
	}()
	go func() {
		defer close(a.ended)
		_ = cmd.Wait() // Why it ended stands in the log.
	}()
	select {
	case origin, ok := <-found:
		if !ok {
			return a.notStarted(errors.New("it ended at once"))
		}
		a.URL = origin + "/" + account
		return nil
	case <-ctx.Done():
		return a.notStarted(context.Cause(ctx))
	}
}

// notStarted ends the process and says why it is of no use, with all that it printed:
// the last of that may come after its output has ended.
func (a *Azurite) notStarted(err error) error {
	closing := a.Close()
	return errors.Join(fmt.Errorf("azurite did not start: %w\n%s", err, a.log.String()), closing)
}

// Close ends the process and returns when it is gone.
func (a *Azurite) Close() error {
	_ = a.stdin.Close() // This alone ends it.
	patience := time.NewTimer(10 * time.Second)
	defer patience.Stop()
	select {
	case <-a.ended:
		return nil
	case <-patience.C:
	}
	_ = a.process.Process.Signal(syscall.SIGKILL) // It may have ended meanwhile.
	<-a.ended
	return fmt.Errorf("azurite, process %d, did not end in 10 s and was killed:\n%s", a.process.Process.Pid, a.log.String())
}

// writeCertificate puts a server's certificate and key where azurite reads them.
func writeCertificate(authority *standin.Authority, dir string) (certFile, keyFile string, err error) {
	certificate, err := authority.Server()
	if err != nil {
		return "", "", err
	}
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		return "", "", err
	}
	certFile, keyFile = filepath.Join(dir, "server.crt"), filepath.Join(dir, "server.key")
	return certFile, keyFile, errors.Join(
		os.WriteFile(certFile, chain(certificate), 0o600),
		os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600))
}

func chain(certificate tls.Certificate) []byte {
	var all []byte
	for _, der := range certificate.Certificate {
		all = append(all, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	return all
}

// log is what a process printed so far.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
