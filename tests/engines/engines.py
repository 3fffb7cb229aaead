"""Runs a statement of `margins plan --sql` on a real engine: engines.py ENGINE STATEMENT ROWS.csv OUT

Leaves with status 77 where the engine is not installed. The rows have the columns of tests/engines/main.rs. ROWS.sql is run
instead of reading rows, on DuckDB.
"""

import os
import subprocess
import sys
import tempfile

TYPES = {"place": "text", "age": "whole", "pay": "double", "sex": "text", "who": "text", "day": "date", "nr": "whole", "change": "narrow", "rate": "single", "wage": "double", "fee": "decimal", "price": "price"}


def missing(why):
    print(why)
    sys.exit(77)


def duckdb(sql, rows, out):
    try:
        import duckdb
    except ImportError:
        missing("the Python package duckdb is not installed")
    kinds = {"text": "VARCHAR", "whole": "INTEGER", "double": "DOUBLE", "date": "DATE", "narrow": "TINYINT", "single": "REAL", "decimal": "DECIMAL(38, 18)", "price": "DECIMAL(20, 6)"}
    columns = ", ".join(f"'{c}': '{kinds[k]}'" for c, k in TYPES.items())
    db = duckdb.connect()
    if rows.endswith(".sql"):
        with open(rows) as file:
            db.execute(file.read())
        db.execute(f"COPY ({sql}) TO '{out}' (FORMAT csv, HEADER)")
        return
    # From Parquet, of which it knows the least and the largest values, and leaves NaN out of them.
    db.execute(f"COPY (SELECT * FROM read_csv('{rows}', header = true, auto_detect = false, columns = {{{columns}}})) TO '{rows}.parquet'")
    db.execute(f"CREATE VIEW people AS SELECT * FROM read_parquet('{rows}.parquet')")
    kind = "parquet" if out.endswith(".parquet") else "csv, header"
    db.execute(f"COPY ({sql}) TO '{out}' (FORMAT {kind})")


def postgres(sql, rows, out):
    found = subprocess.run(["sh", "-c", "ls -d /usr/lib/postgresql/*/bin /usr/local/bin/initdb 2>/dev/null | head -n 1"], capture_output=True, text=True)
    folder = found.stdout.strip().removesuffix("/initdb")
    if not os.path.exists(f"{folder}/initdb"):
        missing("PostgreSQL is not installed")
    # The server does not run as root.
    import pwd
    user = None
    if os.getuid() == 0:
        names = {entry.pw_name for entry in pwd.getpwall()}
        user = "postgres" if "postgres" in names else "nobody"
    def run(*command, **more):
        return subprocess.run(command, check=True, user=user, capture_output=True, text=True, cwd="/tmp", **more).stdout
    with tempfile.TemporaryDirectory(dir="/tmp") as home:
        if user:
            os.chown(home, pwd.getpwnam(user).pw_uid, -1)
        run(f"{folder}/initdb", "-D", f"{home}/db", "-A", "trust", "-U", "tester", "-E", "UTF8", "--locale=C")
        run(f"{folder}/pg_ctl", "-D", f"{home}/db", "-w", "-l", f"{home}/log", "-o", f"-k {home} -c listen_addresses=''", "start")
        try:
            kinds = {"text": "text", "whole": "integer", "double": "double precision", "date": "date", "narrow": "smallint", "single": "real", "decimal": "numeric", "price": "numeric"}
            columns = ", ".join(f"{c} {kinds[k]}" for c, k in TYPES.items())
            psql = [f"{folder}/psql", "-h", home, "-U", "tester", "-d", "postgres", "-v", "ON_ERROR_STOP=1", "-q"]
            with open(rows) as file:
                run(*psql, "-c", f"CREATE TABLE people ({columns})", "-c", "COPY people FROM STDIN (FORMAT csv, HEADER)", stdin=file)
            # Comments end with their lines, so that the statement must keep them.
            answer = run(*psql, "-c", f"COPY ({sql}) TO STDOUT (FORMAT csv, HEADER)")
            with open(out, "w") as file:
                file.write(answer)
        finally:
            run(f"{folder}/pg_ctl", "-D", f"{home}/db", "-m", "immediate", "stop")


def spark(sql, rows, out):
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        missing("the Python package pyspark is not installed")
    if subprocess.run(["sh", "-c", "command -v java"], capture_output=True).returncode != 0:
        missing("pyspark needs Java")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "3").config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    kinds = {"text": "STRING", "whole": "INT", "double": "DOUBLE", "date": "DATE", "narrow": "TINYINT", "single": "FLOAT", "decimal": "DECIMAL(38, 18)", "price": "DECIMAL(20, 6)"}
    schema = ", ".join(f"{c} {kinds[k]}" for c, k in TYPES.items())
    people = session.read.csv(rows, header=True, schema=schema, quote='"', escape='"', multiLine=True)
    # A dataset of several files, which is read again.
    several = os.path.join(os.path.dirname(out), "people.parquet")
    people.repartition(4).write.mode("overwrite").parquet(several)
    session.read.parquet(several).createOrReplaceTempView("people")
    session.sql(sql).write.mode("overwrite").parquet(out)
    session.stop()


if __name__ == "__main__":
    engine, statement, rows, out = sys.argv[1:]
    with open(statement) as file:
        {"duckdb": duckdb, "postgres": postgres, "spark": spark}[engine](file.read(), rows, out)
