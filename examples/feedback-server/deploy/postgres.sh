#!/bin/sh
# One of two PostgreSQL servers, db1 and db2, as compose.yaml and cluster.sh run them. If $PGDATA does
# not exist, the server $NAME begins as the primary if it is $PRIMARY, else as a standby of $OTHER,
# the host of the other server, with ":" and its port if that is not 5432. If it exists, the server
# goes on as what it was.
# $PGPASSWORD is the password of the role postgres, $FEEDBACK_PASSWORD that of the service's role.
set -eu

new=$PGDATA.new # becomes $PGDATA when it is complete
rm -rf "$new"
if [ -d "$PGDATA" ]; then
	:
elif [ "$NAME" = "$PRIMARY" ]; then
	answer=0
	pg_isready -q -d "postgres://$OTHER" || answer=$?
	if [ "$answer" -lt 2 ]; then # 0 and 1 are answers, also of a server that starts or stops
		echo "There is a server at $OTHER already: $NAME does not begin as a second, empty primary." \
			"Set PRIMARY to the name of that server, and $NAME becomes its standby." >&2
		exit 1
	fi
	umask 077
	printf %s "$PGPASSWORD" >"$PGDATA.password"
	initdb -D "$new" -U postgres -A scram-sha-256 --pwfile="$PGDATA.password" --encoding=UTF8 --locale=C
	rm "$PGDATA.password"
	for database in all replication; do
		echo "host $database all all scram-sha-256" >>"$new/pg_hba.conf"
	done
	printf '%s\n' "create role feedback login password '$FEEDBACK_PASSWORD'" \
		'create database feedback owner feedback' |
		postgres --single -D "$new" postgres >/dev/null
	mv "$new" "$PGDATA"
else
	until pg_basebackup -d "postgres://postgres@$OTHER" -D "$new" \
		--write-recovery-conf --checkpoint=fast ${COPY_OPTIONS:-}; do
		rm -rf "$new"
		sleep 1
	done
	mv "$new" "$PGDATA"
fi

# A commit is acknowledged when it is on the disks of both servers, so that a promoted standby has it.
# Without the standby, commits wait for its return: nothing is lost, and nothing is written. With two
# standbys and ANY 1 (…) writing would go on. The servers are named so that a copy of the data in
# progress does not count as a standby.
exec postgres -D "$PGDATA" -c "cluster_name=$NAME" -c "listen_addresses=${LISTEN:-*}" -c "port=${PGPORT:-5432}" \
	-c "unix_socket_directories=" -c max_connections=200 \
	-c synchronous_commit=on -c "synchronous_standby_names=FIRST 1 (db1, db2)" -c wal_retrieve_retry_interval=200ms
