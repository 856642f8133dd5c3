package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// IsCustomResource reports whether an event asks for a custom resource, with
// somewhere to answer to.
func IsCustomResource(event map[string]any) bool {
	kind, _ := event["RequestType"].(string)
	address, _ := event["ResponseURL"].(string)
	return (kind == "Create" || kind == "Update" || kind == "Delete") && address != ""
}

// Respond sends a custom resource's answer to the event's ResponseURL: success
// with what the event says, changed by answer (PhysicalResourceId, Data,
// Status, Reason, NoEcho).
func Respond(ctx context.Context, event, answer map[string]any) error {
	body := map[string]any{
		"Status":             "SUCCESS",
		"PhysicalResourceId": event["LogicalResourceId"],
		"StackId":            event["StackId"],
		"RequestId":          event["RequestId"],
		"LogicalResourceId":  event["LogicalResourceId"],
	}
	if id, ok := event["PhysicalResourceId"]; ok {
		body["PhysicalResourceId"] = id
	}
	for k, v := range answer {
		body[k] = v
	}
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("answer custom resource %v: %w", event["LogicalResourceId"], err)
	}
	address, _ := event["ResponseURL"].(string)
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, address, bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("answer custom resource %v: %w", event["LogicalResourceId"], err)
	}
	req.Header.Set("Content-Type", "") // as handlers do, the URL is signed without one
	req.Close = true                   // as of a process that ends
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("answer custom resource %v: %w", event["LogicalResourceId"], err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 1000))
		return fmt.Errorf("answer custom resource %v: %s: %s", event["LogicalResourceId"], res.Status, text)
	}
	return nil
}
