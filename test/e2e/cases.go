// Package e2e tests the built action, started as a CI runner starts it, against
// a real Kubernetes. It needs what package cluster needs: root on Linux, or pods
// are only played and the tests that need real containers say that they are left
// out. With CI=true that is a failure.
//
// The tests share one cluster, each with a template, a purpose and a user of its
// own; those that would disturb others have a second one (TestClusterInTrouble).
//
// With ONESHOT_E2E_RACE=1 the action itself is built with the race detector.
package e2e

// Case is something that users of such tools met, told of in public trackers,
// and the tests that hold the action to what is right there.
type Case struct {
	// Met is what they met, Right what is to happen.
	Met, Right string
	// Tests are the names of tests, or of subtests (Test/sub), by the folder of
	// their package, from the root of the tree.
	Tests map[string][]string
}

const (
	endToEnd = "test/e2e"
	engine   = "internal/oneshot"
	adapter  = "internal/cluster"
	entra    = "internal/azure"
	handed   = "internal/kubeconfig"
	artifact = "internal/checkpoint/artifact"
)

// Execution are the cases of running an execution.
var Execution = []Case{
	{
		Met:   "A wait for completion hangs for ever when the Job fails.",
		Right: "Both terminal conditions end the wait.",
		Tests: map[string][]string{
			endToEnd: {"TestFailsByBackoff", "TestFailsByDeadline"},
			engine:   {"TestBothTerminalConditionsEndTheWait"},
		},
	},
	{
		Met:   "One failed pod, then a successful one, misread as failure, or the other way round.",
		Right: "Conditions decide; counters only where the dialect says so.",
		Tests: map[string][]string{
			endToEnd: {"TestOnePodFailsThenOneSucceeds"},
			engine:   {"TestAFailedPodBeforeASuccessIsASuccess"},
		},
	},
	{
		Met:   "Only the first condition is read; since Kubernetes 1.31 SuccessCriteriaMet and FailureTarget come first.",
		Right: "All conditions are read; interim ones are not terminal.",
		Tests: map[string][]string{
			endToEnd: {"TestInterimConditionsAreNotTheEnd"},
			engine:   {"TestInterimConditionsDoNotEndTheWait"},
		},
	},
	{
		Met:   "A TTL of 0 removes the Job before anybody sees it finish.",
		Right: "job-vanished, or the closed TTL window; never a second create.",
		Tests: map[string][]string{
			endToEnd: {"TestTTLOfZeroUnseen", "TestTTLOfZeroAfterAKill"},
			engine:   {"TestAJobGoneBeforeItWasSeenToEndIsNeverCreatedAgain", "TestAShortTTLClosesTheWindow"},
		},
	},
	{
		Met:   "The Job is deleted by hand while it is waited for.",
		Right: "job-vanished with what is known; never created again.",
		Tests: map[string][]string{
			endToEnd: {"TestJobDeletedWhileWaiting"},
			engine:   {"TestAJobDeletedByHandIsVanished"},
		},
	},
	{
		Met:   "etcdserver: leader changed, or 500, after the object was persisted.",
		Right: "Reads are repeated; a create is ambiguous, then read back.",
		Tests: map[string][]string{
			endToEnd: {"TestCreateThatIsStoredAndLost", "TestCreateThatNeverArrives", "TestReadsAreRepeated"},
			engine:   {"TestACreateThatWasPersistedIsReadBack", "TestReadsAreRepeatedInsideTheDeadline"},
		},
	},
	{
		Met:   "Applying a changed Job again fails on an immutable field.",
		Right: "Create only; never patch, never replace.",
		Tests: map[string][]string{
			endToEnd: {"TestChangedJobIsNeitherAdoptedNorPatched", "TestRequestsOfARun"},
			adapter:  {"TestRequestsAreKubernetesOwn"},
		},
	},
	{
		Met:   "429 with Retry-After.",
		Right: "Honoured, inside the deadline.",
		Tests: map[string][]string{
			endToEnd: {"TestThrottledCreate", "TestThrottledBeyondTheDeadline"},
			engine:   {"TestRetryAfterIsHonoured"},
			adapter:  {"TestWaitingHonoursRetryAfter"},
		},
	},
	{
		Met:   "A Job that is being deleted (deletionTimestamp, finalizers) still answers reads.",
		Right: "Treated as vanishing, not as running.",
		Tests: map[string][]string{
			endToEnd: {"TestJobBeingDeleted"},
			engine:   {"TestAJobThatIsBeingDeletedIsVanishing"},
		},
	},
}

// Credentials are the cases of getting to an authenticated connection.
var Credentials = []Case{
	{
		Met:   "The kubeconfig needs an exec plugin that the container lacks.",
		Right: "Never needed: tokens are set directly.",
		Tests: map[string][]string{
			endToEnd: {"TestOIDCPluginIsNotRun", "TestOIDCChain"},
			handed:   {"TestPlugins"},
		},
	},
	{
		Met:   "\"No such host\" for a private cluster.",
		Right: "Says that the API server's name is private and what to do.",
		Tests: map[string][]string{
			endToEnd: {"TestOIDCFailures/private-name"},
			adapter:  {"TestTextsOnConnections"},
		},
	},
	{
		Met:   "The token expires during a long Job.",
		Right: "Tokens are renewed from a fresh id token; a wait of 3 hours works.",
		Tests: map[string][]string{
			endToEnd: {"TestOIDCTokensOfTwentySeconds", "TestOIDCEntraIsDownForAWhile"},
			entra:    {"TestATokenIsRenewedAheadAndInTheBackground", "TestATokenIsAlwaysGood"},
		},
	},
	{
		Met:   "AADSTS700213: no matching federated credential.",
		Right: "The message shows issuer, subject and audience of the id token, and the command that makes the credential.",
		Tests: map[string][]string{
			endToEnd: {"TestOIDCFailures/no-federated-credential", "TestOIDCNewCredential"},
			entra:    {"TestFailures/entra-700213-environment", "TestFailures/entra-700213-immutable"},
		},
	},
}

// Stores are the cases of records that outlive the runner.
var Stores = []Case{
	{
		Met:   "A re-run of all jobs cannot see the earlier attempt's artifacts.",
		Right: "Found through REST, or in the cluster store.",
		Tests: map[string][]string{
			endToEnd: {
				"TestStoresRerunOfAllJobs/through-REST", "TestStoresRerunOfAllJobs/in-the-cluster",
				"TestStoresRerunOfAllJobs/in-neither", "TestStoresSignedURLsOfEarlierAttempts",
			},
			artifact: {"TestWhatIsWrittenIsReadInTheNextAttempt", "TestBlind"},
		},
	},
	{
		Met:   "Artifact names already taken.",
		Right: "Never a failure of the run by itself.",
		Tests: map[string][]string{
			endToEnd: {"TestStoresNamesTaken"},
			artifact: {"TestNameIsTaken", "TestNameIsHeldByOneThatIsSlow"},
		},
	},
}
