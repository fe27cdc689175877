# Copies the primary at $PGHOST on the first start, then follows it by streaming replication.
set -eu

if [ ! -s "$PGDATA/PG_VERSION" ]; then
    pg_basebackup --pgdata="$PGDATA" --slot=standby --write-recovery-conf --checkpoint=fast
    chmod 0700 "$PGDATA"
fi
exec postgres "$@"
