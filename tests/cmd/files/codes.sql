-- several, one a line
SELECT code, COUNT(*) FROM codes WHERE code IN ('A10','B20') GROUP BY code;

SELECT COUNT(*) FROM codes -- any code
SELECT COUNT(*) AS n FROM codes WHERE code = 'A10' AND ward = 'day'
