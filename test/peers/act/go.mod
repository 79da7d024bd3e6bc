module github.com/aks-oneshot/aks-oneshot/test/peers/act

go 1.26.0

require (
	github.com/aks-oneshot/aks-oneshot v0.0.0-00010101000000-000000000000
	github.com/aks-oneshot/aks-oneshot/test/peers v0.0.0-00010101000000-000000000000
	github.com/nektos/act v0.2.89
	github.com/sirupsen/logrus v1.9.3
)

require (
	github.com/Azure/azure-sdk-for-go/sdk/azcore v1.23.3 // indirect
	github.com/Azure/azure-sdk-for-go/sdk/internal v1.13.0 // indirect
	github.com/Azure/azure-sdk-for-go/sdk/storage/azblob v1.8.3 // indirect
	github.com/Azure/azure-sdk-for-go/sdk/storage/internal v0.1.0 // indirect
	github.com/golang-jwt/jwt/v5 v5.3.1 // indirect
	github.com/google/go-github/v88 v88.0.0 // indirect
	github.com/google/go-querystring v1.2.0 // indirect
	github.com/julienschmidt/httprouter v1.3.0 // indirect
	golang.org/x/net v0.58.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/text v0.41.0 // indirect
	google.golang.org/protobuf v1.36.9 // indirect
)

replace (
	github.com/aks-oneshot/aks-oneshot => ../../..
	github.com/aks-oneshot/aks-oneshot/test/peers => ../
)
