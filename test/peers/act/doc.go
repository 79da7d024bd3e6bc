// Package act has the store of artifacts meet the artifact server of nektos/act,
// an implementation of the results service that nobody here wrote. It is a module
// of its own for the sake of what that server brings along.
package act
