package oneshot

import (
	"regexp"
	"strings"
	"testing"
)

const compositeFolder = "../checkpoint/composite"

// storeMutations are faults in what decides over several places, each with the
// stores over which the crash matrix has to find it.
var storeMutations = []struct {
	mutation
	stores string
}{
	{mutation{
		"no checkpoint in the work folder is taken for not dispatched, whatever the stores have", compositeFolder + "/load.go",
		"found[slices.Index(s.o.Shared, place)], err = place.Read(ctx, execution)",
		"found[slices.Index(s.o.Shared, place)] = checkpoint.Found{Complete: true}",
	}, "artifact"},
	{mutation{
		"that a place could not look everywhere is ignored", compositeFolder + "/load.go",
		"	if !complete {\n		return v.blind\n	}\n", "	_ = complete\n",
	}, "artifact without REST"},
	{mutation{
		"an intent is enough for a create, wherever nobody could look", "dispatch.go",
		"	if err := x.Store.Doubt(x.Name); err != nil {\n", "	if err := x.Store.Doubt(x.Name); err != nil && history.IntentAt == nil {\n",
	}, "artifact without REST+cache with key"},
	{mutation{
		"a place that cannot be read is ignored", compositeFolder + "/view.go",
		"			errs = append(errs, inPlace(places[i].Name(), err))\n", "			_ = inPlace(places[i].Name(), err)\n",
	}, "artifact"},
	{mutation{
		"a copy that cannot be read is ignored", compositeFolder + "/view.go",
		"			v.bad[c.Step] = append(v.bad[c.Step], inPlace(name, err))\n", "",
	}, "artifact"},
	{mutation{
		"an intent counts when one store has it", compositeFolder + "/intent.go",
		"	return first(errs)\n", "	if slices.Contains(slices.Collect(maps.Values(said)), nil) {\n		return nil\n	}\n	return first(errs)\n",
	}, "artifact+cache"},
	{mutation{
		"an intent of which the arbiter says nothing counts", compositeFolder + "/intent.go",
		"		if err != nil {\n			return inPlaceUnlessTaken(s.o.Arbiter.Name(), err)\n		}\n",
		"		if errors.Is(err, checkpoint.ErrTaken) {\n			return inPlaceUnlessTaken(s.o.Arbiter.Name(), err)\n		}\n",
	}, "cluster"},
	{mutation{
		"a run that comes second goes on with its own intent", compositeFolder + "/intent.go",
		"		return checkpoint.Differs(execution+\".\"+string(checkpoint.Intent), \"storing the intent in the checkpoint store %s: %w\", place.Name(), err)\n",
		"		return nil\n",
	}, "cluster"},
	{mutation{
		"the arbiter is asked together with the others", compositeFolder + "/intent.go",
		"	if i := slices.Index(rest, s.o.Arbiter); i >= 0 {\n", "	if i := slices.Index(rest, s.o.Arbiter); i < -1 {\n",
	}, "artifact+cluster"},
	{mutation{
		"the work folder is written before the arbiter was asked", compositeFolder + "/intent.go",
		"	said := map[string]error{}\n",
		"	said := map[string]error{}\n	if err := s.o.Folder.Put(ctx, execution, record); err != nil {\n		return err\n	}\n",
	}, "cluster"},
	{mutation{
		"a lost intent is not stored again before a create", compositeFolder + "/heal.go",
		"	return s.putIntent(ctx, v.execution, k.record, lack)\n", "	return s.putIntent(ctx, v.execution, k.record, nil)\n",
	}, "artifact+cache"},
	{mutation{
		"what another place lost is not stored again", compositeFolder + "/heal.go",
		"			w.add(added)\n", "",
	}, "artifact+cache"},
	{mutation{
		"a failure in the background is forgotten", compositeFolder + "/writer.go",
		"	if err == nil || forGood {\n", "	if err == nil || forGood || true {\n",
	}, "artifact"},
	{mutation{
		"a store that fails after the create ends the run", compositeFolder + "/late.go",
		"	return fmt.Errorf(\"%w: %s\", checkpoint.ErrLater, failureText(err))\n", "	return err\n",
	}, "none"},
	{mutation{
		"older steps are removed before the end was read back", compositeFolder + "/late.go",
		"	err := s.readBack(ctx, place, i)\n", "	err := error(nil)\n	_ = s.readBack\n",
	}, "artifact+cluster, cleanup"},
	{mutation{
		"that another run was first ends the run", "run.go",
		"		case late.first && x.second || readings == maxReadings:\n", "		case late.first || readings == maxReadings:\n",
	}, "cluster"},
}

// TestStoreMutations proves that the crash matrix over the stores can fail.
func TestStoreMutations(t *testing.T) {
	for _, m := range storeMutations {
		t.Run(m.name, func(t *testing.T) {
			stores := regexp.QuoteMeta(strings.ReplaceAll(m.stores, " ", "_"))
			m.isFound(t, ".", "TestStoreMatrix$/^stores$/^"+stores, "violation: ")
		})
	}
}

// namedMutations are faults that show in no schedule, or in few of them, and the
// tests beside the code that have to find them.
var namedMutations = []struct {
	mutation
	folder, test string
}{
	{mutation{
		"an end that was not stored again is not told", compositeFolder + "/heal.go",
		"			w.lose(added, v.read[i-1])\n", "",
	}, compositeFolder, "TestAnEndThatCannotBeHealedIsMissing"},
	{mutation{
		"what the other run recorded since is not read", "run.go",
		"		if err = x.awaitOther(ctx); err == nil {\n			history, missing, err = x.open(ctx)\n		}\n", "		err = x.awaitOther(ctx)\n",
	}, ".", "TestARunThatComesSecond"},
	{mutation{
		"disagreement is ignored", compositeFolder + "/view.go",
		"		v.differ = append(v.differ, err)\n", "",
	}, compositeFolder, "TestLoad"},
	{mutation{
		"what is not signed is believed", "../checkpoint/key.go",
		"	if !k.IsZero() {\n		signed", "	if !k.IsZero() && code != \"\" {\n		signed",
	}, compositeFolder, "TestLoad"},
	{mutation{
		"what is signed with another key is believed", "../checkpoint/key.go",
		"[]byte(hex.EncodeToString(want)))", "[]byte(code)) || want == nil",
	}, compositeFolder, "TestLoad"},
	{mutation{
		"two writers are at work on one place", compositeFolder + "/writer.go",
		"	if w.running {\n", "	if w.running && len(w.pending) > 1 {\n",
	}, compositeFolder, "TestAPlaceGetsOneRecordAtATime"},
}

// TestNamedMutations proves that the named tests can fail.
func TestNamedMutations(t *testing.T) {
	for _, m := range namedMutations {
		t.Run(m.name, func(t *testing.T) {
			m.isFound(t, m.folder, m.test, "--- FAIL: "+m.test)
		})
	}
}
