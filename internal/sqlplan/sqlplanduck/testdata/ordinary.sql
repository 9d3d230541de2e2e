# Ordinary statements: one a line, each must plan, run and answer as it does when the engine runs it directly. A line that begins with > is what
# the engine runs instead of the line above, where that uses names of ours.
SELECT count(*) FROM nginx
SELECT count(*) AS n, level FROM nginx GROUP BY level ORDER BY n DESC, level
SELECT level, count(*) FROM nginx GROUP BY 1 ORDER BY 2 DESC, 1
SELECT level, status, count(*) FROM nginx GROUP BY ALL ORDER BY ALL
SELECT * FROM nginx
SELECT * FROM nginx ORDER BY _timestamp DESC LIMIT 10
SELECT * EXCLUDE (payload, "_overflow") FROM nginx WHERE status >= 400
SELECT * REPLACE (status / 100 AS status) FROM nginx
SELECT * RENAME (level AS severity) FROM nginx
SELECT nginx.* FROM nginx
SELECT n.* EXCLUDE (message) FROM nginx n
SELECT COLUMNS('st.*') FROM nginx
SELECT COLUMNS(c -> c LIKE 's%') FROM nginx
SELECT min(COLUMNS(['status', 'duration'])) FROM nginx
SELECT _timestamp, message FROM nginx WHERE level = 'error' ORDER BY _timestamp
SELECT _timestamp, message FROM nginx WHERE _timestamp >= TIMESTAMP '2026-03-05 11:00:00' AND _timestamp < TIMESTAMP '2026-03-05 12:00:00'
SELECT count(*) FROM nginx WHERE _timestamp > '2026-03-05T11:00:00Z'
SELECT count(*) FROM nginx WHERE _timestamp BETWEEN '2026-03-05 10:30:00+00' AND '2026-03-05 10:40:00+00'
SELECT count(*) FROM nginx WHERE '2026-03-05 12:00:00+00' > _timestamp
SELECT count(*) FROM nginx WHERE _timestamp = '2026-03-05 10:05:00+00'
SELECT count(*) FROM nginx WHERE _timestamp IN ('2026-03-05 10:05:00+00', '2026-03-05 10:07:00+00')
SELECT count(*) FROM nginx WHERE _timestamp::DATE = DATE '2026-03-05'
SELECT count(*) FROM nginx WHERE date_trunc('hour', _timestamp) = '2026-03-05 11:00:00+00'
SELECT count(*) FROM nginx WHERE date_trunc('hour', _timestamp) <= '2026-03-05 11:00:00+00'
SELECT count(*) FROM nginx WHERE _timestamp < make_timestamp(2026, 3, 5, 11, 0, 0) OR _timestamp > TIMESTAMPTZ '2026-03-05 12:30:00+00'
SELECT count(*) FROM nginx WHERE NOT (_timestamp < '2026-03-05 11:00:00+00')
SELECT count(*) FROM nginx WHERE _timestamp > '2026-03-05 10:30:00+00' OR level = 'error'
SELECT count(*) FROM nginx WHERE _timestamp > TIMESTAMPTZ '2026-03-05 12:00:00+00' - INTERVAL 90 MINUTE
SELECT count(*) FROM nginx WHERE _timestamp + INTERVAL 1 HOUR > '2026-03-05 12:00:00+00'
SELECT date_trunc('minute', _timestamp) AS minute, count(*) FROM nginx GROUP BY minute ORDER BY minute
SELECT date_trunc('hour', _timestamp), count(*) FROM nginx n GROUP BY date_trunc('hour', _timestamp) ORDER BY date_trunc('hour', n._timestamp)
SELECT date_trunc('second', _timestamp) AS s, date_trunc('day', _timestamp) AS d, date_trunc('week', _timestamp) AS w FROM nginx ORDER BY 1, 2, 3
SELECT date_trunc('MONTH', _timestamp) AS m, datetrunc('quarter', _timestamp) AS q, date_trunc('year', _timestamp) AS y FROM nginx ORDER BY 1, 2, 3
SELECT typeof(date_trunc('day', _timestamp)) AS d, typeof(date_trunc('minute', _timestamp)) AS m, date_trunc('hour', max(_timestamp)) FROM nginx GROUP BY ALL
SELECT date_trunc(NULL, _timestamp) AS none, date_trunc('hour', _timestamp + INTERVAL 1 DAY) AS later FROM nginx ORDER BY later LIMIT 5
SELECT time_bucket(INTERVAL '5 minutes', _timestamp) AS t, avg(duration) FROM nginx GROUP BY t ORDER BY t
SELECT extract(hour FROM _timestamp) AS h, count(*) FROM nginx GROUP BY h ORDER BY h
SELECT strftime(_timestamp, '%H:%M') AS t FROM nginx LIMIT 5
SELECT host, quantile_cont(duration, 0.99) AS p99 FROM nginx GROUP BY host ORDER BY p99 DESC, host
SELECT host, approx_quantile(duration, [0.5, 0.9]) FROM nginx GROUP BY host
SELECT host, median(duration), stddev(duration), max(status) - min(status) FROM nginx GROUP BY host
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY duration) FROM nginx
SELECT count(DISTINCT host), approx_count_distinct(host) FROM nginx
SELECT count(*) FILTER (WHERE level = 'error') * 100.0 / count(*) AS pct FROM nginx
SELECT sum(CASE WHEN status >= 400 THEN 1 ELSE 0 END) AS bad, host FROM nginx GROUP BY host HAVING bad > 1 ORDER BY host
SELECT host FROM nginx GROUP BY host HAVING count(*) > 28 ORDER BY host
SELECT DISTINCT level FROM nginx ORDER BY level
SELECT DISTINCT ON (host) host, status FROM nginx ORDER BY host, _timestamp
SELECT * FROM nginx WHERE message LIKE '%disk full%'
SELECT count(*) FROM nginx WHERE message ILIKE '%DISK%'
SELECT count(*) FROM nginx WHERE message NOT LIKE 'request%'
SELECT count(*) FROM nginx WHERE message LIKE 'error!:%' ESCAPE '!'
SELECT count(*) FROM nginx WHERE contains(message, 'full')
SELECT count(*) FROM nginx WHERE regexp_matches(message, 'u1[0-9]+$')
SELECT count(*) FROM nginx WHERE message ~ '.*reset'
SELECT count(*) FROM nginx WHERE message SIMILAR TO '.*reset'
SELECT count(*) FROM nginx WHERE starts_with(message, 'error:') AND message ^@ 'error'
SELECT regexp_extract(message, 'u([0-9]+)', 1) AS u, count(*) FROM nginx GROUP BY u ORDER BY u LIMIT 5
SELECT upper(level), lower(host), length(message), substr(message, 1, 5) FROM nginx LIMIT 3
SELECT level.upper() FROM nginx LIMIT 1
SELECT n.level.upper().lower() FROM nginx n LIMIT 1
SELECT host || ':' || status AS target FROM nginx LIMIT 3
SELECT concat_ws('-', host, level), replace(message, 'error', 'E'), split_part(message, ' ', 1) FROM nginx LIMIT 3
SELECT payload->>'$.a' AS a, payload->'b' FROM nginx LIMIT 3
SELECT (payload->>'a')::INTEGER AS a FROM nginx WHERE (payload->>'a')::INTEGER > 190 ORDER BY a
SELECT json_extract_string(payload, '$.b[0]') AS b, json_array_length(payload->'b') FROM nginx LIMIT 1
SELECT status::VARCHAR, duration::INTEGER, TRY_CAST(message AS INTEGER), CAST(cached AS INTEGER) FROM nginx LIMIT 3
SELECT "resource.service.name", count(*) FROM nginx GROUP BY 1 ORDER BY 1
SELECT count(*) FROM nginx WHERE cached
SELECT count(*) FROM nginx WHERE NOT cached AND status <> 200
SELECT count(*) FROM nginx WHERE status IN (200, 300) AND level NOT IN ('error')
SELECT count(*) FROM nginx WHERE (status, level) IN ((200, 'error'), (300, 'warn'))
SELECT count(*) FROM nginx WHERE seen IS NULL OR host IS NOT NULL
SELECT count(*) FROM nginx WHERE level IS DISTINCT FROM 'error'
SELECT coalesce(NULL, level), nullif(level, 'error'), ifnull(host, 'x'), greatest(status, 300), least(status, 300) FROM nginx LIMIT 3
SELECT a.host, count(*) FROM nginx a JOIN spans b ON a.host = b.host GROUP BY a.host ORDER BY a.host
SELECT count(*) FROM nginx JOIN spans USING (host)
SELECT host, count(*) FROM nginx JOIN spans USING (host) GROUP BY host ORDER BY host
SELECT nginx.host, spans.name FROM nginx LEFT JOIN spans ON nginx.host = spans.host AND spans._timestamp < '2026-03-05 10:01:00+00' ORDER BY ALL
SELECT count(*) FROM nginx a LEFT JOIN spans b ON a.host = b.host WHERE b._timestamp IS NULL
SELECT count(*) FROM nginx a LEFT JOIN spans b ON a.host = b.host AND b._timestamp > '2026-03-05 10:30:00+00' WHERE a._timestamp < '2026-03-05 10:10:00+00'
SELECT count(*) FROM nginx a FULL JOIN spans b ON a.host = b.host AND a._timestamp > '2026-03-05 12:00:00+00'
SELECT count(*) FROM nginx a RIGHT JOIN spans b ON a.host = b.host WHERE b._timestamp < '2026-03-05 10:10:00+00'
SELECT count(*) FROM nginx a, spans b WHERE a.host = b.host AND a._timestamp = b._timestamp
SELECT count(*) FROM nginx CROSS JOIN (VALUES (1), (2)) v(x)
SELECT count(*) FROM nginx SEMI JOIN spans USING (host)
SELECT count(*) FROM nginx ANTI JOIN spans USING (host)
SELECT count(*) FROM nginx NATURAL JOIN spans
SELECT a._timestamp, b.trace_id FROM nginx a ASOF JOIN spans b ON a.host = b.host AND a._timestamp >= b._timestamp ORDER BY ALL
SELECT a._timestamp, b.trace_id FROM nginx a ASOF LEFT JOIN spans b ON a._timestamp >= b._timestamp WHERE b._timestamp > '2026-03-05 10:20:00+00' ORDER BY ALL
SELECT a.host FROM nginx a JOIN nginx b ON a._timestamp = b._timestamp + INTERVAL 1 MINUTE WHERE a.level = 'error' ORDER BY a.host
SELECT count(*) FROM nginx WHERE host IN (SELECT host FROM spans WHERE name = 'op1')
SELECT count(*) FROM nginx n WHERE EXISTS (SELECT 1 FROM spans s WHERE s.host = n.host AND s.duration_ns > 50000)
SELECT count(*) FROM nginx n WHERE duration > (SELECT avg(duration) FROM nginx m WHERE m.host = n.host)
SELECT count(*) FROM nginx WHERE duration > ALL (SELECT duration_ns / 1000 FROM spans)
SELECT host, (SELECT count(*) FROM spans s WHERE s.host = n.host) AS spans FROM (SELECT DISTINCT host FROM nginx) n ORDER BY host
SELECT (SELECT max(status) FROM nginx)
SELECT * FROM (SELECT level, count(*) AS n FROM nginx GROUP BY level) t WHERE n > 10 ORDER BY level
SELECT x.level FROM (SELECT * FROM nginx) x WHERE x.status = 200
SELECT l.n FROM nginx, LATERAL (SELECT nginx.status + 1 AS n) l WHERE l.n > 400
WITH e AS (SELECT * FROM nginx WHERE level = 'error') SELECT host, count(*) FROM e GROUP BY host ORDER BY host
WITH e AS MATERIALIZED (SELECT host FROM nginx), f AS (SELECT host FROM e WHERE host > 'h3') SELECT count(*) FROM f
WITH nginx AS (SELECT host FROM spans) SELECT count(*) FROM nginx
WITH e(a, b) AS (SELECT host, status FROM nginx) SELECT a, max(b) FROM e GROUP BY a ORDER BY a
WITH a AS (SELECT 1 AS x), b AS (SELECT x + 1 AS x FROM a) SELECT a.x, b.x FROM a, b
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 10) SELECT sum(n) FROM t
WITH RECURSIVE t AS (SELECT 0 AS m, count(*) AS c FROM nginx UNION ALL SELECT m + 1, c FROM t WHERE m < 3) SELECT * FROM t ORDER BY m
SELECT level FROM nginx UNION SELECT name FROM spans ORDER BY 1
SELECT level FROM nginx UNION ALL BY NAME SELECT name FROM spans ORDER BY ALL
SELECT host FROM nginx INTERSECT SELECT host FROM spans ORDER BY host
SELECT host FROM nginx EXCEPT SELECT host FROM spans ORDER BY host
(SELECT host FROM nginx ORDER BY _timestamp LIMIT 2) UNION ALL (SELECT host FROM spans ORDER BY _timestamp LIMIT 2)
SELECT host, row_number() OVER (PARTITION BY host ORDER BY _timestamp) AS r FROM nginx QUALIFY r = 1 ORDER BY host
SELECT _timestamp, duration - lag(duration) OVER (ORDER BY _timestamp) AS d FROM nginx ORDER BY _timestamp LIMIT 5
SELECT _timestamp, sum(duration) OVER w, avg(duration) OVER w FROM nginx WINDOW w AS (ORDER BY _timestamp ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) ORDER BY 1 LIMIT 9
SELECT host, rank() OVER (ORDER BY count(*) DESC), ntile(2) OVER (ORDER BY host) FROM nginx GROUP BY host ORDER BY host
SELECT first(host ORDER BY _timestamp), last(host ORDER BY _timestamp), arg_max(host, duration), any_value(level IS NOT NULL) FROM nginx
SELECT level, list(DISTINCT status ORDER BY status), string_agg(DISTINCT host, ',' ORDER BY host) FROM nginx GROUP BY level ORDER BY level
SELECT histogram(status) FROM nginx
SELECT level, host, count(*) FROM nginx GROUP BY ROLLUP (level, host) ORDER BY ALL
SELECT level, host, count(*), GROUPING(level) FROM nginx GROUP BY GROUPING SETS ((level), (host), ()) ORDER BY ALL
SELECT level, count(*) FROM nginx GROUP BY CUBE (level, cached) ORDER BY ALL
PIVOT (SELECT level, host FROM nginx) ON level IN ('error', 'warn') USING count(*) GROUP BY host ORDER BY host
SELECT * FROM (SELECT level, status, host FROM nginx) PIVOT (count(*) FOR level IN ('error', 'info') GROUP BY host) ORDER BY host
UNPIVOT (SELECT host, status, duration_ns FROM nginx JOIN spans USING (host)) ON status, duration_ns INTO NAME n VALUE v
SELECT * FROM (SELECT status, duration FROM nginx LIMIT 2) UNPIVOT (v FOR n IN (status, duration)) ORDER BY ALL
SUMMARIZE SELECT status, host FROM nginx
DESCRIBE SELECT status, host FROM nginx
SELECT * FROM range(5)
SELECT i, i * 2 FROM range(1, 10, 3) r(i)
SELECT * FROM generate_series(TIMESTAMP '2026-03-05', TIMESTAMP '2026-03-06', INTERVAL 6 HOUR)
SELECT unnest([1, 2, 3])
SELECT * FROM unnest(['a', 'b']) u(x)
SELECT list_sum([1, 2]), [1, 2][1], [1, 2, 3][2:], {'a': 1}.a, MAP {'k': 2}['k'], range(3)
SELECT 1
SELECT 1 + 1 AS two, 'it''s', 1.5, 1e3, TRUE, NULL, -status, +status FROM nginx LIMIT 1
SELECT 12345678901234567890, 170141183460469231731687303715884105727, 0.1::DOUBLE, 'ünï', $$dollar 'q'$$
SELECT 1 WHERE 1 = 1 AND NOT 1 > 2 OR false
VALUES (1, 'a'), (2, 'b')
FROM nginx
FROM nginx SELECT level WHERE status = 200 LIMIT 3
FROM (FROM nginx SELECT host) SELECT count(*)
TABLE spans
SELECT host AS "Host Name", level AS "sel""ect" FROM nginx ORDER BY "Host Name" LIMIT 2
SELECT NGINX.Level FROM Nginx LIMIT 1
SELECT v * -1 AS v FROM (VALUES (1), (2), (3)) t(v) ORDER BY v LIMIT 2
SELECT status * -1 AS status FROM nginx ORDER BY status LIMIT 3
SELECT host FROM nginx ORDER BY host DESC NULLS LAST, _timestamp OFFSET 5 LIMIT 3
SELECT host FROM nginx ORDER BY host LIMIT 10%
SELECT host FROM nginx ORDER BY ALL LIMIT (SELECT 3)
SELECT count(*) FROM nginx USING SAMPLE 100%
SELECT x: host, y: count(*) FROM n: nginx GROUP BY ALL ORDER BY x
SELECT host, count(*) FROM nginx WHERE level <> 'x' /* a comment; with a semicolon */ GROUP BY host -- and one more
SELECT 1;
# Names of ours
SELECT count(*) FROM logs.nginx WHERE logs.nginx.status = 200 AND public.logs.nginx.level = 'error'
> SELECT count(*) FROM nginx WHERE status = 200 AND level = 'error'
SELECT public.nginx.host FROM public.nginx ORDER BY nginx.host LIMIT 1
> SELECT host FROM nginx ORDER BY host LIMIT 1
SELECT count(*) FROM public.logs.nginx JOIN traces.spans ON logs.nginx.host = traces.spans.host
> SELECT count(*) FROM nginx JOIN spans ON nginx.host = spans.host
SELECT count(*) FROM LOGS."nginx-access" WHERE "nginx-access".status = 200
> SELECT count(*) FROM nginx WHERE status = 200
SELECT count(*) FROM shop.nginx
> SELECT count(*) FROM nginx
SELECT count(*) FROM 'nginx'
> SELECT count(*) FROM nginx
SELECT count(*) FROM "case"
> SELECT count(*) FROM nginx
SELECT logs.both.host, traces.both.name FROM logs.both, traces.both WHERE logs.both.host = traces.both.host ORDER BY ALL LIMIT 3
> SELECT nginx.host, spans.name FROM nginx, spans WHERE nginx.host = spans.host ORDER BY ALL LIMIT 3
SELECT resource.service.name, nginx.resource.service.name FROM nginx ORDER BY resource.service.name LIMIT 2
> SELECT "resource.service.name", "resource.service.name" AS again FROM nginx ORDER BY 1 LIMIT 2
SELECT "Status" FROM nginx ORDER BY "Status" LIMIT 2
> SELECT "Status__2" FROM nginx ORDER BY 1 LIMIT 2
SELECT count(*) FROM nginx WHERE match(message, 'DISK error')
> SELECT count(*) FROM nginx WHERE message LIKE 'error: disk%'
SELECT count(*) FROM nginx WHERE match(message, '"disk full" u*')
> SELECT 0
SELECT count(*) FROM nginx WHERE match(message, '"request ok" u1*')
> SELECT count(*) FROM nginx WHERE message LIKE 'request ok u1%'
SELECT match(level, 'error') AS e, count(*) FROM nginx GROUP BY e ORDER BY e
> SELECT level = 'error' AS e, count(*) FROM nginx GROUP BY e ORDER BY e
SELECT count(*) FROM nginx WHERE _timestamp > now() - INTERVAL 1 HOUR AND _timestamp <= now()
> SELECT count(*) FROM nginx WHERE _timestamp > '2026-03-05 11:00:00+00' AND _timestamp <= '2026-03-05 12:00:00+00'
SELECT now(), current_timestamp, current_date, today()
> SELECT '2026-03-05 12:00:00+00'::TIMESTAMPTZ, '2026-03-05 12:00:00+00'::TIMESTAMPTZ, '2026-03-05'::DATE, '2026-03-05'::DATE
SELECT _timestamp_nanos, * FROM nginx ORDER BY _timestamp LIMIT 2
> SELECT i::SMALLINT, n.* FROM nginx n JOIN range(2) r(i) ON n.message LIKE '% ' || i OR n.message = 'connection reset' AND n.host = 'h' || i ORDER BY _timestamp LIMIT 2
# Columns that are text because values of several types were stored
SELECT k FROM mixed WHERE level = 0
> VALUES (1)
SELECT k FROM mixed WHERE level = 'false'
> VALUES (2)
SELECT k FROM mixed WHERE level = false
> VALUES (2)
SELECT k FROM mixed WHERE ok AND NOT level
> SELECT 1 WHERE true
SELECT k FROM mixed WHERE n > 9.5
> VALUES (2)
SELECT k FROM mixed WHERE 9.5 >= n ORDER BY k
> VALUES (1), (4)
SELECT k FROM mixed WHERE n BETWEEN -5 AND 9 ORDER BY k
> VALUES (1), (4)
SELECT k FROM mixed WHERE n IN (9, 10) ORDER BY k
> VALUES (1), (2)
SELECT k FROM mixed WHERE n IN (9, 'abc') ORDER BY k
> VALUES (1), (3)
SELECT k FROM mixed WHERE n = k + 8 ORDER BY k
> VALUES (1), (2)
SELECT k FROM mixed WHERE k > n
> VALUES (4)
SELECT sum(n), avg(n), median(n), stddev(n), quantile_cont(n, 0.5), count(n), count(DISTINCT n) FROM mixed
> SELECT sum(x), avg(x), median(x), stddev(x), quantile_cont(x, 0.5), 4, 4 FROM (VALUES (9.0::DOUBLE), (10), (-3.5)) v(x)
SELECT max(n), min(n), max("at") FROM mixed
> SELECT '10', '-3.5', 'never'
SELECT max(n) OVER (), k FROM mixed ORDER BY k
> SELECT '10', i FROM range(1, 6) r(i)
SELECT n + 1, n * 2, -n, n / 2, n % 4, n & 1 FROM mixed WHERE k = 2
> SELECT 11.0::DOUBLE, 20.0::DOUBLE, -10.0::DOUBLE, 5.0::DOUBLE, 2.0::DOUBLE, 0::BIGINT
SELECT round(n), abs(n), floor(n) FROM mixed WHERE k = 4
> SELECT -4.0::DOUBLE, 3.5::DOUBLE, -4.0::DOUBLE
SELECT n::INTEGER, CAST(n AS DOUBLE) FROM mixed ORDER BY k
> VALUES (9, 9.0::DOUBLE), (10, 10.0), (NULL, NULL), (-4, -3.5), (NULL, NULL)
SELECT k FROM mixed WHERE "at" > TIMESTAMP '2026-03-01 12:00:00'
> VALUES (4)
SELECT k FROM mixed WHERE "at" < now() - INTERVAL 2 DAY ORDER BY k
> VALUES (1), (4)
SELECT year("at"), date_trunc('day', "at") FROM mixed WHERE k = 1
> SELECT 2026, '2026-03-01 00:00:00+00'::TIMESTAMPTZ
SELECT k FROM mixed WHERE n > length(host) ORDER BY k
> VALUES (1), (2)
SELECT k FROM mixed WHERE coalesce(n, 0) > 9
> VALUES (2)
SELECT sum(coalesce(n, 0)) FROM mixed
> SELECT 15.5::DOUBLE
SELECT sum(CASE WHEN k > 1 THEN n END) FROM mixed
> SELECT 6.5::DOUBLE
SELECT sum(m) FROM (SELECT n AS m FROM mixed)
> SELECT 15.5::DOUBLE
WITH x AS (SELECT * FROM mixed) SELECT k FROM x WHERE n > 9
> VALUES (2)
WITH x(a, b) AS (SELECT n, k FROM mixed) SELECT b FROM x WHERE a >= 10
> VALUES (2)
SELECT m FROM (SELECT n AS m FROM mixed UNION ALL SELECT k FROM mixed) WHERE m >= 9 ORDER BY m
> VALUES ('10'), ('9')
SELECT a.k FROM mixed a JOIN mixed b ON a.n = b.k + 8 ORDER BY a.k
> VALUES (1), (2)
SELECT count(*) FROM mixed a JOIN (SELECT 9 AS n UNION ALL SELECT 10) b USING (n)
> SELECT 2
SELECT k FROM mixed WHERE n IN (SELECT 9)
> VALUES (1)
SELECT k FROM mixed WHERE 9 IN (SELECT n FROM mixed) ORDER BY k
> SELECT i FROM range(1, 6) r(i)
SELECT n FROM mixed ORDER BY n
> VALUES ('-3.5'), ('10'), ('9'), ('abc'), (NULL)
SELECT n, count(*) FROM mixed GROUP BY n HAVING max(n) > 9 ORDER BY n
> VALUES ('10', 1)
SELECT greatest(n, 5), nullif(n, 9) FROM mixed WHERE k < 3 ORDER BY k
> VALUES (9.0::DOUBLE, NULL), (10.0, '10')
SELECT n AS m, m + 1 FROM mixed WHERE m > 9
> VALUES ('10', 11.0::DOUBLE)
SELECT k, CASE n WHEN 9 THEN 'nine' ELSE 'other' END FROM mixed ORDER BY k
> VALUES (1, 'nine'), (2, 'other'), (3, 'other'), (4, 'other'), (5, 'other')
SELECT count(*) FILTER (WHERE ok), bool_or(ok = true) FROM mixed
> SELECT 2, true
SELECT * FROM (SELECT k, n FROM mixed) PIVOT (sum(n) FOR k IN (1, 2))
> SELECT 9.0::DOUBLE, 10.0::DOUBLE
SELECT count(*) FROM nginx WHERE payload = 'no JSON'
> SELECT 0
SELECT count(*) FROM nginx WHERE payload IN ('no JSON', '{"a":7,"b":["x"]}')
> SELECT 1
SELECT count(*) FROM nginx WHERE payload > 6
> SELECT 0
SELECT count(*) FROM nginx WHERE payload BETWEEN 'a' AND 'b' OR 'x' = payload
> SELECT 0
SELECT coalesce(payload, 'none') AS p, CASE WHEN status > 300 THEN payload ELSE 'small' END AS c FROM nginx ORDER BY duration LIMIT 3
> SELECT payload::VARCHAR AS p, CASE WHEN status > 300 THEN payload::VARCHAR ELSE 'small' END AS c FROM nginx ORDER BY duration LIMIT 3
SELECT count(nullif(payload, 'x')) FROM nginx
> SELECT 200
SELECT coalesce(payload, _overflow) AS p, typeof(coalesce(payload, NULL)) AS t FROM nginx ORDER BY duration LIMIT 1
SELECT greatest(payload, 'a'), least('a', payload) FROM nginx ORDER BY duration LIMIT 2
> SELECT greatest(payload::VARCHAR, 'a'), least('a', payload::VARCHAR) FROM nginx ORDER BY duration LIMIT 2
