-- Revenue and orders a country, largest first.
SELECT country,
       count(*)              AS orders,
       sum(quantity * price) AS revenue
  FROM orders
 WHERE status IN ('paid', 'shipped')
 GROUP BY country
 ORDER BY revenue DESC, country
