-- One query a line; what stands after two dashes is a comment.
SELECT COUNT(*) FROM v1-residual WHERE sex = 'F'
SELECT sex, COUNT(*) AS n FROM v1-residual GROUP BY sex ORDER BY n DESC -- the larger first

SELECT COUNT(*) FROM v1-residual WHERE sex = 'F' AND job = 'yes';
