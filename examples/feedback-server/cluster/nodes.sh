#!/bin/sh
# Makes three machines, node1 to node3, of network namespaces that are connected by a bridge, and runs
# its arguments beside them. cluster.sh calls it in namespaces of its own, with which they end.
set -eu
mount -t tmpfs tmpfs /run
ip link set lo up
ip link add cluster type bridge
ip address add 10.90.0.2/24 dev cluster
ip link set cluster up
for i in 1 2 3; do
	ip netns add "node$i"
	ip link add "node$i" type veth peer name eth0 netns "node$i"
	ip link set "node$i" master cluster up
	ip -n "node$i" address add "10.90.0.1$i/24" dev eth0
	ip -n "node$i" link set eth0 up
	ip -n "node$i" link set lo up
done
exec "$@"
