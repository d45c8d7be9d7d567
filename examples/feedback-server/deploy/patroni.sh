#!/bin/sh
# Runs Patroni with PostgreSQL as the first process of a container, with which all others end. The
# arguments are its configuration. $PATRONI_NAME is its name, $ADDRESS that of this machine.
#
# It ends too when Patroni, once up, is silent for a few seconds: nobody would stop a PostgreSQL
# whose Patroni is frozen when another server becomes the leader. That takes the rest of the
# leader's ttl. It does not help if the whole machine is frozen: for that, Patroni drives a watchdog
# device, where there is one.
set -eu
export PATRONI_RESTAPI_CONNECT_ADDRESS="$ADDRESS:8008" PATRONI_POSTGRESQL_CONNECT_ADDRESS="$ADDRESS:5432"
export PATRONI_SUPERUSER_USERNAME=postgres PATRONI_REPLICATION_USERNAME=replicator
PATRONI_POSTGRESQL_BIN_DIR=$(dirname "$(readlink -f "$(command -v initdb)")")
export PATRONI_POSTGRESQL_BIN_DIR

patroni "$@" &
patroni=$!
trap 'kill "$patroni"' INT TERM # it stops PostgreSQL and hands the lock over
missed=
while kill -0 "$patroni" 2>/dev/null; do
	if curl -fso /dev/null -m 2 "http://$ADDRESS:8008/liveness"; then
		missed=0
	elif [ -n "$missed" ] && missed=$((missed + 1)) && [ "$missed" = 4 ]; then
		echo "Patroni does not answer: this server ends" >&2
		exit 1
	fi
	sleep 1
done
