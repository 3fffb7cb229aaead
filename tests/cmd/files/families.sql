SELECT sex, COUNT(*) AS n FROM families2023 GROUP BY sex
