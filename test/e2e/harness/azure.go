package harness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/aks-oneshot/aks-oneshot/test/standin"
)

// Azure is a scenario's own: stand-ins that know its job, and in which the
// world's cluster is one of AKS.
type Azure struct {
	*standin.Azure
	// ObjectID is who the job is in Entra, and whom the API server knows it as, but
	// for a person: see the scenario's User.
	ObjectID string

	scenario *Scenario
	// dir has what is given to the step and holds secrets.
	dir string
}

// SignIn makes the scenario find its cluster through an Azure of its own, in
// place of the kubeconfig: as a job of GitHub with `permissions: id-token:
// write`. The cluster of the world must trust Entra ([Trust]). The caller closes
// what is returned.
func (s *Scenario) SignIn() (*Azure, error) {
	a := &Azure{ObjectID: uuid.NewString(), scenario: s, dir: filepath.Join(s.World.Dir, "given-"+s.Name)}
	if err := os.Mkdir(a.dir, 0o700); err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(s.World.Cluster.CAFile())
	if err != nil {
		return nil, err
	}
	if a.Azure, err = standin.NewAzure(a.dir, s.World.Cluster.Server(), ca); err != nil {
		return nil, err
	}
	a.Entra.Change(func(o *standin.EntraOptions) { o.TokenIssuer = tokenIssuer })
	a.Entra.ChangeApp(TenantID, standin.ClientID, func(app *standin.App) { app.ObjectID = a.ObjectID })
	a.ARM.Forbid(standin.ObjectID)
	a.ARM.AllowAt(a.ObjectID, a.ClusterID(), standin.RoleClusterUser...)
	s.User, s.Token, s.Azure = a.ObjectID, "", a
	for _, input := range []string{"kubeconfig", "kubeconfig-content"} {
		delete(s.Inputs, input)
	}
	maps.Copy(s.Inputs, a.Inputs())
	s.Env = a.GitHubEnv()
	return a, nil
}

// Bind binds the runners' Role to whom the API server knows the job as, as the
// documentation tells people to, and waits until it counts.
func (a *Azure) Bind(ctx context.Context) error {
	w := a.scenario.World
	binding := RoleBinding(RoleName, map[string]any{
		"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": a.scenario.User,
	})
	binding["metadata"].(map[string]any)["name"] = a.binding()
	if err := w.API.Create(ctx, rbac+Namespace+"/rolebindings", binding); err != nil {
		return err
	}
	return w.authorized(ctx, map[string]any{"user": a.scenario.User}, "batch", "jobs", "create")
}

// Unbind takes the Role away again, and waits until that counts.
func (a *Azure) Unbind(ctx context.Context) error {
	w := a.scenario.World
	if err := w.API.Delete(ctx, rbac+Namespace+"/rolebindings/"+a.binding(), "Background"); err != nil {
		return err
	}
	return w.may(ctx, false, map[string]any{"user": a.scenario.User}, "batch", "jobs", "create")
}

func (a *Azure) binding() string { return a.scenario.Name + "-" + a.scenario.User }

// FromPipelines makes it a job of Azure Pipelines with a service connection.
func (a *Azure) FromPipelines() {
	s := a.scenario
	s.System = Pipelines
	maps.Copy(s.Inputs, a.PipelinesInputs())
	s.Env = a.PipelinesEnv()
}

// FromPod makes it a process in a pod with workload identity.
func (a *Azure) FromPod() error {
	token, err := a.GitHub.Token(standin.TokenAudience)
	if err != nil {
		return err
	}
	path := filepath.Join(a.dir, "token")
	s := a.scenario
	s.System = Shell
	delete(s.Inputs, "client-id")
	s.Env = map[string]string{
		"AZURE_FEDERATED_TOKEN_FILE": path, "AZURE_CLIENT_ID": standin.ClientID, "AZURE_TENANT_ID": TenantID,
		"AZURE_AUTHORITY_HOST": a.Entra.AuthorityHost(), "SSL_CERT_FILE": a.CAFile,
	}
	return os.WriteFile(path, []byte(token), 0o600)
}

// FromAppService makes it a runner in Azure that has a managed identity.
func (a *Azure) FromAppService() {
	identity := a.Entra.NewIdentity(TenantID, standin.ClientID)
	s := a.scenario
	s.Inputs["auth"] = "managed-identity"
	s.Env = map[string]string{
		"IDENTITY_ENDPOINT": identity.Endpoint, "IDENTITY_HEADER": identity.Header, "SSL_CERT_FILE": a.CAFile,
	}
}

// FromTerminal makes it a person who is logged in with az, and whom the API server
// knows by userPrincipalName. The az that is there answers as the real one does,
// with tokens of that person.
func (a *Azure) FromTerminal() error {
	s := a.scenario
	person := standin.Person{UPN: s.Name + "@orders.example", ObjectID: uuid.NewString()}
	a.ARM.Forbid(a.ObjectID)
	a.ARM.AllowAt(person.ObjectID, a.ClusterID(), standin.RoleClusterUser...)
	a.ObjectID, s.User = person.ObjectID, person.UPN
	for name, audience := range map[string]string{"arm": a.ARM.URL, "aks": standin.AKSServerID} {
		token, made, err := a.Entra.PersonToken(TenantID, audience, person)
		if err != nil {
			return err
		}
		answer := fmt.Sprintf(`{"accessToken": %q, "expiresOn": %q, "expires_on": %d, "tenant": %q, "tokenType": "Bearer"}`,
			token, made.Expires.Local().Format("2006-01-02 15:04:05.000000"), made.Expires.Unix(), TenantID)
		if err := os.WriteFile(filepath.Join(a.dir, name+".json"), []byte(answer), 0o600); err != nil {
			return err
		}
	}
	script := fmt.Sprintf(`#!/bin/sh
echo "$*" >> %[1]s/az.log
case "$*" in
	"account get-access-token "*%[2]s*) exec cat %[1]s/aks.json ;;
	"account get-access-token "*) exec cat %[1]s/arm.json ;;
esac
echo "az: '$1' is not in this az" >&2
exit 2
`, a.dir, standin.AKSServerID)
	bin := filepath.Join(a.dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		return err
	}
	s.System = Shell
	s.Inputs["auth"] = "azure-cli"
	delete(s.Inputs, "client-id")
	s.Env = map[string]string{"PATH": bin + ":/usr/bin:/bin", "SSL_CERT_FILE": a.CAFile}
	return os.WriteFile(filepath.Join(bin, "az"), []byte(script), 0o700)
}

// ConnectTo makes an address that of the cluster's API server.
func (a *Azure) ConnectTo(server string, ca []byte) error {
	return a.ChangeCluster(func(c *standin.Cluster) { c.Server, c.CA = server, ca })
}

// ChangeCluster changes what Azure says of the cluster.
func (a *Azure) ChangeCluster(change func(*standin.Cluster)) error {
	return a.ARM.ChangeCluster(standin.ResourceGroup, standin.ClusterName, change)
}

// Close ends the stand-ins and removes what was given to the step.
func (a *Azure) Close() error { return errors.Join(a.Azure.Close(), os.RemoveAll(a.dir)) }
