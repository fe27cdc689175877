# Runs once, when the primary's data folder has been created. Creates the service's role and database, the
# replication role of the standby, and the slot that retains the changes which the standby has not fetched yet.
set -eu

psql --quiet --no-psqlrc --username=postgres --set=ON_ERROR_STOP=1 \
    --set=comptoir="$COMPTOIR_PASSWORD" --set=standby="$STANDBY_PASSWORD" <<'END'
CREATE ROLE comptoir LOGIN PASSWORD :'comptoir';
CREATE DATABASE comptoir OWNER comptoir ENCODING 'UTF8' TEMPLATE template0;
CREATE ROLE standby LOGIN REPLICATION PASSWORD :'standby';
\o /dev/null
SELECT pg_create_physical_replication_slot('standby');
END
echo 'host replication standby all scram-sha-256' >> "$PGDATA/pg_hba.conf"
