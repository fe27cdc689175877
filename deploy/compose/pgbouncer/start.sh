# Writes PgBouncer's settings and starts it for the database at $PGHOST.
set -eu

folder=$(mktemp -d)
cat > "$folder/users.txt" <<END
"comptoir" "$COMPTOIR_PASSWORD"
END
cat > "$folder/pgbouncer.ini" <<END
[databases]
comptoir = host=$PGHOST port=${PGPORT:-5432}

[pgbouncer]
listen_addr = *
listen_port = ${LISTEN_PORT:-6432}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = $folder/users.txt
pool_mode = transaction
default_pool_size = 20
max_client_conn = 200
END
exec pgbouncer "$folder/pgbouncer.ini"
