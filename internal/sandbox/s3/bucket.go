package s3

import (
	"bytes"
	"crypto/rand"
	"encoding/xml"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
)

const namespace = "http://s3.amazonaws.com/doc/2006-03-01/"

type bucket struct {
	name, region, owner string
	made                time.Time
	objectLock          bool
	versioning          string              // "", Enabled or Suspended
	documents           map[string][]byte   // by query name, or query name/id
	objects             map[string]*history // by key; none is empty
}

// operations are the requests that are answered, by name. The bucket is nil
// for ListBuckets and CreateBucket; the server's mutex is held.
var operations = withDocuments(map[string]handler{
	"ListBuckets":             (*Server).listBuckets,
	"CreateBucket":            (*Server).createBucket,
	"HeadBucket":              (*Server).headBucket,
	"DeleteBucket":            (*Server).deleteBucket,
	"GetBucketLocation":       (*Server).bucketLocation,
	"GetBucketPolicyStatus":   (*Server).policyStatus,
	"ListObjects":             (*Server).listObjects,
	"ListObjectsV2":           (*Server).listObjects,
	"ListObjectVersions":      (*Server).listVersions,
	"DeleteObjects":           (*Server).deleteObjects,
	"PutObject":               (*Server).putObject,
	"GetObject":               (*Server).getObject,
	"HeadObject":              (*Server).getObject,
	"DeleteObject":            (*Server).deleteObject,
	"CopyObject":              (*Server).copyObject,
	"GetObjectAcl":            (*Server).objectACL,
	"GetObjectTagging":        (*Server).getObjectTagging,
	"PutObjectTagging":        (*Server).putObjectTagging,
	"DeleteObjectTagging":     (*Server).putObjectTagging,
	"CreateMultipartUpload":   (*Server).createUpload,
	"UploadPart":              (*Server).uploadPart,
	"UploadPartCopy":          (*Server).uploadPart,
	"CompleteMultipartUpload": (*Server).completeUpload,
	"AbortMultipartUpload":    (*Server).abortUpload,
	"ListMultipartUploads":    (*Server).listUploads,
	"ListParts":               (*Server).listParts,
})

type handler func(*Server, *call, *bucket) error

func (s *Server) listBuckets(c *call, _ *bucket) error {
	type row struct {
		Name         string
		CreationDate string
		BucketRegion string
	}
	var out struct {
		XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListAllMyBucketsResult"`
		Owner   owner
		Buckets struct{ Bucket []row }
		Prefix  string `xml:",omitempty"`
	}
	out.Owner = owner{ID: canonicalID(s.account)}
	out.Prefix = c.r.URL.Query().Get("prefix")
	for _, b := range s.buckets {
		if b.owner == s.account && strings.HasPrefix(b.name, out.Prefix) {
			out.Buckets.Bucket = append(out.Buckets.Bucket, row{b.name, stamp(b.made), b.region})
		}
	}
	slices.SortFunc(out.Buckets.Bucket, func(a, b row) int { return strings.Compare(a.Name, b.Name) })
	writeXML(c.w, http.StatusOK, out)
	return nil
}

func (s *Server) createBucket(c *call, _ *bucket) error {
	name := c.addr.Bucket
	if !validBucketName(name) {
		return fail(http.StatusBadRequest, "InvalidBucketName", "The specified bucket is not valid.").with("BucketName", name)
	}
	region := c.region
	var tags []byte
	if len(bytes.TrimSpace(c.body)) > 0 {
		var in struct {
			XMLName            xml.Name `xml:"CreateBucketConfiguration"`
			LocationConstraint string
			Location           *struct{}
			Tags               *struct {
				Tag []byte `xml:",innerxml"`
			}
		}
		if err := xml.Unmarshal(c.body, &in); err != nil {
			return malformedXML
		}
		if in.Location != nil {
			return fail(http.StatusNotImplemented, "NotImplemented", "Directory buckets are not implemented.")
		}
		if in.LocationConstraint == "EU" {
			in.LocationConstraint = "eu-west-1"
		}
		switch {
		case in.LocationConstraint == "us-east-1":
			return fail(http.StatusBadRequest, "InvalidLocationConstraint", "The specified location-constraint is not valid")
		case in.LocationConstraint == "" && region != "us-east-1":
			return illegalLocation("unspecified")
		case in.LocationConstraint == "":
		case region != "us-east-1" && in.LocationConstraint != region:
			return illegalLocation(in.LocationConstraint)
		default:
			region = in.LocationConstraint
		}
		if in.Tags != nil {
			tags = in.Tags.Tag
		}
	} else if region != "us-east-1" {
		return illegalLocation("unspecified")
	}

	if b := s.buckets[name]; b != nil {
		switch {
		case b.owner != s.account:
			return fail(http.StatusConflict, "BucketAlreadyExists", "The requested bucket name is not available. The bucket namespace is shared by all users of the system. Please select a different name and try again.").with("BucketName", name)
		case b.region != "us-east-1" || region != "us-east-1":
			return fail(http.StatusConflict, "BucketAlreadyOwnedByYou", "Your previous request to create the named bucket succeeded and you already own it.").with("BucketName", name)
		}
	} else {
		b := s.addBucket(name, region, s.account)
		if tags != nil {
			b.documents["tagging"] = []byte(`<Tagging xmlns="` + namespace + `"><TagSet>` + string(tags) + `</TagSet></Tagging>`)
		}
		b.objectLock = c.r.Header.Get("x-amz-bucket-object-lock-enabled") == "true"
		if b.objectLock {
			b.versioning = "Enabled"
			b.documents["versioning"] = []byte(`<VersioningConfiguration xmlns="` + namespace + `"><Status>Enabled</Status></VersioningConfiguration>`)
			b.documents["object-lock"] = []byte(`<ObjectLockConfiguration xmlns="` + namespace + `"><ObjectLockEnabled>Enabled</ObjectLockEnabled></ObjectLockConfiguration>`)
		}
	}
	c.w.Header().Set("Location", "/"+name)
	c.w.WriteHeader(http.StatusOK)
	return nil
}

func illegalLocation(constraint string) error {
	return failf(http.StatusBadRequest, "IllegalLocationConstraintException",
		"The %s location constraint is incompatible for the region specific endpoint this request was sent to.", constraint)
}

func (s *Server) addBucket(name, region, owner string) *bucket {
	b := &bucket{
		name: name, region: region, owner: owner, made: s.now(),
		documents: map[string][]byte{}, objects: map[string]*history{},
	}
	// What every new bucket has had since 2023.
	b.documents["publicAccessBlock"] = []byte(`<PublicAccessBlockConfiguration xmlns="` + namespace + `"><BlockPublicAcls>true</BlockPublicAcls><IgnorePublicAcls>true</IgnorePublicAcls><BlockPublicPolicy>true</BlockPublicPolicy><RestrictPublicBuckets>true</RestrictPublicBuckets></PublicAccessBlockConfiguration>`)
	b.documents["ownershipControls"] = []byte(`<OwnershipControls xmlns="` + namespace + `"><Rule><ObjectOwnership>BucketOwnerEnforced</ObjectOwnership></Rule></OwnershipControls>`)
	s.buckets[name] = b
	return b
}

func (s *Server) headBucket(c *call, b *bucket) error {
	c.w.Header().Set("x-amz-bucket-region", b.region)
	c.w.WriteHeader(http.StatusOK)
	return nil
}

func (s *Server) deleteBucket(c *call, b *bucket) error {
	if len(b.objects) > 0 {
		return fail(http.StatusConflict, "BucketNotEmpty", "The bucket you tried to delete is not empty. You must delete all versions in the bucket.").with("BucketName", b.name)
	}
	delete(s.buckets, b.name)
	for id, u := range s.uploads {
		if u.bucket == b.name {
			delete(s.uploads, id)
		}
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) bucketLocation(c *call, b *bucket) error {
	if b.owner != s.account {
		return accessDenied
	}
	var out struct {
		XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ LocationConstraint"`
		Region  string   `xml:",chardata"`
	}
	if b.region != "us-east-1" {
		out.Region = b.region
	}
	writeXML(c.w, http.StatusOK, out)
	return nil
}

var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

func validBucketName(name string) bool {
	_, notAddress := netip.ParseAddr(name)
	return bucketName.MatchString(name) && notAddress != nil && !strings.Contains(name, "..") &&
		!strings.HasPrefix(name, "xn--") && !strings.HasPrefix(name, "sthree-") &&
		!strings.HasSuffix(name, "-s3alias") && !strings.HasSuffix(name, "--ol-s3")
}

type owner struct {
	ID string
}

// canonicalID makes up the 64 digits by which S3 knows an account.
func canonicalID(account string) string {
	return strings.Repeat("0", 64-len(account)) + account
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func randomID(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(rand.Text())
	}
	return b.String()[:n]
}
