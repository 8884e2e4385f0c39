package bucket

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // azblob://
	_ "gocloud.dev/blob/fileblob"  // file://
	_ "gocloud.dev/blob/s3blob"    // s3://

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/patience"
)

// URLs says what [Open] takes.
const URLs = "s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, azblob://CONTAINER/PREFIX or file:///DIRECTORY"

// Open opens the bucket at a URL, one of [URLs]. A directory is made if it is not there.
func Open(ctx context.Context, store string) (*Bucket, error) { return open(ctx, store, "1") }

// OpenThere opens a bucket to read it: a directory that is not there is an error, since its name may be wrong.
func OpenThere(ctx context.Context, store string) (*Bucket, error) { return open(ctx, store, "") }

// open opens a bucket. Package fileblob makes a directory if create is not empty.
func open(ctx context.Context, store, create string) (*Bucket, error) {
	u, err := url.Parse(store)
	switch {
	case err != nil || u.Opaque != "" || u.Port() != "": // what it is may be a password
		return nil, errors.New("-store: no URL; want " + URLs)
	case u.Scheme == "":
		return nil, fmt.Errorf("-store=%s: no URL; want %s", store, URLs)
	case u.User != nil:
		return nil, errors.New("-store: nothing takes credentials from its URL; " + credentials[u.Scheme])
	}
	prefix, q, opener := "", u.Query(), blob.OpenBucket
	switch u.Scheme {
	case "file":
		// Who lists a directory does not follow a link that it is.
		if dir, err := filepath.EvalSymlinks(u.Path); err == nil {
			u.Path = dir
		}
		for name, value := range map[string]string{"create_dir": create, "no_tmp_dir": "1", "metadata": "skip"} {
			if !q.Has(name) {
				q.Set(name, value)
			}
		}
	case "s3":
		// Records have checksums of their own. Without this a line comes for each object of a store that has none.
		if name := "response_checksum_validation"; !q.Has(name) {
			q.Set(name, "when_required")
		}
	case "gs":
		opener = openGCS
	default:
		if !blob.DefaultURLMux().ValidBucketScheme(u.Scheme) {
			return nil, fmt.Errorf("-store=%s://: no such store; want %s", u.Scheme, URLs)
		}
	}
	if u.Scheme != "file" {
		if prefix = strings.Trim(u.Path, "/"); prefix != "" {
			prefix += "/"
		}
		u.Path = ""
	}
	u.RawQuery = q.Encode()
	name, _, _ := strings.Cut(store, "?")
	b, err := opener(ctx, u.String())
	if err != nil {
		return nil, fmt.Errorf("-store=%s: %w%s", name, &clientError{err}, remedy(err))
	}
	server := serverOf(b)
	if prefix != "" {
		b = blob.PrefixedBucket(b, prefix)
	}
	opened := New(b, name)
	opened.azure = u.Scheme == "azblob"
	opened.Identity = u.Scheme + "://" + u.Host + "/" + prefix + "?" + q.Encode() // in the order of names
	if server != "" && !q.Has("endpoint") {
		opened.Identity += " at " + server
	}
	if u.Scheme == "file" {
		opened.Identity = u.Scheme + "://" + u.Host + u.Path + "?" + q.Encode()
		if !q.Has("prefix") {
			opened.dir = u.Path
		}
	}
	return opened, nil
}

// New returns the store in a bucket, which it closes.
func New(b *blob.Bucket, shown string) *Bucket {
	return &Bucket{URL: shown, Identity: shown, Patience: patience.Usual, blob: b}
}

// credentials say where a client takes them from.
var credentials = map[string]string{
	"file": "a directory needs none",
	"s3":   "S3 takes those of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or of a profile",
	"gs": "Google's client takes those in the file that GOOGLE_APPLICATION_CREDENTIALS names, of " +
		"'gcloud auth application-default login', or of the machine",
	"azblob": "Azure's client takes AZURE_STORAGE_ACCOUNT, and AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN, or those " +
		"of 'az login' or of the machine",
}

// serverOf returns what a client asks, as far as variables of the environment have a say in it: the same URL may stand
// for several stores. It has no credentials. It is empty where the URL says it all.
func serverOf(b *blob.Bucket) string {
	var azure *container.Client
	var amazon *s3.Client
	var google *storage.Client
	switch {
	case b.As(&azure):
		return withoutSecrets(azure.URL())
	case b.As(&amazon):
		return withoutSecrets(aws.ToString(amazon.Options().BaseEndpoint))
	case b.As(&google):
		if at := emulator(); at != "" {
			return at
		}
		return os.Getenv("GOOGLE_CLOUD_UNIVERSE_DOMAIN")
	}
	return ""
}

// withoutSecrets returns a URL without a password, and without what stands behind a question mark: that may be a token.
func withoutSecrets(text string) string {
	text, _, _ = strings.Cut(text, "?")
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	u.User = nil
	return u.String()
}

// remedy returns what to do about an error of a store's client, if the words of that do not say it.
func remedy(err error) string {
	switch text := err.Error(); {
	case strings.Contains(text, "Invalid region") || strings.Contains(text, "A region must be set"):
		return "; set AWS_REGION, or append ?region=NAME to the URL"
	case strings.Contains(text, "get credentials"):
		return "; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
	case strings.Contains(text, "could not find default credentials"):
		return "; " + credentials["gs"]
	case strings.Contains(text, "AccountName is required"):
		return "; set AZURE_STORAGE_ACCOUNT, or append ?storage_account=NAME to the URL"
	case strings.Contains(text, "DefaultAzureCredential"):
		return "; " + credentials["azblob"]
	}
	return ""
}
