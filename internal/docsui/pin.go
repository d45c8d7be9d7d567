package docsui

// The pinned release of the reference page's script. The hashes are those that
// npm computes of the package and that a browser computes of the script.
const (
	Package          = "@scalar/api-reference"
	Version          = "1.72.1"
	PackageIntegrity = "sha512-XpEJ0rfc/cXbCrR+iC4kK0o/WwX2dTtGQbT049OlPKAHD6IMIFdTeGz2r+M27P2EDWKyUITRm/NzlP8z2pw/Ow=="
	ScriptIntegrity  = "sha512-tU3J4euEo5lXIMy42HF4KUTdundzAMuHoOw2Z0WquNAbdigLVdAyOGPJJoCmhiSNVRnSgfNqbB1VdiIfNATEMg=="

	// ScriptInPackage is where the script is in the package.
	ScriptInPackage = "package/dist/browser/standalone.js"

	// EmbeddedName is the file in dist/ that holds the script, compressed. It names
	// the version, so that an old file is not taken for a new one.
	EmbeddedName = "scalar-" + Version + ".js.gz"
)
