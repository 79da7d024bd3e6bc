// Package contract decides what is under control: which fields of a CronJob, a
// ServiceAccount and a Job were reviewed, how they are digested, and which Job
// one execution stands for.
//
// It is pure. Values go in and come out; there is no I/O, no clock and no
// Kubernetes library. Objects are plain JSON as the API server sent it, since
// digests are taken over the fields as read.
//
// Everything here speaks the dialect fdai/v1, which the reference
// implementation (fdai-deployment-cli 0.1.2) defines byte for byte.
package contract
