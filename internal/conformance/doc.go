// Package conformance runs the behaviour of the reference implementation,
// recorded as data, against this one. It holds tests only.
//
// The vectors are read from testdata, or from the folder that the environment
// variable ONESHOT_VECTORS names.
package conformance
