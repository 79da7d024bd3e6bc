package oneshot

import (
	"context"
	"errors"

	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
)

// derive reads the template and its ServiceAccount at the same time, holds them
// against what was reviewed and returns the execution that they stand for.
func (r *run) derive(ctx context.Context, q contract.Request) (contract.Execution, error) {
	var cronJob, serviceAccount contract.Object
	// Neither read ends the other: which failure is told must not depend on
	// which of them was faster.
	account := alongside(func() error {
		return r.retry(ctx, func(ctx context.Context) (err error) {
			serviceAccount, err = r.Cluster.ServiceAccount(ctx, q.Namespace.String(), q.ServiceAccount.String())
			return err
		})
	})
	cronErr := r.retry(ctx, func(ctx context.Context) (err error) {
		cronJob, err = r.Cluster.CronJob(ctx, q.Namespace.String(), q.Template.String())
		return err
	})
	accountErr := account()
	if cronErr != nil {
		return contract.Execution{}, r.firstContact(failure.TemplateUnavailable, cronErr)
	}
	if accountErr != nil {
		return contract.Execution{}, r.firstContact(failure.IdentityUnavailable, accountErr)
	}
	e, err := contract.Derive(cronJob, serviceAccount, q)
	if err != nil {
		return contract.Execution{}, err
	}
	r.notify(EventVerified, "CronJob %s/%s and ServiceAccount %s are as reviewed; the execution is Job %s", q.Namespace, q.Template, q.ServiceAccount, e.Name)
	return e, nil
}

// firstContact is callFailure for the requests that also find out whether there
// is an API server at all: none of them got an answer when it is not.
func (r *run) firstContact(code failure.Code, err error) error {
	var call *CallError
	if errors.As(err, &call) && call.Status == 0 && call.Temporary() {
		code = failure.ClusterUnreachable
	}
	return r.callFailure(code, err)
}
