// Package network is what the adapters that speak HTTP have in common: proxies
// whose addresses are never shown, connections that end in time, answers that are
// bounded, and why a connection could not be had, in one wording for all. What can be
// done about it is for the most part the adapters' own to tell.
package network
