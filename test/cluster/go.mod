module github.com/aks-oneshot/aks-oneshot/test/cluster

go 1.26.0
