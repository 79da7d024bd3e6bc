module github.com/aks-oneshot/aks-oneshot/test/peers/act

go 1.26.0

require (
	github.com/aks-oneshot/aks-oneshot v0.0.0-00010101000000-000000000000
	github.com/nektos/act v0.2.89
)

require (
	github.com/golang-jwt/jwt/v5 v5.3.1 // indirect
	github.com/julienschmidt/httprouter v1.3.0 // indirect
	github.com/sirupsen/logrus v1.9.3 // indirect
	golang.org/x/sys v0.50.0 // indirect
	google.golang.org/protobuf v1.36.9 // indirect
)

replace github.com/aks-oneshot/aks-oneshot => ../../..
