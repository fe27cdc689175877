# Copies the primary at $PGHOST the first time, and follows it from then on.
set -eu

if [ ! -s "$PGDATA/PG_VERSION" ]; then
    pg_basebackup --pgdata="$PGDATA" --slot=standby --write-recovery-conf --checkpoint=fast
    chmod 0700 "$PGDATA"
fi
exec postgres "$@"
