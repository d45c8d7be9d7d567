#!/bin/sh
# Runs the service end to end: spoken lessons become a saved feedback record.
# As root on Debian it installs the speech recogniser if it is missing.
# `sh examples/demo.sh -h` lists the arguments.
set -eu
cd "$(dirname "$0")/.."

packages='pocketsphinx pocketsphinx-en-us ffmpeg'

if [ -z "${LOCAL_ASR_URL:-}" ] && ! { command -v pocketsphinx_continuous && command -v ffmpeg; } >/dev/null; then
	if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
		echo "Installing the speech recogniser: $packages" >&2
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null ||
			echo "The installation failed; continuing without it." >&2
	elif command -v apt-get >/dev/null; then
		echo "No speech recogniser is installed. To install one: sudo apt-get install $packages" >&2
	else
		echo "No speech recogniser is installed. Install pocketsphinx (with its en-us model) and ffmpeg, or set LOCAL_ASR_URL." >&2
	fi
fi

# Scalar, without which the API reference is Swagger UI.
if command -v npm >/dev/null && ! ls examples/internal/docsui/dist/*.gz >/dev/null 2>&1; then
	go generate ./examples/internal/docsui || echo "Scalar could not be fetched; the API reference is Swagger UI." >&2
fi

echo "Building; the first time takes a few minutes." >&2
exec go run ./examples/feedback-server demo "$@"
