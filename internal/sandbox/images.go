package sandbox

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
)

// images answers ecr:DescribeImages for an upstream that can only list them, and
// does not say since when: all are as old as the sandbox.
func (s *Sandbox) images(w http.ResponseWriter, c *call) {
	type id struct {
		Digest string `json:"imageDigest,omitempty"`
		Tag    string `json:"imageTag,omitempty"`
	}
	var asked struct {
		Repository string `json:"repositoryName"`
		IDs        []id   `json:"imageIds,omitempty"`
	}
	if err := json.Unmarshal(c.body, &asked); err != nil {
		refuse(w, c, http.StatusBadRequest, "InvalidParameterException", err.Error())
		return
	}
	wanted := asked.IDs
	asked.IDs = nil
	body, _ := json.Marshal(asked)
	r := c.http.Clone(c.http.Context())
	r.Header.Set("X-Amz-Target", "AmazonEC2ContainerRegistry_V20150921.ListImages")
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	listed := httptest.NewRecorder()
	s.upstream.ServeHTTP(listed, r)
	var list struct {
		IDs []id `json:"imageIds"`
	}
	if listed.Code != http.StatusOK || json.Unmarshal(listed.Body.Bytes(), &list) != nil {
		w.Header().Set("Content-Type", listed.Header().Get("Content-Type"))
		w.WriteHeader(listed.Code)
		w.Write(listed.Body.Bytes())
		return
	}
	type detail struct {
		Repository string   `json:"repositoryName"`
		Digest     string   `json:"imageDigest"`
		Tags       []string `json:"imageTags,omitempty"`
		Size       int      `json:"imageSizeInBytes"`
		Pushed     float64  `json:"imagePushedAt"`
	}
	var details []detail
	for _, i := range list.IDs {
		if wanted != nil && !slices.ContainsFunc(wanted, func(w id) bool { return w.Tag == i.Tag || w.Digest == i.Digest }) {
			continue
		}
		at := slices.IndexFunc(details, func(d detail) bool { return d.Digest == i.Digest })
		if at < 0 {
			at = len(details)
			details = append(details, detail{Repository: asked.Repository, Digest: i.Digest, Pushed: float64(s.began.UnixMilli()) / 1000})
		}
		if i.Tag != "" {
			details[at].Tags = append(details[at].Tags, i.Tag)
		}
	}
	if wanted != nil && details == nil {
		refuse(w, c, http.StatusBadRequest, "ImageNotFoundException", "The image requested does not exist in the repository "+asked.Repository+".")
		return
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	json.NewEncoder(w).Encode(map[string]any{"imageDetails": details})
}
