package oneshot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// derive reads the template and its ServiceAccount at the same time, holds them
// against what was reviewed and returns the execution that they stand for.
func (r *run) derive(ctx context.Context, q contract.Request) (contract.Execution, error) {
	var cronJob, serviceAccount contract.Object
	// When both fail, the CronJob's failure is told, whichever was faster; the
	// other read then has nothing left to wait for.
	other, cancel := context.WithCancel(ctx)
	defer cancel()
	account := alongside(func() error {
		return r.retry(other, firstContact, func(ctx context.Context) (err error) {
			serviceAccount, err = r.Cluster.ServiceAccount(ctx, q.Namespace.String(), q.ServiceAccount.String())
			return err
		})
	})
	cronErr := r.retry(ctx, firstContact, func(ctx context.Context) (err error) {
		cronJob, err = r.Cluster.CronJob(ctx, q.Namespace.String(), q.Template.String())
		return err
	})
	if cronErr != nil {
		cancel()
	}
	accountErr := account()
	if cronErr != nil {
		return contract.Execution{}, r.contactFailure(ctx, failure.TemplateUnavailable, cronErr)
	}
	if accountErr != nil {
		return contract.Execution{}, r.contactFailure(ctx, failure.IdentityUnavailable, accountErr)
	}
	e, err := contract.Derive(cronJob, serviceAccount, q)
	if err != nil {
		return contract.Execution{}, err
	}
	r.notify(EventVerified, "CronJob %s/%s and ServiceAccount %s are as reviewed; the execution is Job %s", q.Namespace, q.Template, q.ServiceAccount, e.Name)
	return e, nil
}

// firstContact is how long an API server that never answered is tried: a name or
// a network that is wrong does not become right in half an hour.
const firstContact = 3 * time.Minute

// contactFailure is callFailure for the requests that also find out whether
// there is an API server at all: none of them got an answer when it is not.
func (r *run) contactFailure(ctx context.Context, code failure.Code, err error) error {
	var call *CallError
	if errors.As(err, &call) {
		if call.Status == 0 && call.Temporary() {
			code = failure.ClusterUnreachable
		}
	} else if ctx.Err() != nil {
		code = failure.ClusterUnreachable
		err = fmt.Errorf("the API server gave no answer in the time there was: %w", err)
	}
	return r.callFailure(code, err)
}
