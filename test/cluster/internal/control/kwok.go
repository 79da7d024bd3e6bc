package control

import (
	"context"
	"errors"
)

func (c *Cluster) newKwok() *process { return c.process("kwok", c.spec.Programs.Kwok) }

func (c *Cluster) playedNode(context.Context, <-chan struct{}) error {
	return errors.New("not yet")
}
