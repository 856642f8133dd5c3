package s3

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// A document is a bucket setting that is kept as it was put.
type document struct {
	query  string // the parameter that selects it
	noun   string // in operation names: GetBucket<noun>
	bare   bool   // operations are named Get<noun>, without Bucket
	root   string // element of the XML document; "" is a JSON policy
	absent string // error code when there is none; "" answers an empty document
	// byID settings have many documents, each with an id, and a listing.
	byID bool
	// fallback is the inside of what a bucket without the document answers.
	fallback string
	// puts is the status of a put that succeeded; 0 is 200.
	puts int
	// fixed documents cannot be deleted.
	fixed bool
}

var documents = []document{
	{query: "policy", noun: "Policy", absent: "NoSuchBucketPolicy", puts: http.StatusNoContent},
	{query: "tagging", noun: "Tagging", root: "Tagging", absent: "NoSuchTagSet", puts: http.StatusNoContent},
	{query: "versioning", noun: "Versioning", root: "VersioningConfiguration", fixed: true},
	{query: "encryption", noun: "Encryption", root: "ServerSideEncryptionConfiguration",
		fallback: `<Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>AES256</SSEAlgorithm></ApplyServerSideEncryptionByDefault><BucketKeyEnabled>false</BucketKeyEnabled></Rule>`},
	{query: "cors", noun: "Cors", root: "CORSConfiguration", absent: "NoSuchCORSConfiguration"},
	{query: "lifecycle", noun: "LifecycleConfiguration", root: "LifecycleConfiguration", absent: "NoSuchLifecycleConfiguration"},
	{query: "notification", noun: "NotificationConfiguration", root: "NotificationConfiguration", fixed: true},
	{query: "publicAccessBlock", noun: "PublicAccessBlock", bare: true, root: "PublicAccessBlockConfiguration", absent: "NoSuchPublicAccessBlockConfiguration"},
	{query: "ownershipControls", noun: "OwnershipControls", root: "OwnershipControls", absent: "OwnershipControlsNotFoundError"},
	{query: "logging", noun: "Logging", root: "BucketLoggingStatus", fixed: true},
	{query: "website", noun: "Website", root: "WebsiteConfiguration", absent: "NoSuchWebsiteConfiguration"},
	{query: "acl", noun: "Acl", root: "AccessControlPolicy", fixed: true},
	{query: "object-lock", noun: "ObjectLockConfiguration", bare: true, root: "ObjectLockConfiguration", absent: "ObjectLockConfigurationNotFoundError", fixed: true},
	{query: "accelerate", noun: "AccelerateConfiguration", root: "AccelerateConfiguration", fixed: true},
	{query: "requestPayment", noun: "RequestPayment", root: "RequestPaymentConfiguration", fallback: "<Payer>BucketOwner</Payer>", fixed: true},
	{query: "replication", noun: "Replication", root: "ReplicationConfiguration", absent: "ReplicationConfigurationNotFoundError"},
	{query: "analytics", noun: "AnalyticsConfiguration", root: "AnalyticsConfiguration", absent: "NoSuchConfiguration", byID: true, puts: http.StatusNoContent},
	{query: "inventory", noun: "InventoryConfiguration", root: "InventoryConfiguration", absent: "NoSuchConfiguration", byID: true, puts: http.StatusNoContent},
	{query: "metrics", noun: "MetricsConfiguration", root: "MetricsConfiguration", absent: "NoSuchConfiguration", byID: true, puts: http.StatusNoContent},
	{query: "intelligent-tiering", noun: "IntelligentTieringConfiguration", root: "IntelligentTieringConfiguration", absent: "NoSuchConfiguration", byID: true},
}

// operation names a request for the setting as the API reference does.
func (d document) operation(method string, q url.Values) string {
	if d.byID && method == http.MethodGet && !q.Has("id") {
		return "ListBucket" + d.noun + "s"
	}
	noun := "Bucket" + d.noun
	if d.bare {
		noun = d.noun
	}
	if method == http.MethodDelete && d.noun == "LifecycleConfiguration" {
		noun = "BucketLifecycle"
	}
	return verb(method) + noun
}

func withDocuments(table map[string]handler) map[string]handler {
	none, one := url.Values{}, url.Values{"id": {""}}
	for _, d := range documents {
		table[d.operation(http.MethodGet, one)] = d.get
		table[d.operation(http.MethodPut, one)] = d.put
		if !d.fixed {
			table[d.operation(http.MethodDelete, one)] = d.remove
		}
		if d.byID {
			table[d.operation(http.MethodGet, none)] = d.list
		}
	}
	return table
}

// slot is where a bucket keeps the document that a request is about.
func (d document) slot(c *call) string {
	if d.byID {
		return d.query + "/" + c.r.URL.Query().Get("id")
	}
	return d.query
}

func (d document) get(s *Server, c *call, b *bucket) error {
	text := b.documents[d.slot(c)]
	switch {
	case text == nil && d.query == "acl":
		return s.objectACL(c, b)
	case text == nil && d.absent != "":
		return failf(http.StatusNotFound, d.absent, "The %s of the bucket does not exist", strings.ToLower(d.noun)).with("BucketName", b.name)
	case text == nil:
		text = []byte("<" + d.root + ` xmlns="` + namespace + `">` + d.fallback + "</" + d.root + ">")
	}
	contentType := "application/xml"
	if d.root == "" {
		contentType = "application/json"
	}
	writeText(c.w, http.StatusOK, contentType, text)
	return nil
}

func (d document) put(s *Server, c *call, b *bucket) error {
	status := d.puts
	if status == 0 {
		status = http.StatusOK
	}
	if d.query == "acl" && len(c.body) == 0 {
		enforced := bytes.Contains(b.documents["ownershipControls"], []byte("BucketOwnerEnforced"))
		if c.r.Header.Get("x-amz-acl") != "private" && enforced {
			return fail(http.StatusBadRequest, "AccessControlListNotSupported", "The bucket does not allow ACLs")
		}
		c.w.WriteHeader(status)
		return nil
	}
	if err := d.check(c, b); err != nil {
		return err
	}
	b.documents[d.slot(c)] = c.body
	c.w.WriteHeader(status)
	return nil
}

// check validates a document and carries out what this server acts on.
func (d document) check(c *call, b *bucket) error {
	if d.root == "" {
		var policy map[string]any
		if json.Unmarshal(c.body, &policy) != nil || policy["Statement"] == nil {
			return fail(http.StatusBadRequest, "MalformedPolicy", "Policies must be valid JSON and the first byte must be '{'")
		}
		return nil
	}
	if root, err := rootElement(c.body); err != nil || root != d.root {
		return malformedXML
	}
	switch d.query {
	case "tagging":
		_, err := parseTagging(c.body, 50)
		return err
	case "versioning":
		var in struct{ Status string }
		if err := xml.Unmarshal(c.body, &in); err != nil || in.Status != "Enabled" && in.Status != "Suspended" {
			return malformedXML
		}
		if b.objectLock && in.Status == "Suspended" {
			return fail(http.StatusConflict, "InvalidBucketState", "An Object Lock configuration is present on this bucket, so the versioning state cannot be changed.")
		}
		b.versioning = in.Status
	case "replication":
		if b.versioning != "Enabled" {
			return fail(http.StatusBadRequest, "InvalidRequest", "Versioning must be 'Enabled' on the bucket to apply a replication configuration")
		}
	case "object-lock":
		if b.versioning != "Enabled" {
			return fail(http.StatusConflict, "InvalidBucketState", "Versioning must be 'Enabled' on the bucket to apply a Object Lock configuration")
		}
		b.objectLock = true
	}
	if d.byID {
		var in struct{ Id string }
		if err := xml.Unmarshal(c.body, &in); err != nil || in.Id == "" || in.Id != c.r.URL.Query().Get("id") {
			return malformedXML
		}
	}
	return nil
}

func rootElement(text []byte) (string, error) {
	in := xml.NewDecoder(bytes.NewReader(text))
	root := ""
	for {
		token, err := in.Token()
		if err != nil {
			if root != "" && err == io.EOF {
				return root, nil
			}
			return "", err
		}
		if e, ok := token.(xml.StartElement); ok && root == "" {
			root = e.Name.Local
		}
	}
}

func (d document) remove(s *Server, c *call, b *bucket) error {
	slot := d.slot(c)
	if b.documents[slot] == nil && d.byID {
		return d.get(s, c, b) // says that there is none
	}
	delete(b.documents, slot)
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

func (d document) list(s *Server, c *call, b *bucket) error {
	var rows bytes.Buffer
	for _, slot := range slices.Sorted(maps.Keys(b.documents)) {
		if strings.HasPrefix(slot, d.query+"/") {
			rows.Write(bytes.TrimPrefix(b.documents[slot], []byte(strings.TrimSpace(xml.Header))))
		}
	}
	name := "ListBucket" + d.noun + "sResult"
	writeText(c.w, http.StatusOK, "application/xml",
		[]byte(xml.Header+"<"+name+` xmlns="`+namespace+`"><IsTruncated>false</IsTruncated>`+rows.String()+"</"+name+">"))
	return nil
}

// objectACL answers the only access list there is while ACLs are disabled:
// the owner may do everything.
func (s *Server) objectACL(c *call, b *bucket) error {
	if c.addr.Key != "" {
		if _, err := b.find(c.w.header, c.addr.Key, c.r.URL.Query().Get("versionId")); err != nil {
			return err
		}
	}
	id := canonicalID(s.account)
	writeText(c.w, http.StatusOK, "application/xml", []byte(xml.Header+
		`<AccessControlPolicy xmlns="`+namespace+`"><Owner><ID>`+id+`</ID></Owner><AccessControlList><Grant>`+
		`<Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="CanonicalUser"><ID>`+id+`</ID></Grantee>`+
		`<Permission>FULL_CONTROL</Permission></Grant></AccessControlList></AccessControlPolicy>`))
	return nil
}

func (s *Server) policyStatus(c *call, b *bucket) error {
	if b.documents["policy"] == nil {
		return fail(http.StatusNotFound, "NoSuchBucketPolicy", "The bucket policy does not exist").with("BucketName", b.name)
	}
	writeText(c.w, http.StatusOK, "application/xml", []byte(xml.Header+
		`<PolicyStatus xmlns="`+namespace+`"><IsPublic>false</IsPublic></PolicyStatus>`))
	return nil
}
