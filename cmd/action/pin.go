package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/aks-oneshot/aks-oneshot/internal/config"
	"github.com/aks-oneshot/aks-oneshot/internal/contract"
	"github.com/aks-oneshot/aks-oneshot/internal/failure"
	"github.com/aks-oneshot/aks-oneshot/internal/oneshot"
	"github.com/aks-oneshot/aks-oneshot/internal/report"
)

// maxCronJob bounds what pin reads, in bytes: more than twice what etcd holds of
// one object by default (etcd, --max-request-bytes).
const maxCronJob = 4 << 20

// pinFlags are what pin has to be told beside the CronJob. Each is needed.
var pinFlags = []struct{ name, means string }{
	{"target-binding", "Digest of the target that the deployment belongs to: 64 lower-case hexadecimal digits. Any that tells your clusters apart will do."},
	{"tenant-id", "Entra tenant of the workload's identity: a GUID."},
	{"subscription-id", "Azure subscription of the workload's identity: a GUID."},
	{"identity-client-id", "Client id of the managed identity that the workload acts as: a GUID."},
	{"identity-resource-id", "Resource id of that identity: /subscriptions/…/userAssignedIdentities/NAME."},
}

// pin prints the context that a reviewed CronJob, read from stdin, stands for,
// and returns the exit status. It asks no cluster and prints nothing but the
// context on stdout.
func pin(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	data, notes, err := pinned(ctx, args, stdin)
	if ctx.Err() != nil {
		_, _ = fmt.Fprintf(stderr, "aks-oneshot pin: %v, nothing was pinned\n", context.Cause(ctx))
		return report.ExitStatus(oneshot.Cancelled)
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "aks-oneshot pin: %v\n", err)
		return report.ExitStatus(oneshot.Invalid)
	}
	for _, note := range notes {
		_, _ = fmt.Fprintf(stderr, "aks-oneshot pin: warning: %s\n", note)
	}
	return say(stdout, stderr, string(data))
}

// pinned returns the context as JSON and what to look at again, or everything
// that is wrong with the flags or the first thing that is wrong with the CronJob.
func pinned(ctx context.Context, args []string, stdin io.Reader) (data []byte, notes []string, err error) {
	given, err := readPinFlags(args)
	if err != nil {
		return nil, nil, err
	}
	cronJob, err := readCronJob(ctx, stdin)
	if err != nil {
		return nil, nil, err
	}
	object, err := contextOf(cronJob, given)
	if err != nil {
		return nil, nil, asInput(err)
	}
	if err := rehearse(cronJob, object); err != nil {
		return nil, nil, asInput(err)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err = encoder.Encode(object)
	return out.Bytes(), warnings(cronJob), err
}

// readPinFlags reads --name=value and --name value. What is no flag is told by
// its place: it may be a secret that went astray.
func readPinFlags(args []string) (map[string]string, error) {
	var wrong config.Errors
	add := func(at, format string, a ...any) {
		wrong = append(wrong, failure.New(failure.ConfigInvalid, format, a...).At(at))
	}
	given := map[string]string{}
	for i := 0; i < len(args); i++ {
		at := fmt.Sprintf("argument %d", i+1)
		flag, value, hasValue := strings.Cut(args[i], "=")
		name, dashed := strings.CutPrefix(flag, "--")
		if !dashed || !isPinFlag(name) {
			add(at, "is no flag of pin; aks-oneshot help pin lists them")
			continue
		}
		if !hasValue && i+1 < len(args) && !strings.HasPrefix(args[i+1], "--") {
			i++
			value = args[i]
		}
		if _, twice := given[name]; twice {
			add(name, "is given twice")
		}
		given[name] = strings.TrimSpace(value)
	}
	forms := map[string]func(string) error{
		"target-binding":     formOf(contract.ParseDigest),
		"tenant-id":          formOf(contract.ParseGUID),
		"subscription-id":    formOf(contract.ParseGUID),
		"identity-client-id": formOf(contract.ParseGUID),
	}
	for _, f := range pinFlags {
		form := forms[f.name]
		if given[f.name] == "" {
			add(f.name, "is missing")
		} else if form != nil {
			if err := form(given[f.name]); err != nil {
				add(f.name, "%w", err)
			}
		}
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	return given, nil
}

func isPinFlag(name string) bool {
	for _, f := range pinFlags {
		if f.name == name {
			return true
		}
	}
	return false
}

func formOf[T any](parse func(string) (T, error)) func(string) error {
	return func(s string) error {
		_, err := parse(s)
		return err
	}
}

// readCronJob reads one CronJob, for as long as ctx lasts.
func readCronJob(ctx context.Context, stdin io.Reader) (contract.Object, error) {
	const at = "standard input"
	type read struct {
		data []byte
		err  error
	}
	done := make(chan read, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(stdin, maxCronJob+1))
		done <- read{data, err}
	}()
	var in read
	select {
	case in = <-done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	wrong := func(format string, a ...any) (contract.Object, error) {
		return nil, failure.New(failure.ConfigInvalid, format, a...).At(at).
			WithFix("Give one CronJob as JSON: kubectl get cronjob NAME -n fdai-runtime -o json | aks-oneshot pin …")
	}
	switch {
	case in.err != nil:
		return wrong("could not be read: %w", in.err)
	case len(in.data) > maxCronJob:
		return wrong("has more than %d bytes", maxCronJob)
	case len(bytes.TrimSpace(in.data)) == 0:
		return wrong("is empty")
	}
	object, err := contract.ParseObject(in.data)
	if err != nil {
		return wrong("is no JSON object: %w", err)
	}
	if object["kind"] != "CronJob" || object["apiVersion"] != "batch/v1" {
		return wrong("is no CronJob of batch/v1")
	}
	return object, nil
}

// asInput makes an error one about the input: what a run calls drift, before
// there is a pin, is nothing but a CronJob that cannot be pinned. A flag is named
// as it is given.
func asInput(err error) error {
	e := *asFailure(err)
	e.Code = failure.ConfigInvalid
	if flag := strings.ReplaceAll(e.Field, "_", "-"); isPinFlag(flag) {
		e.Field = flag
	}
	return &e
}
