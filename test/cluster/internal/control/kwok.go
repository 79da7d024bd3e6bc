package control

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"text/template"
)

//go:embed kwok/config.yaml
var kwokConfig string

// playedLog is the log of every container that kwok plays, as a kubelet has it.
const playedLog = "2026-01-01T00:00:00.000000000Z stdout F this pod is played by kwok: nothing runs\n"

func (c *Cluster) newKwok() *process {
	return c.process("kwok", c.spec.Programs.Kwok, "--kubeconfig="+KubeconfigFile(kwokUser), "--config=kwok.yaml")
}

// playedNode registers the node and has kwok keep it and its pods alive.
func (c *Cluster) playedNode(ctx context.Context, up <-chan struct{}) error {
	select {
	case <-up:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	node := fmt.Sprintf(`{"apiVersion":"v1","kind":"Node","metadata":{"name":%q,"labels":{"kubernetes.io/hostname":%[1]q,"kubernetes.io/os":"linux"}}}`, NodeName)
	if err := c.client.do(ctx, http.MethodPost, "/api/v1/nodes", node, nil); err != nil {
		return fmt.Errorf("could not register the node: %w", err)
	}
	var err error
	for range 3 {
		if err = c.startKwok(); err != nil {
			return err
		}
		if err = c.waitNode(ctx); err == nil {
			c.note("node, played by kwok,")
			return nil
		}
		if c.kwok.ended() == nil || !strings.Contains(Tail(c.kwok.log, 50), portTaken) {
			break
		}
	}
	return err
}

func (c *Cluster) startKwok() error {
	port, err := freePort()
	if err != nil {
		return err
	}
	t, err := template.New("kwok").Delims("<<", ">>").Parse(kwokConfig)
	if err != nil {
		return err
	}
	var config bytes.Buffer
	if err := t.Execute(&config, struct{ Port int }{port}); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(c.spec.path("kwok.yaml"), config.Bytes(), 0o600),
		os.WriteFile(c.spec.path("kwok-pod.log"), []byte(playedLog), 0o600),
		c.kwok.start(),
	)
}
