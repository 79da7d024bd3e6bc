// Package standin plays what the action meets on its way from a workflow to an
// API server: the id-token endpoints of GitHub and of Azure Pipelines, Microsoft
// Entra, Azure Resource Manager, a proxy, and what GitHub has for a workflow to keep
// things in. They speak the real protocols over real TLS with tokens that are
// really signed, check what they are sent as the real ones do, keep a ledger of
// every secret they hand out, and misbehave on command. Only tests, benchmarks and
// demonstrations use them; everything is on the loopback.
//
// [NewAzure] starts what credentials come from, [NewStores] GitHub's stores.
package standin
