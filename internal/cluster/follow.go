package cluster

import (
	"context"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/network"
)

// follow watches from where the last watch came to, and chooses how soon to come
// back by what the watch was good for: at once, unless it was too short for
// anything but a server that ends all of them.
func (w *jobWatch) follow(ctx context.Context) error {
	began, from := time.Now(), w.from
	err := w.observe(ctx)
	brief := time.Since(began) < w.c.times.brief
	if !brief || w.from != from {
		w.pauses.reset()
	}
	if err == nil && brief {
		return network.Sleep(ctx, w.pauses.step())
	}
	return err
}

// observe shows what one watch delivers until it ends. When nothing comes for a
// while, a read has to prove that there is nothing to come: connections die
// without a word, and so do watches on connections that live. A bookmark proves
// that the connection lives and no more, so it puts the read off for a time only.
func (w *jobWatch) observe(ctx context.Context) error {
	watch := w.c.watch(ctx, jobs, w.namespace, w.name, w.from)
	defer watch.close()
	// The server may not heed how long it is asked to keep the watch up.
	end := time.NewTimer(watch.limit)
	defer end.Stop()
	quiet := time.NewTimer(w.quiet())
	defer quiet.Stop()
	var proof *proof
	defer func() { proof.drop() }()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-end.C:
			return nil
		case e := <-watch.events:
			if e.ended {
				return e.err
			}
			before := w.shown
			if err := w.take(e); err != nil {
				return err
			}
			switch {
			case w.shown != before:
				// What the read returns may be older by now.
				proof.drop()
				proof = nil
				quiet.Reset(w.quiet())
			case e.kind == eventBookmark && proof == nil:
				quiet.Reset(w.quiet())
			}
		case <-quiet.C:
			proof = w.prove(ctx)
		case answer := <-proof.answer():
			proof.drop()
			proof = nil
			if answer.err != nil {
				return answer.err
			}
			w.well()
			if stateOf(answer.job) != w.shown {
				return w.begin(answer.job)
			}
			w.news = time.Now()
			quiet.Reset(w.quiet())
		}
	}
}

// quiet is how long nothing may come from now on before a read.
func (w *jobWatch) quiet() time.Duration {
	if w.news.IsZero() {
		w.news = time.Now()
	}
	return max(0, min(w.c.times.silence, time.Until(w.news.Add(w.c.times.stretch))))
}

// take shows what an event says.
func (w *jobWatch) take(e event) error {
	bookmark := e.kind == eventBookmark
	if !bookmark && !w.is(e.object) {
		return nil
	}
	w.well()
	if version := contract.ResourceVersion(e.object); version != "" {
		w.from = version
	}
	switch {
	case bookmark:
		return nil
	case e.kind == eventDeleted:
		return w.show(nil)
	case e.kind == eventAdded || e.kind == eventModified:
		return w.show(e.object)
	}
	return nil
}

// proof is a read under way beside a watch.
type proof struct {
	answers chan reading
	cancel  context.CancelFunc
}

type reading struct {
	job contract.Object
	err error
}

func (w *jobWatch) prove(ctx context.Context) *proof {
	ctx, cancel := context.WithCancel(ctx)
	p := &proof{answers: make(chan reading, 1), cancel: cancel}
	go func() {
		job, err := w.get(ctx, w.c.times.proof)
		p.answers <- reading{job, err}
	}()
	return p
}

// answer is where the read's answer arrives; nothing does when there is none.
func (p *proof) answer() <-chan reading {
	if p == nil {
		return nil
	}
	return p.answers
}

// drop gives the read up.
func (p *proof) drop() {
	if p != nil {
		p.cancel()
	}
}
