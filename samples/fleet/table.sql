-- Stacks of many machines, for ClickHouse. Rows are what `flame-collapse --to
-- rows` writes; partitions are days, so that old ones are dropped at no cost:
--     ALTER TABLE stacks DROP PARTITION 20261129
-- Names repeat without end: stored once each (LowCardinality). Servers before
-- 19.1 want SET allow_experimental_low_cardinality_type = 1 first.
CREATE TABLE IF NOT EXISTS stacks
(
    time  DateTime,
    host  LowCardinality(String),
    comm  LowCardinality(String),
    pid   UInt32,
    stack Array(LowCardinality(String)),
    count UInt64,
    -- the function that ran: whoever asks for it alone need not read stacks
    leaf  LowCardinality(String) MATERIALIZED stack[length(stack)]
)
ENGINE = MergeTree
PARTITION BY toYYYYMMDD(time)
ORDER BY (comm, time)
