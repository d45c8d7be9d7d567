// Package audios3 implements [feedback.AudioStore] in a bucket of an S3-compatible object storage.
// Any number of processes may share it.
//
//	recordings, err := audios3.New(audios3.Config{
//		URL:             "s3://recordings/school?endpoint=https://s3.school.example&region=eu-north-1",
//		AccessKeyID:     os.Getenv("AWS_ACCESS_KEY_ID"),
//		SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY"),
//	})
//
// An upload is received into a temporary file of [os.TempDir] and hashed on the way. To keep it,
// one PUT sends it with its length and SHA-256, so that the storage refuses a body that was damaged
// or cut: there is never incomplete audio. The file has no name while it is in use, and a process
// that dies leaves nothing. Kept audio is as durable as the storage makes an object before it
// acknowledges it.
//
// The sum is stored with the object. Who reads a recording from its start to its end gets an error
// in place of the last bytes if they do not add up to it. Parts of a recording, and objects that
// other programs have copied into the bucket, are not verified.
//
// Keys are those of package audiodir, below a prefix. The credentials must allow GetObject,
// PutObject, DeleteObject and ListBucket; without ListBucket, S3 does not tell that an object is
// missing. Versions of objects should be off, since a deleted recording must be gone.
package audios3

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/internal/recording"
)

// Config configures a [Store].
type Config struct {
	// URL is s3://bucket/prefix?endpoint=https://host:port&region=name. The prefix may be missing.
	// The endpoint defaults to AWS, the region to us-east-1.
	URL string

	// AccessKeyID and SecretAccessKey, and the SessionToken of temporary ones, are the credentials.
	// If the first two are empty, they are found as AWS clients find them: in the environment, the
	// shared credentials file, a web identity, or the role of the container or instance.
	AccessKeyID, SecretAccessKey, SessionToken string

	// Converted tells that recordings are converted before they are recognised: see
	// [audiotype.Type.Check].
	Converted bool
}

// Format implements [fmt.Formatter]: it hides the credentials.
func (c Config) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "audios3.Config{URL: %q}", c.URL) }

const (
	// tries is how often a request is made that fails in a way that may pass.
	tries = 3
	// idleTimeout is how long a connection to the storage may transfer nothing during a request.
	idleTimeout = 30 * time.Second
)

// Store implements [feedback.AudioStore]. It is safe for concurrent use.
type Store struct {
	client         minio.Core
	bucket, prefix string // prefix is empty or ends with a slash
	converted      bool
}

var _ feedback.AudioStore = (*Store)(nil)

// New returns a store in a bucket, which must exist. It does not connect yet.
func New(c Config) (*Store, error) { return newStore(c, idleTimeout) }

func newStore(c Config, idle time.Duration) (*Store, error) {
	l, err := parse(c.URL)
	if err != nil {
		return nil, fmt.Errorf("audios3: the address %w", err)
	}
	if (c.AccessKeyID == "") != (c.SecretAccessKey == "") {
		return nil, errors.New("audios3: AccessKeyID and SecretAccessKey must both be set or both be empty")
	}
	creds := credentials.NewStaticV4(c.AccessKeyID, c.SecretAccessKey, c.SessionToken)
	if c.AccessKeyID == "" {
		creds = credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{},
		})
	}
	transport, err := newTransport(l.secure, idle)
	if err != nil {
		return nil, fmt.Errorf("audios3: %w", err)
	}
	client, err := minio.NewCore(l.host, &minio.Options{
		Creds: creds, Secure: l.secure, Region: l.region, Transport: transport, MaxRetries: tries,
	})
	if err != nil {
		return nil, fmt.Errorf("audios3: %w", err)
	}
	return &Store{client: *client, bucket: l.bucket, prefix: l.prefix, converted: c.Converted}, nil
}

// location is the parsed address of a bucket.
type location struct {
	bucket, prefix, host, region string
	secure                       bool
}

// bucketName and prefixes match what every storage accepts and no address has to escape.
var (
	bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	prefixes   = regexp.MustCompile(`^([A-Za-z0-9_-][A-Za-z0-9._-]*/)*$`)
)

// parse returns errors that complete "the address …" and contain no part of it.
func parse(address string) (location, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "s3" || u.User != nil || u.Fragment != "" {
		return location{}, errors.New("must be s3://bucket/prefix?endpoint=https://host&region=name")
	}
	l := location{
		bucket: u.Host, prefix: strings.Trim(u.Path, "/"), host: "s3.amazonaws.com", region: "us-east-1", secure: true,
	}
	if l.prefix != "" {
		l.prefix += "/"
	}
	if !bucketName.MatchString(l.bucket) {
		return location{}, errors.New("must name a bucket: 3 to 63 lower-case letters, digits, dots and hyphens")
	}
	if !prefixes.MatchString(l.prefix) {
		return location{}, errors.New("must have a prefix of letters, digits, dots, hyphens, underscores and slashes")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return location{}, errors.New("must have a valid query")
	}
	for name, values := range query {
		switch {
		case len(values) != 1 || values[0] == "":
			return location{}, errors.New("must have each parameter once, with a value")
		case name == "region":
			l.region = values[0]
		case name == "endpoint":
			e, err := url.Parse(values[0])
			if err != nil || e.Scheme != "http" && e.Scheme != "https" || e.Host == "" ||
				strings.Trim(e.Path, "/") != "" || e.RawQuery != "" || e.User != nil {
				return location{}, errors.New("must have an endpoint such as https://host or http://host:port")
			}
			l.host, l.secure = e.Host, e.Scheme == "https"
		default:
			return location{}, errors.New("has an unknown parameter; endpoint and region are known")
		}
	}
	return l, nil
}

// Check fails with [feedback.ErrStorage] if the bucket cannot be reached, does not exist, or the
// credentials do not allow to list it. Like those of every operation, its message says at once
// which of these it is.
func (s *Store) Check(ctx context.Context) error {
	// Unlike the answer to HEAD, that to GET tells what is wrong.
	options := minio.ListObjectsOptions{Prefix: s.prefix, Recursive: true, MaxKeys: 1}
	for object := range s.client.ListObjectsIter(ctx, s.bucket, options) {
		if object.Err != nil {
			return storageError("check", object.Err)
		}
		break
	}
	return ctx.Err()
}

// Delete implements [feedback.AudioStore].
func (s *Store) Delete(ctx context.Context, key string) error {
	if !recording.IsKey(key) {
		return nil // not a key of this store
	}
	err := s.client.RemoveObject(ctx, s.bucket, s.prefix+key, minio.RemoveObjectOptions{})
	if err != nil && !isMissing(err) {
		return storageError("delete", err)
	}
	return nil
}

// Keys implements [feedback.AudioStore]. A process that died has left nothing else.
func (s *Store) Keys(ctx context.Context, before time.Time) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		options := minio.ListObjectsOptions{Prefix: s.prefix, Recursive: true}
		for object := range s.client.ListObjectsIter(ctx, s.bucket, options) {
			if object.Err != nil {
				yield("", storageError("list", object.Err))
				return
			}
			key := strings.TrimPrefix(object.Key, s.prefix)
			if recording.IsKey(key) && object.LastModified.Before(before) && !yield(key, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield("", err)
		}
	}
}

// isMissing reports whether an object does not exist.
func isMissing(err error) bool {
	code := minio.ToErrorResponse(err)
	return code.Code == minio.NoSuchKey || code.Code == "" && code.StatusCode == http.StatusNotFound
}

// passing matches the codes, in answers below 500, of what may succeed when it is tried again: the
// storage is busy, or a body was damaged or cut on the way.
var passing = regexp.MustCompile(`^(RequestTimeout|RequestThrottled|RequestLimitExceeded|Throttling.*|SlowDown.*|` +
	`BadDigest|IncompleteBody|XAmzContentSHA256Mismatch)$`)

// storageError is the failure of an operation. If the storage refuses it, and not because of what
// passes, only an administrator can remove the cause: the message tells the storage's code for it,
// and clients wait longer.
func storageError(op string, err error) error {
	failure := recording.StorageError("audios3: "+op, err)
	e, isStorage := errors.AsType[*feedback.Error](failure)
	answer := minio.ToErrorResponse(err)
	refused := answer.Code != "" && answer.StatusCode < 500 && !passing.MatchString(answer.Code)
	switch answer.StatusCode {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests, 499: // nginx: closed
		refused = false
	}
	if isStorage && refused && !isMissing(err) {
		e.Message, e.After = "the audio storage refuses requests: "+answer.Code, time.Minute
	}
	return failure
}
