package docsui

// The pinned release of Scalar. The hashes are in the form that npm computes for the package and
// that a browser computes for the script.
const (
	Package          = "@scalar/api-reference"
	Version          = "1.72.1"
	PackageIntegrity = "sha512-XpEJ0rfc/cXbCrR+iC4kK0o/WwX2dTtGQbT049Ol" +
		"PKAHD6IMIFdTeGz2r+M27P2EDWKyUITRm/NzlP8z2pw/Ow=="
	ScriptIntegrity = "sha512-tU3J4euEo5lXIMy42HF4KUTdundzAMuHoOw2Z0Wq" +
		"uNAbdigLVdAyOGPJJoCmhiSNVRnSgfNqbB1VdiIfNATEMg=="

	// ScriptInPackage is the path of the script in the package's archive.
	ScriptInPackage = "package/dist/browser/standalone.js"

	// EmbeddedName is the file in dist/ that holds the compressed script. It contains the version,
	// so that the script of an older version is not embedded for a newer one.
	EmbeddedName = "scalar-" + Version + ".js.gz"
)
