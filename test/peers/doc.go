// Package peers has the stores of the records meet what nobody here wrote: the
// official clients of GitHub's artifacts and cache, and azurite, Microsoft's own
// emulator of its blob storage, behind the signed URLs of test/standin. The
// module below it, act, has them meet the artifact server of nektos/act.
//
// What runs on Node.js is pinned in node/package-lock.json and installed by
// hack/npm. azurite's library for telemetry, which is switched off, is held at
// its last small version: the present one is half of everything.
package peers
