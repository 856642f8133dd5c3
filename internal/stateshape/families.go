package stateshape

import (
	"regexp"

	"github.com/org/cdkd-action/engine/value"
)

const (
	typeJSON  = "application/json"
	typeLines = "application/x-ndjson"
)

// of is the keys of an object of a stack. The prefix may be anything.
func of(name string) *regexp.Regexp {
	return regexp.MustCompile(`^(?:.*/)?([^/]+)/([a-z]+(?:-[a-z]+)+-\d+)/` + name + `$`)
}

var families = []*family{
	{key: regexp.MustCompile(`^_cdkd-registry/[^/]+/[^/~]+\.json$`), contentType: typeJSON, guarded: true, shape: members(map[string]member{
		"prefix": must(matching(`[^<>[:cntrl:]]*`)),
	})},
	{key: regexp.MustCompile(`^cdkd-bootstrap/[^/]+\.json$`), contentType: typeJSON, shape: members(map[string]member{
		"assetBucket": must(filled), "containerRepo": must(filled), "assetSupportVersion": must(whole(1, 1)), "createdAt": must(iso),
	})},
	{key: regexp.MustCompile(`^custom-resource-responses/[^/]+\.json$`)},
	{key: regexp.MustCompile(`^cdkd-migrate-tmp/[^/]+/\d+\.json$`)},
	{key: regexp.MustCompile(`(?:^|/)_index/[^/]+/exports\.json$`), contentType: typeJSON, guarded: true, shape: exports},
	{key: of(`state\.json`), contentType: typeJSON, named: true, guarded: true, newest: 11, shape: record},
	{key: of(`lock\.json`), contentType: typeJSON, guarded: true, shape: members(map[string]member{
		"owner": must(filled), "timestamp": must(saved), "expiresAt": must(saved), "operation": opt(filled),
	})},
	{key: of(`rollback-journal\.json`), contentType: typeJSON, named: true, shape: members(map[string]member{
		"journalVersion": must(whole(1, 1)), "stackName": must(filled), "region": must(filled), "segments": must(list(segment)),
	})},
	{key: of(`create-tokens\.json`), contentType: typeJSON, shape: members(map[string]member{
		"ledgerVersion": must(whole(1, 1)), "nonce": must(filled), "stateRecorded": opt(yes), "abandonedAt": opt(millis),
		"sent": must(each(members(map[string]member{
			"base": must(matching(`(?:adopt-by-name|create):.+|replace:.+:[0-9a-f]{8}`)), "token": must(filled),
			"firstSentAt": must(millis), "failedAt": opt(millis),
		}))),
	})},
	{key: of(`retained\.json`), contentType: typeJSON, shape: members(map[string]member{
		"retainedVersion": must(whole(1, 1)),
		"resources": must(list(members(map[string]member{
			"logicalId": must(filled), "resourceType": must(filled), "physicalId": must(filled), "keptAt": opt(millis),
		}))),
	})},
	{key: of(`pending\.json`), contentType: typeJSON, named: true, guarded: true, shape: pending},
	{key: of(`handover\.json`), contentType: typeJSON, named: true, guarded: true, shape: members(map[string]member{
		"handoverVersion": must(whole(1, 1)), "stackName": must(filled), "region": must(filled),
		"direction": must(one("from-cloudformation", "to-cloudformation")), "step": must(one("recording", "retaining", "retiring", "importing", "forgetting")),
		"cloudFormationStack": must(filled), "cloudFormationStackId": opt(filled), "cloudFormationStacks": opt(list(filled)),
		"since": must(millis), "owner": must(filled),
	})},
	{key: of(`deployments/index\.json`), contentType: typeJSON, named: true, shape: members(map[string]member{
		"indexVersion": must(whole(1, 1)), "stackName": must(filled), "region": must(filled), "lastModified": must(saved),
		"runs": must(both(atMost(20), list(members(map[string]member{
			"runId": must(runID), "command": must(command), "cdkdVersion": must(text), "startedAt": must(iso), "finishedAt": must(iso),
			"result": must(outcome), "eventCount": must(count),
		})))),
	})},
	{key: of(`deployments/\d{8}T\d{9}Z-[0-9a-f]{8}\.jsonl`), contentType: typeLines, lines: true, shape: event},
}

func atMost(n int) shape {
	return func(c *checker, at string, v any) {
		if l, ok := v.([]any); ok && len(l) > n {
			c.bad("%s has %d entries and may have %d", at, len(l), n)
		}
	}
}

var (
	policy  = one("Delete", "Retain", "Snapshot", "RetainExceptOnCreate")
	layer   = one("sdk", "cc-api")
	change  = one("CREATE", "UPDATE", "DELETE")
	command = one("deploy", "destroy", "rollback")
	outcome = one("SUCCEEDED", "FAILED")
	path    = list(func(c *checker, at string, v any) {
		if _, ok := v.(string); !ok {
			count(c, at, v)
		}
	})
)

var resource = members(map[string]member{
	"physicalId": must(text), "resourceType": must(filled), "properties": must(object),
	"observedProperties": opt(object), "attributes": opt(object), "dependencies": opt(list(filled)), "metadata": opt(object),
	"deletionPolicy": opt(policy), "updateReplacePolicy": opt(policy), "provisionedBy": opt(layer),
	"observedBaselineRefused":       opt(yes),
	"observedBaselineRefusalReason": opt(one("unverifiable-parameter", "incomplete-resolution")),
	"noEchoLeaves":                  some(path), "noEchoAttributeNames": some(filled), "noEchoExactEchoLeaves": opt(list(filled)),
	"acceptedCreateOnlyDrops":    opt(list(filled)),
	"maskedPropertyFingerprints": opt(each(filled)), "maskedPropertyInputFingerprints": opt(each(filled)),
})

var record = both(members(map[string]member{
	"version": must(whole(1, 11)), "stackName": must(filled), "region": must(filled),
	"resources": must(each(resource)), "outputs": opt(object), "lastModified": must(saved),
	"imports":     some(members(map[string]member{"sourceStack": must(filled), "sourceRegion": must(filled), "exportName": must(filled)})),
	"outputReads": some(members(map[string]member{"sourceStack": must(filled), "sourceRegion": must(filled), "outputName": must(filled)})),
	"exportNames": opt(list(filled)), "skippedOutputs": opt(each(filled)),
	"orphans":           some(members(map[string]member{"logicalId": must(filled), "orphanedAt": must(millis), "state": must(resource)})),
	"conditionVerdicts": opt(each(members(map[string]member{"verdict": must(boolean), "fingerprint": must(filled)}))),
	"parentStack":       opt(filled), "parentLogicalId": opt(filled), "parentRegion": opt(filled),
	"terminationProtection": opt(boolean),
}), together("parentStack", "parentLogicalId", "parentRegion"))

// together are members of which an object has all or none.
func together(names ...string) shape {
	return func(c *checker, at string, v any) {
		o, _ := v.(*value.Object)
		n := 0
		for _, name := range names {
			if o.Has(name) {
				n++
			}
		}
		if n != 0 && n != len(names) {
			c.bad("%s has only some of %v", place(at), names)
		}
	}
}

var operation = map[string]member{
	"logicalId": must(filled), "resourceType": must(filled), "changeType": must(change),
	"physicalId": opt(filled), "previousState": opt(resource), "provisionedBy": opt(layer),
}

func with(base, more map[string]member) map[string]member {
	all := map[string]member{}
	for _, m := range []map[string]member{base, more} {
		for name, shape := range m {
			all[name] = shape
		}
	}
	return all
}

var segment = members(map[string]member{
	"runId": opt(runID), "timestamp": must(millis), "initialDeploy": must(boolean),
	"reason":  must(one("no-rollback-failure", "interrupted", "auto-rollback-started", "auto-rollback-clean", "nested-pending-parent")),
	"roleArn": opt(filled), "cdkdVersion": opt(filled),
	"operations": must(list(members(with(operation, map[string]member{
		"properties": opt(object), "oldResourceRetained": opt(boolean), "previousResourceType": opt(filled),
		"oldDeletedBeforeCreate": opt(boolean), "wasReplaced": opt(boolean),
	})))),
	"failedOperations": some(members(with(operation, map[string]member{
		"attemptedProperties": opt(object), "physicalIdRecoveredFromError": opt(boolean), "deletionPolicy": opt(policy),
		"replacedPhysicalId": opt(filled), "replacedResourceType": opt(filled), "replacedResourceDeleted": opt(boolean),
		"replacementOrphaned": opt(one("create-first", "delete-first")),
	}))),
	"previousOutputs":         opt(members(map[string]member{"outputs": opt(object), "exportNames": opt(list(filled))})),
	"previousCrossStackReads": opt(members(map[string]member{"imports": opt(list(object)), "outputReads": opt(list(object))})),
	"supersededLogicalIds":    opt(list(filled)),
	"importedResources": opt(list(members(map[string]member{
		"logicalId": must(filled), "physicalId": must(filled), "resourceType": must(filled),
	}))),
})

var event = members(map[string]member{
	"timestamp": must(iso), "stackName": must(filled),
	"eventType": must(one("RUN_STARTED", "RUN_FINISHED", "RESOURCE_STARTED", "RESOURCE_SUCCEEDED", "RESOURCE_FAILED",
		"RESOURCE_RETAINED", "RESOURCE_SKIPPED", "ROLLBACK_STARTED", "ROLLBACK_FINISHED",
		"ROLLBACK_RESOURCE_SUCCEEDED", "ROLLBACK_RESOURCE_FAILED", "ROLLBACK_RESOURCE_SKIPPED")),
	"command": opt(command), "region": opt(filled), "cdkdVersion": opt(text), "result": opt(outcome),
	"counts": opt(members(map[string]member{
		"created": must(count), "updated": must(count), "deleted": must(count), "failed": opt(count), "skipped": opt(count),
	})),
	"operation": opt(change), "logicalId": opt(filled), "resourceType": opt(filled), "physicalId": opt(filled), "provisionedBy": opt(layer),
	"durationMs": opt(count), "reason": opt(filled),
	"error": opt(members(map[string]member{"name": must(text), "message": must(text), "awsErrorCode": opt(filled), "requestId": opt(filled)})),
})

var exports = members(map[string]member{
	"indexVersion": must(whole(1, 1)), "region": must(filled), "lastModified": must(saved),
	"exports": must(each(members(map[string]member{"value": must(anything), "producerStack": must(filled), "producerRegion": must(filled)}))),
})

var pending = members(map[string]member{
	"pendingVersion": must(whole(1, 1)), "stackName": must(filled), "region": must(filled), "runId": must(text), "owner": must(text),
	"writtenAt": must(count), "sealedAt": opt(millis), "ledgerNonce": must(text), "recordLastModified": must(nullable(millis)),
	"operations": must(list(members(map[string]member{
		"logicalId": must(filled), "resourceType": must(filled), "changeType": must(change), "provisionedBy": must(layer),
		"stage": must(one("sent", "accepted", "settling")), "startedAt": must(millis), "replacing": opt(boolean),
		"requestToken": opt(filled), "clientToken": opt(filled), "physicalId": opt(filled),
		"name": opt(filled), "nameOrigin": opt(one("generated", "declared")),
		"responseKey": opt(filled), "requestId": opt(filled), "answerBy": opt(millis),
		"properties": opt(object), "propertiesOmitted": opt(boolean), "previous": opt(resource),
		"deletionPolicy": opt(policy), "updateReplacePolicy": opt(policy), "dependencies": opt(list(filled)), "roleArn": opt(filled), "void": opt(boolean),
	}))),
	"leftovers": must(list(members(map[string]member{
		"logicalId": must(filled), "resourceType": must(filled), "physicalId": must(filled), "provisionedBy": must(layer),
		"previous": opt(resource), "reason": must(one("replaced", "remnant", "superseded")), "since": must(millis), "void": opt(boolean),
	}))),
})
