package audios3_test

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"lessonkit.example/feedback/feedbacktest"
	"lessonkit.example/internal/s3test"
)

// BenchmarkUpload compares an upload with a bare PutObject, one request, of the same bytes from
// memory: an upload is received, hashed and checked besides. They take turns, so that both meet the
// same load of the machine; ratio is the time of PutObject divided by that of the upload.
func BenchmarkUpload(b *testing.B) {
	for _, megabytes := range []int{2, 100} {
		b.Run(fmt.Sprint(megabytes, "MB"), func(b *testing.B) {
			server := s3test.Start(b)
			server.Bucket(b, "audio")
			s := open(b, server.Endpoint, "audio")
			endpoint, err := url.Parse(server.Endpoint)
			require.NoError(b, err)
			bare, err := minio.New(endpoint.Host, &minio.Options{
				Creds: credentials.NewStaticV4(s3test.AccessKeyID, s3test.SecretAccessKey, ""), Region: "us-east-1",
			})
			require.NoError(b, err)
			// A bucket in use has objects in all 256 folders. In an empty one, this server, whose
			// folders are directories, would create and delete one for each recording.
			for i := range 256 {
				_, err := bare.PutObject(b.Context(), "audio", fmt.Sprintf("%02x/other", i), strings.NewReader("x"), 1,
					minio.PutObjectOptions{})
				require.NoError(b, err)
			}
			audio := append(feedbacktest.MP3(""), make([]byte, megabytes*1_000_000)...)
			upload := func() {
				a, err := s.Stage(b.Context(), bytes.NewReader(audio), 1<<30)
				require.NoError(b, err)
				kept, err := a.Keep(b.Context(), nil)
				require.NoError(b, err)
				b.StopTimer()
				require.NoError(b, s.Delete(b.Context(), kept.Key))
			}
			put := func() {
				_, err := bare.PutObject(b.Context(), "audio", "bare", bytes.NewReader(audio), int64(len(audio)),
					minio.PutObjectOptions{ContentType: "audio/mpeg", DisableMultipart: true}) // the one request of S3
				require.NoError(b, err)
				b.StopTimer()
				require.NoError(b, bare.RemoveObject(b.Context(), "audio", "bare", minio.RemoveObjectOptions{}))
			}
			upload() // both connections are open
			put()
			b.ResetTimer()
			b.SetBytes(int64(len(audio)))
			var uploads, puts float64
			for range b.N {
				before := b.Elapsed()
				b.StartTimer()
				put()
				between := b.Elapsed()
				b.StartTimer()
				upload()
				puts += (between - before).Seconds()
				uploads += (b.Elapsed() - between).Seconds()
			}
			b.ReportMetric(puts/uploads, "ratio")
		})
	}
}

// BenchmarkManyUploads reports how much more memory the process obtains from the system during 32
// uploads of 100 MB at once.
func BenchmarkManyUploads(b *testing.B) {
	server := s3test.Start(b)
	server.Bucket(b, "audio")
	s := open(b, server.Endpoint, "audio")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for b.Loop() {
		var g errgroup.Group
		for range 32 {
			g.Go(func() error {
				a, err := s.Stage(b.Context(), io.MultiReader(bytes.NewReader(feedbacktest.MP3("")),
					io.LimitReader(zeros{}, 100_000_000)), 1<<30)
				if err != nil {
					return err
				}
				kept, err := a.Keep(b.Context(), nil)
				if err != nil {
					return err
				}
				return s.Delete(b.Context(), kept.Key)
			})
		}
		require.NoError(b, g.Wait())
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.Sys-before.Sys)/(1<<20), "MiB-more")
}
