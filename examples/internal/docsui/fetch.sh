#!/bin/sh
# Writes the script of Scalar to the folder dist, unless it is there. npm fetches the release that docsui.go names; the
# package must have this hash:
integrity=sha512-XpEJ0rfc/cXbCrR+iC4kK0o/WwX2dTtGQbT049OlPKAHD6IMIFdTeGz2r+M27P2EDWKyUITRm/NzlP8z2pw/Ow==
set -eu
cd "$(dirname "$0")"
version=$(sed -n 's/^const Version = "\(.*\)"$/\1/p' docsui.go)
target=$PWD/dist/scalar-$version.js.gz
[ ! -e "$target" ] || exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm pack "@scalar/api-reference@$version" --ignore-scripts --json >packed.json
if ! grep -qF "\"$integrity\"" packed.json; then
	echo "the package of Scalar $version does not have the pinned hash" >&2
	exit 1
fi
tar -xzf ./*.tgz package/dist/browser/standalone.js
gzip -9n package/dist/browser/standalone.js
rm -f "${target%/*}"/*.js.gz
mv package/dist/browser/standalone.js.gz "$target"
