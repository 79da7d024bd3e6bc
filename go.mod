module github.com/aks-oneshot/aks-oneshot

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0 // indirect
	github.com/sethvargo/go-githubactions v1.3.2 // indirect
	golang.org/x/sync v0.25.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	k8s.io/client-go v0.37.2 // indirect
)
