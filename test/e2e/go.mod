module github.com/aks-oneshot/aks-oneshot/test/e2e

go 1.26.0

require (
	github.com/aks-oneshot/aks-oneshot v0.0.0-00010101000000-000000000000
	github.com/aks-oneshot/aks-oneshot/test/cluster v0.0.0-00010101000000-000000000000
	github.com/google/uuid v1.6.0
)

require (
	github.com/golang-jwt/jwt/v5 v5.3.1 // indirect
	go.yaml.in/yaml/v2 v2.4.4 // indirect
	sigs.k8s.io/yaml v1.6.0 // indirect
)

require (
	github.com/yuin/goldmark v1.8.7
	golang.org/x/sync v0.25.0
	golang.org/x/sys v0.50.0 // indirect
)

replace (
	github.com/aks-oneshot/aks-oneshot => ../..
	github.com/aks-oneshot/aks-oneshot/test/cluster => ../cluster
)
