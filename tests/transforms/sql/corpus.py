"""SQL that our plans must mean the same as Spark's own parser does, over the tables of `TABLES`."""

from __future__ import annotations

TABLES = {
    "t": """
        SELECT * FROM VALUES
        (1, 10L, 1.5D, 12.34, 'apple', true, DATE '2024-02-29', TIMESTAMP '2024-02-29 23:30:00Z',
         array(1, 2, 3), struct(1 AS a, 'x' AS b, struct(7 AS d) AS c), map('k', 1, 'l', 2),
         array(struct('p' AS k, 1 AS v), struct('q' AS k, 2 AS v)), X'01FF'),
        (2, -20L, -0.25D, -5.00, 'Äpfel_%', false, DATE '1969-12-31',
         TIMESTAMP '1969-12-31 12:00:00.123456+02:00', array(-1, NULL, 4),
         struct(-2 AS a, NULL AS b, struct(NULL AS d) AS c), map('k', NULL), array(), X''),
        (-3, 9223372036854775807L, 0.0D, 0.05, '', NULL, DATE '2023-10-29', TIMESTAMP '2023-10-29 02:30:00Z',
         array(), struct(3 AS a, 'it''s' AS b, struct(9 AS d) AS c), map(), NULL, NULL),
        (2, 0L, 1e10D, 99999999.99, '10% off', true, DATE '2000-01-01', TIMESTAMP '2000-01-01 00:00:00Z',
         array(5, 5), NULL, NULL, array(struct('p' AS k, 10 AS v)), X'61'),
        (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
        AS t(i, l, d, dec, s, b, dt, ts, xs, st, m, ss, bin)""",
    "u": """
        SELECT * FROM VALUES (1, 'one', 100), (2, 'two', 200), (2, 'zwei', NULL), (5, 'five', 500),
        (NULL, 'none', 0) AS u(i, name, w)""",
    "v": """
        SELECT * FROM VALUES ('a', 'x', 1, DATE '2024-01-01'), ('a', 'x', 2, DATE '2024-01-02'),
        ('a', 'y', 3, DATE '2024-01-05'), ('b', 'x', 4, DATE '2024-01-01'),
        ('b', NULL, NULL, DATE '2024-02-01'), (NULL, 'y', 6, NULL) AS v(g, h, n, day)""",
}

# Over table t; compared by type and by value in every row.
EXPRESSIONS = r"""
1
-1
- 1
2147483647
2147483648
-2147483648
-9223372036854775808
9223372036854775808
1.5
-1.50
0.05
.5
5.
1e3
1.5e-3
1D
1.5F
1.5BD
1e3BD
100L
7S
-7Y
'text'
"double"
'it''s'
"say ""hi"" x"
'tab\there\n'
'a' 'b' "c"
r'raw\n'
'\u00e4\101'
'100\%'
X'1F'
X'abc'
TRUE
false
NULL
DATE '2024-02-29'
DATE '2024-02'
DATE '2024'
TIMESTAMP '2024-02-29 12:30:00'
TIMESTAMP '2024-02-29T12:30:00.5Z'
TIMESTAMP '2024-02-29 12:30:00+02:00'
TIMESTAMP '2024-02-29'
TIMESTAMP_NTZ '2024-02-29 12:30:00.123456'
TIMESTAMP_LTZ '2024-02-29 12:30:00Z'
INTERVAL 3 DAYS
INTERVAL '3' DAY
INTERVAL -2 HOURS
INTERVAL 1 WEEK 2 DAYS
INTERVAL 1 DAY 2 HOURS 3 MINUTES 4.5 SECONDS
INTERVAL '1 02:03' DAY TO MINUTE
INTERVAL '1 02:03:04.123456' DAY TO SECOND
INTERVAL '02:03' HOUR TO MINUTE
INTERVAL '-02:03' MINUTE TO SECOND
INTERVAL '3 days 2 hours'
INTERVAL 5 MILLISECONDS
typeof(INTERVAL 2 YEARS)
typeof(INTERVAL '1-2' YEAR TO MONTH)
typeof(INTERVAL 1 YEAR 3 MONTHS)
typeof(INTERVAL 5 DAYS)
typeof(INTERVAL 90 MINUTES)
dt + INTERVAL 1 MONTH
dt + INTERVAL '1-1' YEAR TO MONTH
dt + INTERVAL 1 DAY
dt - INTERVAL 36 HOURS
ts + INTERVAL '1 12' DAY TO HOUR
ts - INTERVAL 2 WEEKS
dt - DATE '2000-01-01'
ts - TIMESTAMP '2000-01-01 00:00:00Z'
i
t.i
`i`
`t`.`i`
I
i + 1
i + 2 * 3
(i + 2) * 3
i - 1 - 1
i - (1 - 1)
-i
- - i
+i
~i
-i * 2
2 * -i
i % 2
i DIV 2
10 / i
i * 1.5
dec * 2
dec / 3
dec + 0.001
d / 2
i & 3
i | 8
i ^ 5
5 & 3 | 8 ^ 2
1 + 2 << 1
i << 2
-8 >> 1
-8 >>> 28
1 | 2 = 3
i = 2
i == 2
i <> 2
i != 2
i < 2
i <= 2
i > 2
i >= 2
i !> 2
i !< 2
i <=> NULL
i <=> 2
NOT b
! b
NOT i = 2
NOT NOT b
b AND i > 1
b OR i > 1
NOT b AND i > 1
b OR i > 1 AND s = ''
(b OR i > 1) AND s = ''
i = 1 OR i = 2 OR i = 3 OR i = 4
i > 0 AND i < 9 AND b AND s <> '' AND d > 0
i = 2 = true
i = 1 IS NULL
i BETWEEN 1 AND 2
i NOT BETWEEN 1 AND 2
i BETWEEN -5 AND 1 + 1
dt BETWEEN DATE '2000-01-01' AND DATE '2024-12-31'
i BETWEEN 1 AND 2 AND b
i IN (1, 2)
i NOT IN (1, 2)
i IN (1, NULL)
s IN ('apple', '')
(i, s) IN ((1, 'apple'), (2, 'x'))
i IS NULL
i IS NOT NULL
b IS TRUE
b IS NOT TRUE
b IS FALSE
b IS NOT FALSE
b IS UNKNOWN
b IS NOT UNKNOWN
i IS DISTINCT FROM 2
i IS NOT DISTINCT FROM NULL
s LIKE 'a%'
s NOT LIKE 'a%'
s LIKE '%\_\%'
s LIKE '%/%%' ESCAPE '/'
s ILIKE 'A%'
s NOT ILIKE '%P%'
s RLIKE '^[a-z]+$'
s REGEXP 'p+'
s NOT RLIKE '\\d+'
s LIKE ANY ('a%', '%off')
s LIKE ALL ('%p%', 'a%')
s NOT LIKE ANY ('a%', NULL)
s NOT LIKE ALL ('a%', '%z')
s LIKE SOME ('a%', NULL)
CASE WHEN i > 1 THEN 'big' WHEN i > 0 THEN 'small' ELSE 'none' END
CASE WHEN i > 1 THEN 'big' END
CASE i WHEN 1 THEN 'one' WHEN 2 THEN 'two' END
CASE i WHEN 1 THEN 'one' ELSE s END
CASE WHEN b THEN CASE i WHEN 1 THEN 1.5 ELSE 2 END ELSE i END
CAST(i AS bigint)
CAST(i AS BIGINT)
CAST(i AS string)
CAST(i AS decimal(5, 2))
CAST(i AS decimal(5))
CAST(i AS decimal)
CAST(i AS double)
CAST(i AS boolean)
CAST(i AS tinyint)
CAST(i AS varchar(2))
CAST(ts AS date)
CAST(dt AS timestamp)
CAST(dt AS timestamp_ntz)
CAST(xs AS array<string>)
CAST(st AS struct<x: bigint, y string, z: struct<d:string>>)
CAST(m AS map<string, bigint>)
CAST(NULL AS void)
CAST('1' AS INTERVAL DAY)
CAST(5 AS INTERVAL HOUR)
TRY_CAST(s AS int)
TRY_CAST('12' AS int)
i::string
i::bigint + 1
-1::string
'2024-01-01'::date
m['k']
m['nosuch']
st.a
st.c.d
t.st.c.d
st['b']
(st).b
(st.c).d
ss.v
`st`.`a`
named_struct('a', i, 'b', s)
named_struct('a', i, 'b', s).b
struct(i, s AS name, 1)
struct(i, s)
(i, s)
array(1, i, 3)
array(1, i, 3)[1]
map('a', i, 'b', 2)
map('a', i)['a']
transform(xs, x -> x + 1)
transform(xs, (x, n) -> x * n + i)
transform(xs, X -> x + 1)
filter(xs, x -> x > 1)
filter(ss, e -> e.v > 1)
transform(ss, e -> e.k || '-' || CAST(e.v AS string))
transform(ss, e -> struct(e.v AS a, i AS b))
exists(xs, x -> x = 2)
forall(xs, x -> x IS NOT NULL)
aggregate(xs, 0, (acc, x) -> acc + coalesce(x, 0))
aggregate(xs, 0, (acc, x) -> acc + x, acc -> acc * 10)
reduce(xs, 0, (a, x) -> a + x)
transform(xs, x -> transform(xs, y -> x * y))
transform(xs, x -> transform(xs, x -> x + 1))
transform_values(m, (k, v) -> v + 1)
map_filter(m, (k, v) -> k = 'k')
zip_with(xs, xs, (a, b) -> a + b)
array_sort(xs, (a, b) -> CASE WHEN a < b THEN 1 WHEN a > b THEN -1 ELSE 0 END)
array_sort(xs)
sort_array(xs, false)
size(xs)
cardinality(xs)
array_contains(xs, 5)
element_at(m, 'k')
try_element_at(xs, 9)
map_keys(m)
map_entries(m)
slice(xs, 1, 2)
concat(xs, array(9))
xs || array(9)
flatten(array(xs, xs))
array_join(xs, ',', '-')
array_distinct(xs)
sequence(1, 3)
s || '!'
s || i || d
concat(s, '-', i)
concat_ws('-', s, 'x', NULL)
upper(s)
UPPER(s)
Upper(s)
length(s)
char_length(s)
lower(s) = 'apple'
trim(s)
trim('  x ')
trim(BOTH FROM '  x ')
trim(BOTH 'ae' FROM s)
trim(LEADING 'a' FROM s)
trim(TRAILING 'e' FROM s)
trim(TRAILING FROM ' x ')
trim('ae' FROM s)
ltrim('a', s)
btrim(s, 'a')
substring(s, 2, 3)
substring(s FROM 2 FOR 3)
substring(s FROM 2)
substr(s, -3)
left(s, 2)
right(s, 2)
position('p' IN s)
position('p', s)
locate('p', s, 3)
instr(s, 'p')
overlay(s PLACING '__' FROM 2)
overlay(s PLACING '__' FROM 2 FOR 0)
overlay(s, '__', 2, 1)
replace(s, 'p', 'q')
regexp_replace(s, '[aeiou]', '*')
regexp_extract(s, '([a-z])p', 1)
split(s, 'p')
split_part(s, 'p', 1)
lpad(s, 8, '*')
repeat('ab', 2)
reverse(s)
initcap('a b')
translate(s, 'ap', 'xy')
format_string('%s=%d', s, i)
md5(s)
sha2(s, 256)
xxhash64(i, s)
hex(bin)
base64(bin)
bin
encode(s, 'UTF-8')
startswith(s, 'a')
endswith(s, 'e')
contains(s, 'p')
s = 'Äpfel_%'
ascii(s)
levenshtein(s, 'apple')
soundex(s)
extract(YEAR FROM dt)
EXTRACT(month FROM ts)
extract(DOW FROM dt)
date_part('day', dt)
year(dt)
month(ts)
dayofweek(dt)
date_add(dt, 1)
date_sub(dt, 1)
dateadd(dt, 1)
datediff(dt, DATE '2000-01-01')
dateadd(MONTH, 2, dt)
timestampadd(HOUR, i, ts)
date_add(DAY, 3, ts)
timestampdiff(MINUTE, ts, TIMESTAMP '2024-01-01 00:00:00Z')
datediff(MONTH, dt, DATE '2024-01-01')
date_diff(DAY, dt, dt)
add_months(dt, 1)
last_day(dt)
next_day(dt, 'MON')
trunc(dt, 'MM')
date_trunc('HOUR', ts)
to_date('2024-01-31')
to_date('31.01.2024', 'dd.MM.yyyy')
to_timestamp('2024-01-31 10:00:00')
date_format(ts, 'yyyy-MM')
unix_timestamp(ts)
from_utc_timestamp(ts, 'Europe/Berlin')
make_date(2024, 2, 29)
date(ts)
timestamp(dt)
string(i)
int('12')
CURRENT_DATE = current_date()
CURRENT_TIMESTAMP IS NOT NULL
current_timestamp() = now()
coalesce(i, 0)
nvl(i, 0)
nvl2(i, 'y', 'n')
ifnull(s, '-')
nullif(i, 2)
if(b, 1, 2)
IF(i > 1, s, 'x')
greatest(i, 1)
least(i, 1, d)
abs(i)
round(d, 1)
bround(2.5)
ceil(d)
floor(dec)
power(i, 2)
sqrt(abs(d))
mod(i, 2)
pmod(i, 2)
sign(i)
isnull(i)
isnotnull(i)
isnan(d)
nanvl(d, 0)
try_divide(i, 0)
try_add(l, 1)
get_json_object('{"a":{"b":[1,2]}}', '$.a.b[0]')
from_json('{"a": 1}', 'a INT')
from_json('{"a": 1}', 'struct<a: int>').a
to_json(st)
schema_of_json('{"a": 1}')
variant_get(parse_json('{"a": 1}'), '$.a', 'int')
typeof(i)
typeof(1.5)
typeof(1 + 1.5)
hash(i)
crc32(bin)
s COLLATE UTF8_LCASE = 'APPLE'
mask(s)
mask(s, lowerChar => '#')
size(filter(transform(xs, x -> coalesce(x, 0)), x -> x % 2 = 1))
exists(ss, e -> exists(xs, x -> x = e.v))
(((i)))
i /* comment /* nested */ */ + 1 -- line
"""

QUERIES = r"""
SELECT i, s FROM t
SELECT * FROM u
SELECT u.* FROM u
SELECT xs[0], xs[1]::double, ss[0].v, ss.v[0] FROM t WHERE i = 1
SELECT t.i, x.s FROM t JOIN t x ON t.i = x.i
SELECT DISTINCT i FROM t
SELECT ALL i FROM t
SELECT DISTINCT * FROM v
SELECT i AS a, i + 1 b, upper(s) FROM t
SELECT i AS `my col`, `i` FROM t
SELECT 1 AS one, 'x' AS two
SELECT 1 AS a, a + 1 AS b
SELECT i AS x, x + 1 AS y FROM t WHERE i > 0
SELECT * EXCEPT (w) FROM u
SELECT u.* EXCEPT (w, name) FROM u
SELECT * EXCEPT (name), upper(name) AS name FROM u
SELECT w AS first, * EXCEPT (w, i) FROM u ORDER BY first
SELECT * EXCEPT (i) FROM u ORDER BY i, name
SELECT *, w * 2 AS w2 FROM u
SELECT i FROM t WHERE i > 0 AND s IS NOT NULL
SELECT i FROM t WHERE true
SELECT 1 AS x WHERE false
SELECT i, s FROM t ORDER BY i DESC NULLS FIRST, s
SELECT i, s FROM t ORDER BY i NULLS LAST, s DESC
SELECT s FROM t ORDER BY d DESC, i
SELECT -i AS i FROM t ORDER BY i
SELECT i, s FROM t ORDER BY 1, 2 DESC
SELECT i + 1, s FROM t ORDER BY 1, 2
SELECT i AS n FROM t ORDER BY n LIMIT 2
SELECT i FROM t ORDER BY i, s LIMIT 2 OFFSET 1
SELECT i FROM t ORDER BY i, s OFFSET 3
SELECT i FROM t ORDER BY i LIMIT ALL
SELECT i FROM t SORT BY i
SELECT name FROM u ORDER BY abs(w - 150), name
SELECT a.i, b.name FROM t a JOIN u b ON a.i = b.i
SELECT a.i, b.name FROM t AS a INNER JOIN u AS b ON a.i = b.i AND b.w > 100
SELECT a.i, b.name FROM t a LEFT JOIN u b ON a.i = b.i
SELECT a.i, b.name FROM t a LEFT OUTER JOIN u b USING (i)
SELECT * FROM (SELECT i, s FROM t) JOIN u USING (i)
SELECT i, name, s FROM t RIGHT JOIN u USING (i)
SELECT i, name, s FROM t FULL OUTER JOIN u USING (i)
SELECT a.i AS x, b.i AS y FROM t a FULL JOIN u b ON a.i = b.i
SELECT i FROM t LEFT SEMI JOIN u ON t.i = u.i
SELECT i FROM t SEMI JOIN u USING (i)
SELECT i FROM t ANTI JOIN u ON t.i = u.i
SELECT i FROM t LEFT ANTI JOIN u USING (i)
SELECT t.i, u.i FROM t CROSS JOIN u
SELECT anti, cross, full, inner FROM (SELECT 1 AS anti, 2 AS cross, 3 AS full, 4 AS inner)
SELECT join, left, natural, on FROM (SELECT 1 AS join, 2 AS left, 3 AS natural, 4 AS on)
SELECT right, semi, using FROM (SELECT 1 AS right, 2 AS semi, 3 AS using)
SELECT 1 anti, 2 cross, 3 full, 4 inner, 5 join, 6 left, 7 natural, 8 on, 9 right, 10 semi
SELECT full.x + -on AS c FROM (SELECT struct(1 AS x) AS full, 2 AS on) WHERE NOT full.x = on ORDER BY full
SELECT left(s, 2) AS left, right FROM (SELECT s, right(s, 2) AS right FROM t)
SELECT CASE on WHEN 1 THEN using ELSE full END AS c FROM (SELECT 1 AS on, 2 AS using, 3 AS full)
SELECT u.i FROM u LEFT JOIN (SELECT 2 AS on, 1 AS left) ON on = u.i AND left = 1
SELECT transform(xs, full -> full + 1) AS c FROM t
WITH left AS (SELECT i FROM t) SELECT left.i, u.w FROM left LEFT JOIN u ON left.i = u.i
WITH right AS (SELECT i FROM t) SELECT right.i, u.w FROM u RIGHT JOIN right ON right.i = u.i
WITH full AS (SELECT i, w FROM u) SELECT full.i, x.w FROM full FULL JOIN full x USING (i)
SELECT t.i AS a, u.i AS b FROM t, u WHERE t.i = u.i
SELECT a.g, b.g, c.g FROM v a JOIN v b ON a.n = b.n JOIN v c ON b.n = c.n
SELECT a.i FROM t a JOIN (u b JOIN v c ON b.i = c.n) ON a.i = b.i
SELECT x.name FROM (SELECT * FROM u WHERE w > 100) x
SELECT name FROM (SELECT * FROM u WHERE w > 100)
SELECT name FROM (SELECT name, w FROM u) AS x(name, weight) WHERE weight > 0
SELECT z.p FROM u AS z(o, p, q) WHERE z.q IS NULL
SELECT a.i, b.name FROM (SELECT i FROM t) a JOIN (SELECT i, name FROM u) b ON a.i = b.i
SELECT i, name FROM (SELECT i FROM t) JOIN (SELECT name, w FROM u) ON i * 100 = w
SELECT count(*) FROM ((SELECT i FROM t) UNION ALL (SELECT i FROM u))
WITH a AS (SELECT i, s FROM t WHERE i > 0) SELECT * FROM a
WITH a AS (SELECT i FROM t), b AS (SELECT i + 1 AS j FROM a) SELECT a.i, b.j FROM a JOIN b ON a.i = b.j
WITH a(x, y) AS (SELECT i, s FROM t) SELECT a.x, c.y FROM a JOIN a c ON a.x = c.x
WITH t AS (SELECT 1 AS only) SELECT * FROM t
WITH a AS (WITH b AS (SELECT 1 AS x) SELECT x + 1 AS y FROM b) SELECT * FROM a
WITH a AS (SELECT i FROM t WHERE i IN (SELECT i FROM u)) SELECT x.i, y.i FROM a x, a y
SELECT i FROM t UNION SELECT i FROM u
SELECT i FROM t UNION ALL SELECT i FROM u
SELECT i FROM t UNION DISTINCT SELECT n FROM v ORDER BY i DESC LIMIT 3
SELECT i FROM t INTERSECT SELECT i FROM u
SELECT i FROM t INTERSECT ALL SELECT i FROM u
SELECT i FROM t EXCEPT SELECT i FROM u
SELECT i FROM t EXCEPT ALL SELECT i FROM u
SELECT i FROM t MINUS SELECT i FROM u
SELECT i FROM t UNION SELECT i FROM u INTERSECT SELECT 5
SELECT i FROM u EXCEPT (SELECT 1 UNION SELECT 2)
(SELECT i FROM t ORDER BY i LIMIT 1) UNION ALL (SELECT i FROM u ORDER BY i DESC LIMIT 1)
SELECT i AS a FROM t UNION ALL SELECT i FROM u ORDER BY a
SELECT 1 AS x UNION ALL SELECT 2.5
SELECT count(*) FROM t
SELECT count(*) AS n, count(i) AS m, count(DISTINCT i) AS k FROM t
SELECT sum(i), avg(d), min(s), max(ts) FROM t
SELECT max(i) + min(i) AS x, count(1) FROM t WHERE i > 0
SELECT i FROM t GROUP BY i
SELECT g, count(*) AS n FROM v GROUP BY g
SELECT g, h, sum(n) AS s FROM v GROUP BY g, h
SELECT sum(n) AS s, g FROM v GROUP BY g
SELECT g AS key, sum(n) AS s FROM v GROUP BY g
SELECT g AS key, sum(n) FROM v GROUP BY g
SELECT sum(n) FROM v GROUP BY g
SELECT upper(g), count(*) FROM v GROUP BY upper(g)
SELECT upper(g) AS u, count(*) AS n FROM v GROUP BY upper(g)
SELECT concat(upper(g), '!') AS u, count(*) AS n FROM v GROUP BY upper(g)
SELECT upper(g) AS u, count(*) FROM v GROUP BY 1
SELECT g, h, count(*) FROM v GROUP BY 1, 2
SELECT upper(g) AS g, count(*) AS n FROM v GROUP BY g
SELECT n % 2 = 0 AS even, collect_set(g) IS NULL AS x FROM v GROUP BY n % 2 = 0
SELECT g, sum(n) AS s FROM v GROUP BY g HAVING s > 3
SELECT g, sum(n) AS s FROM v GROUP BY g HAVING sum(n) > 3
SELECT g FROM v GROUP BY g HAVING count(*) > 1 AND g IS NOT NULL
SELECT g, sum(n) AS n FROM v GROUP BY g HAVING n > 4
SELECT sum(n) AS g FROM v GROUP BY g HAVING g = 'a'
SELECT max(n) FROM v HAVING max(n) > 100
SELECT max(n) AS m FROM v HAVING count(*) > 1
SELECT g, sum(n) AS s FROM v GROUP BY g ORDER BY s DESC
SELECT g, sum(n) AS s FROM v GROUP BY g ORDER BY sum(n) DESC, g
SELECT g FROM v GROUP BY g ORDER BY count(*) DESC, g LIMIT 1
SELECT count(*) AS n FROM v GROUP BY g ORDER BY g
SELECT -sum(n) AS g FROM v GROUP BY g ORDER BY g
SELECT g, count(*) AS n FROM v GROUP BY g HAVING max(n) > 2
SELECT DISTINCT count(*) AS c FROM v GROUP BY g ORDER BY c
SELECT g, count(*) FILTER (WHERE n > 1) AS c, sum(n) FILTER (WHERE h = 'x') AS s FROM v GROUP BY g
SELECT count(DISTINCT h) FILTER (WHERE g = 'a') AS c, collect_list(n) FILTER (WHERE n > 2) AS l FROM v
SELECT max_by(h, n) FILTER (WHERE g = 'a') AS m FROM v
SELECT first(g) IS NULL, last(n, true), any_value(g) IS NULL FROM v WHERE g = 'a'
SELECT first(h) IGNORE NULLS AS f, last(h IGNORE NULLS) AS l FROM v WHERE g = 'b'
SELECT g, h, sum(n) AS s FROM v GROUP BY ROLLUP (g, h)
SELECT g, h, sum(n) AS s FROM v GROUP BY g, h WITH ROLLUP
SELECT g, h, sum(n) AS s, grouping_id() AS gid FROM v GROUP BY CUBE (g, h)
SELECT g, h, sum(n) AS s FROM v GROUP BY GROUPING SETS ((g), (h), ())
SELECT g, h, sum(n) AS s FROM v GROUP BY GROUPING SETS ((g, h), g)
SELECT sum(n) AS s, g AS gg FROM v GROUP BY ROLLUP (g)
SELECT g, h, day, count(*) AS c FROM v GROUP BY ROLLUP ((g, h), day)
SELECT g, h, sum(n) AS s FROM v GROUP BY CUBE (g, h) HAVING s > 5 ORDER BY s, g, h
SELECT g, grouping(g) AS is_total, sum(n) AS s FROM v GROUP BY ROLLUP (g) ORDER BY is_total, g
SELECT g, h, sum(n) AS s FROM v GROUP BY ROLLUP (g, h) HAVING sum(n) > 3 ORDER BY sum(n), g, h
SELECT g AS gg, sum(n) AS s FROM v GROUP BY CUBE (g) HAVING max(n) > 3 ORDER BY gg
SELECT upper(g), count(*) AS c FROM v GROUP BY upper(g) HAVING upper(g) > 'A' ORDER BY upper(g)
SELECT max(n) AS m FROM v ORDER BY max(n)
SELECT g, row_number() OVER (PARTITION BY g ORDER BY n) AS r FROM v
SELECT g, sum(n) OVER (PARTITION BY g) AS s, count(*) OVER () AS c FROM v
SELECT n, sum(n) OVER (ORDER BY n ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM v
SELECT n, sum(n) OVER (ORDER BY n ROWS 2 PRECEDING) AS s FROM v
SELECT n, sum(n) OVER (ORDER BY n ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS s FROM v
SELECT n, sum(n) OVER (ORDER BY n ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING) AS s FROM v
SELECT n, sum(n) OVER (ORDER BY n RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS s FROM v
SELECT day, sum(n) OVER (ORDER BY day RANGE BETWEEN INTERVAL 2 DAYS PRECEDING AND CURRENT ROW) AS s FROM v
SELECT day, sum(n) OVER (ORDER BY day RANGE BETWEEN 3 PRECEDING AND CURRENT ROW) AS s FROM v
SELECT n, sum(n) OVER (ORDER BY n RANGE UNBOUNDED PRECEDING) AS s FROM v
SELECT n, rank() OVER w AS r, lag(n) OVER w AS p FROM v WINDOW w AS (PARTITION BY g ORDER BY n DESC)
SELECT n, lead(n, 2, -1) OVER (ORDER BY n) AS x, ntile(2) OVER (ORDER BY n) AS q FROM v
SELECT n, nth_value(n, 2) OVER (ORDER BY n) AS x FROM v
SELECT n, first_value(h) IGNORE NULLS OVER (PARTITION BY g ORDER BY n) AS f FROM v
SELECT n, sum(n) OVER w AS a, max(n) OVER (w2) AS b FROM v WINDOW w AS (PARTITION BY g), w2 AS (ORDER BY n)
SELECT g, sum(sum(n)) OVER (ORDER BY g) AS running FROM v GROUP BY g
SELECT g, rank() OVER (ORDER BY sum(n) DESC) AS r FROM v GROUP BY g ORDER BY r, g
SELECT g, n FROM v QUALIFY row_number() OVER (PARTITION BY g ORDER BY n DESC) = 1
SELECT g, n, row_number() OVER (PARTITION BY g ORDER BY n DESC) AS r FROM v QUALIFY r = 1
SELECT g, -n AS n FROM v QUALIFY row_number() OVER (ORDER BY n) = 2
SELECT i, x FROM t LATERAL VIEW explode(xs) e AS x
SELECT i, e.x FROM t LATERAL VIEW explode(xs) e AS x WHERE e.x > 1
SELECT i, x FROM t LATERAL VIEW OUTER explode(xs) e AS x
SELECT i, p, x FROM t LATERAL VIEW posexplode(xs) e AS p, x
SELECT i, k, value FROM t LATERAL VIEW explode(m) e AS k, value
SELECT i, k, v FROM t LATERAL VIEW inline(ss) e
SELECT i, k, v FROM t LATERAL VIEW OUTER inline(ss) e AS k, v
SELECT i, col FROM t LATERAL VIEW explode(xs) e
SELECT i, a.x, b.y FROM t LATERAL VIEW explode(xs) a AS x LATERAL VIEW explode(array(x, x * 10)) b AS y
SELECT i, x.k, count(*) AS n FROM t LATERAL VIEW explode(ss) e AS x GROUP BY i, x.k
SELECT i, explode(xs) AS x FROM t
SELECT i, explode(m) FROM t
SELECT i, posexplode(xs) AS (p, x) FROM t
SELECT explode_outer(xs) FROM t
SELECT i, inline(ss) FROM t
SELECT stack(2, 1, 'a', 2, 'b') AS (n, s)
SELECT i, j.z FROM t, LATERAL (SELECT t.i + 1 AS z) j
SELECT t.i, j.w FROM t LEFT JOIN LATERAL (SELECT max(w) AS w FROM u WHERE u.i = t.i) j
SELECT i FROM t WHERE i IN (SELECT i FROM u WHERE w > 100)
SELECT i FROM t WHERE i NOT IN (SELECT i FROM u WHERE i IS NOT NULL)
SELECT i FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.i = t.i)
SELECT i FROM t WHERE NOT EXISTS (SELECT * FROM u WHERE u.i = t.i AND w > 150)
SELECT i, (SELECT max(w) FROM u) AS m FROM t
SELECT i, (SELECT max(w) FROM u WHERE u.i = t.i) AS m FROM t
SELECT i FROM t WHERE d > (SELECT avg(d) FROM t)
SELECT g, sum(n) AS s FROM v GROUP BY g HAVING sum(n) > (SELECT min(w) FROM u)
SELECT i FROM t WHERE (i, i) IN (SELECT i, i FROM u)
SELECT i, i IN (SELECT i FROM u) AS known FROM t
SELECT i, CASE WHEN EXISTS (SELECT 1 FROM u WHERE u.i = t.i) THEN 'y' ELSE 'n' END AS f FROM t ORDER BY i, s
SELECT * FROM (SELECT i FROM t WHERE i IN (SELECT i FROM u)) JOIN (SELECT 2 AS i) USING (i)
SELECT t.i FROM t JOIN u ON t.i = u.i AND u.w = (SELECT max(w) FROM u x WHERE x.i = 1)
SELECT * FROM VALUES (1, 'a'), (2, NULL) AS x(n, s)
SELECT col1, col2 FROM VALUES (1, 1.5), (2, 3)
SELECT n FROM (VALUES (1), (2)) AS x(n) WHERE n > 1
VALUES (1, 'x'), (2, 'y')
SELECT t.i, x.label FROM t JOIN (VALUES (1, 'eins'), (2, 'zwei')) AS x(k, label) ON t.i = x.k
SELECT count(*), sum(i) FROM t;
SELECT /* all */ i FROM t -- done
select I, S from T where I > 0 order by I
SELECT st.a, st.c.d AS d, t.st.b FROM t
SELECT st.* FROM t
SELECT i, CASE WHEN i IS DISTINCT FROM 2 THEN 1 ELSE 0 END AS f FROM t
SELECT extract(year FROM dt) AS y, trim(BOTH 'a' FROM s) AS z FROM t
SELECT struct(*) AS all FROM u
SELECT count(DISTINCT g, h) AS c FROM v
SELECT approx_count_distinct(n) AS a, percentile(n, 0.5) AS p, stddev(n) AS s FROM v
SELECT current_date() = CURRENT_DATE AS same
SELECT a.x FROM (SELECT 1 AS x) a UNION ALL SELECT b.y FROM (SELECT 2 AS y) b
SELECT max(struct(n, g)).g AS top FROM v
SELECT g, collect_list(n) AS ns FROM (SELECT * FROM v ORDER BY n) GROUP BY g HAVING size(collect_list(n)) > 1
"""

# The names that Spark gives to columns without an alias.
UNNAMED = r"""
i + 1
i = 2
i <> 2
NOT b
b AND i > 1
upper(s)
count(i)
CAST(i AS bigint)
CAST(i + 1 AS bigint)
i IN (1, 2)
i IS NULL
i % 2
i DIV 2
s LIKE 'a%'
s RLIKE 'a'
CASE WHEN b THEN 1 ELSE 2 END
xs[0]
st.a
st.c.d
m['k']
struct(i, s)
named_struct('a', i)
transform(xs, x -> x + 1)
coalesce(i, 0)
extract(YEAR FROM dt)
concat(s, 'x')
s || 'x'
substring(s, 1, 2)
dt + INTERVAL 1 DAY
1.5
'x'
NULL
DATE '2024-01-01'
"""

# Both refuse these, at whatever stage.
BAD_EXPRESSIONS = r"""
i +
(i
i)
i IS NULL IS NULL
i ! IN (1, 2)
i IS ! NULL
count(u.*)
i IN (1) = true
i BETWEEN 1
CASE END
CASE WHEN b END
CAST(i AS nosuch)
CAST(i bigint)
nosuch
nosuch(i)
i b c
300Y
40000S
99999999999999999999999999999999999999999
'open
`open
DATE '2024-13-01'
DATE 'x'
TIMESTAMP '2024-01-01 25:00:00'
INTERVAL 1 MONTH 2 DAYS
INTERVAL '1' NOSUCH
INTERVAL '1-13' YEAR TO MONTH
X'0G'
x -> x
transform(xs, x -> y)
1e400
i ==== 2
s LIKE 'a' ESCAPE 'xy'
st.nosuch
sum(DISTINCT)
upper()
i[
::int
i::
/* open
extract(YEAR dt)
"""

BAD_QUERIES = r"""
SELECT
SELECT FROM t
SELECT i FROM
SELECT i t FROM x
SELECT i FROM t GROUP BY
SELECT i, s FROM t GROUP BY i
SELECT i FROM t ORDER BY 3
SELECT i FROM t GROUP BY 9
SELECT count(*) FROM t GROUP BY 1
SELECT i FROM t LIMIT -1
SELECT i FROM t LIMIT x
SELECT i FROM t JOIN
SELECT i FROM t AS full
SELECT i FROM t AS semi
SELECT i FROM (SELECT i FROM t) AS on
SELECT i FROM t AS union
SELECT i FROM t UNION
SELECT i FROM t ORDER BY i UNION SELECT i FROM u
SELECT i FROM t WHERE count(*) > 1
SELECT i FROM nosuch
SELECT nosuch FROM t
SELECT x.i FROM t
SELECT i FROM t JOIN u ON t.i = u.i
SELECT i, name FROM t UNION SELECT i FROM u
SELECT g FROM v QUALIFY g = 'a'
SELECT * EXCEPT (nosuch) FROM u
SELECT i FROM t; SELECT i FROM u
WITH a AS (SELECT 1) SELECT * FROM b
SELECT sum(n) OVER w FROM v
SELECT * FROM (SELECT i FROM t
SELECT i FROM t))
INSERT INTO t VALUES (1)
SELECT DISTINCT i FROM t ORDER BY s
VALUES (1, 2), (3)
SELECT a + 1 AS g, count(*) FROM v GROUP BY g
"""


def lines(text: str) -> list[str]:
    return [line for line in text.strip().splitlines() if line]
