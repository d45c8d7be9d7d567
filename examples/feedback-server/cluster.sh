#!/bin/sh
# Shows the service on three nodes, on this machine: etcd, PostgreSQL under Patroni, a process of the
# API and a worker on each, with a bucket and haproxy beside them. While 200 phones upload, processes
# are killed and frozen and nodes cut off. Prints what was acknowledged, lost, doubled and refused;
# the exit status is 0 only if nothing acknowledged was lost or doubled, and less than 1 % refused.
# As root on Debian it installs what is missing. `sh cluster.sh -h` lists the arguments.
set -eu
cd "$(dirname "$0")"

# Debian has PostgreSQL's programs in a directory for each version.
postgres() { command -v initdb || ls -d /usr/lib/postgresql/*/bin/initdb 2>/dev/null | sort -V | tail -1; }
PATH=$PATH:/usr/sbin:/sbin
missing=
for program in haproxy:haproxy patroni:patroni etcd:etcd-server curl:curl ip:iproute2; do
	command -v "${program%:*}" >/dev/null || missing="$missing ${program#*:}"
done
[ -n "$(postgres)" ] || missing="$missing postgresql"
if [ -n "$missing" ]; then
	if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
		echo "Missing:$missing. To install on Debian: sudo apt-get install$missing" >&2
		exit 1
	fi
	echo "Installing$missing" >&2
	# shellcheck disable=SC2086
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null || {
		echo "Could not install:$missing" >&2
		exit 1
	}
fi
PATH=$PATH:$(dirname "$(postgres)")

dir=$(mktemp -d)
# After a failure, the data and the logs are there, and remain.
trap '[ -d "$dir/cluster" ] || rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
echo 'Building feedback-server and this program; the first time takes a few minutes.' >&2
mkdir "$dir/bin"
go build -v -o "$dir/bin/" . ./cluster 2>"$dir/build" &
while kill -0 $! 2>/dev/null; do
	sleep 1
	[ "$((n = ${n:-0} + 1))" = "$((n / 10 * 10))" ] && echo "  $(wc -l <"$dir/build") packages compiled" >&2
done
wait $! || { grep -v '^[a-z0-9./_-]*$' "$dir/build" >&2; exit 1; }
if command -v versitygw >/dev/null; then
	cp "$(command -v versitygw)" "$dir/bin/"
else
	echo 'Building versitygw, the bucket' >&2
	GOBIN=$dir/bin go install github.com/versity/versitygw/cmd/versitygw@v1.8.0
fi
cp haproxy.cfg deploy/database.cfg deploy/patroni.sh deploy/patroni.yml cluster/nodes.sh "$dir"

PATH=$dir/bin:$PATH
as=
if [ "$(id -u)" = 0 ]; then # PostgreSQL refuses to run as root
	user=postgres
	id "$user" >/dev/null 2>&1 || user=nobody
	chown -R "$user" "$dir"
	as="setpriv --reuid=$user --regid=$(id -g "$user") --clear-groups"
fi
cd "$dir"
$as unshare --user --net true || {
	echo 'User namespaces are not allowed here: by sysctl, AppArmor or a container.' >&2
	exit 1
}
$as unshare --user --map-current-user --keep-caps --net --mount sh nodes.sh cluster "$@" "$dir"
