#!/bin/sh
# Shows the service on several nodes, on this machine: PostgreSQL with a standby, a bucket, three
# processes for the API, three workers and a proxy are killed in turn while 200 phones upload.
# Prints what was acknowledged, lost, doubled and refused; the exit status is 0 only if nothing
# acknowledged was lost or doubled, and less than 1 % refused.
# As root on Debian it installs what is missing. `sh cluster.sh -h` lists the arguments.
set -eu
cd "$(dirname "$0")"

install() {
	if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		echo "Installing $1" >&2
		[ -n "${updated:-}" ] || apt-get update -qq
		updated=1
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1" >/dev/null
	else
		echo "$1 is missing. To install it: sudo apt-get install $1" >&2
		exit 1
	fi
}
PATH=$PATH:/usr/sbin
command -v haproxy >/dev/null || install haproxy
# Debian has PostgreSQL's programs in a directory for each version.
postgres() { command -v initdb || ls -d /usr/lib/postgresql/*/bin/initdb 2>/dev/null | sort -V | tail -1; }
[ -n "$(postgres)" ] || install postgresql
PATH=$PATH:$(dirname "$(postgres)")

dir=$(mktemp -d)
# After a failure, the data and the logs are there, and remain.
trap '[ -d "$dir/cluster" ] || rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
echo 'Building; the first time takes a few minutes.' >&2
mkdir "$dir/bin"
CGO_ENABLED=0 go build -o "$dir/bin/" . ./cluster
if command -v versitygw >/dev/null; then
	cp "$(command -v versitygw)" "$dir/bin/"
else
	GOBIN=$dir/bin go install github.com/versity/versitygw/cmd/versitygw@v1.8.0
fi
cp haproxy.cfg deploy/postgres.sh "$dir"

PATH=$dir/bin:$PATH
run=cluster
if [ "$(id -u)" = 0 ]; then # PostgreSQL refuses to run as root, and nothing else needs it
	user=postgres
	id "$user" >/dev/null 2>&1 || user=nobody
	chown -R "$user" "$dir"
	run="setpriv --reuid=$user --regid=$(id -g "$user") --clear-groups cluster"
fi
cd "$dir"
$run "$@" "$dir"
