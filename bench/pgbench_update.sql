-- One update by primary key, which is a transaction of its own.
\set account random(1, 100000 * :scale)
\set delta random(-5000, 5000)
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :account;
