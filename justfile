# The commands people use. `just --list` shows them. The checks are those of .ci/run: each is a script in .ci/steps.

# Format, lints, tests, the evaluator alone, schemas, and the README's first command
check: fmt clippy test evaluator schemas demo

# Formatting
fmt:
    .ci/steps/format

# Lints, for all targets
clippy:
    .ci/steps/lints

# Licences, sources, known holes, and the bill of materials
supply:
    .ci/steps/supply

# All tests
test:
    .ci/steps/tests

# All tests, each with all its tries
test-all:
    .ci/steps/tests-all

# The evaluator alone: no data reading, no samplers
evaluator:
    .ci/steps/evaluator

# The second reader, in Python, beside the command
auditor:
    .ci/steps/auditor

# Every call on ledger and release fails once, or the process is killed there
faults:
    .ci/steps/faults

# Whether time and memory of a release tell what is in the data
timing rounds="60":
    cargo build --release --locked --quiet
    python3 benches/timing.py target/release/margins --rounds {{rounds}}

# Mutation testing of what the guarantee rests on: what survives and is not in tests/mutants/known.txt. A part of it: just mutants --file src/ledger --shard 0/5
mutants *args:
    cargo run --quiet --locked --manifest-path tests/mutants/Cargo.toml --target-dir target/mutants/tool -- {{args}}

# The R package: R CMD check, and the session in docs/r.md
r:
    .ci/steps/r

# The committed schemas are those of the types (`UPDATE=1 just schemas` writes them)
schemas:
    cargo test --locked --package margins --lib schema

# A signed release from made-up data
demo:
    cargo run --release --locked -- release specs/town.toml --replace
    cargo run --release --locked -- query out/town.margins "SELECT sex, COUNT(*) FROM town WHERE age BETWEEN 20 AND 39 GROUP BY sex"
    cargo run --release --locked -- verify out/town.margins

# Audits of every family of releases from their integers, each with 40 000 releases of each of four datasets: about an hour
audit:
    cargo test --release --locked --package margins-lab --bin margins-lab audit:: -- --include-ignored --nocapture

# Benchmarks
bench:
    cargo bench --locked

# Counting beside polars and DuckDB, noisy tables beside OpenDP, samplers beside prio, sums and means beside OpenDP and diffprivlib, records beside AIM and MST, each in its best way, and what drawing records takes, in one run: writes docs/performance.md
bench-peers rows="10000000":
    cargo build --release --locked
    test -d target/peers || python3 -m venv target/peers
    target/peers/bin/pip install --quiet duckdb polars pyarrow numpy matplotlib
    test -d target/peers-opendp || python3 -m venv target/peers-opendp
    target/peers-opendp/bin/pip install --quiet "opendp[polars]" numpy
    cargo build --release --manifest-path benches/peers/samplers/Cargo.toml --target-dir target/samplers
    target/peers/bin/python benches/peers/peers.py --margins target/release/margins --rows {{rows}} --folder target/peers/files \
        --opendp target/peers-opendp/bin/python --samplers target/samplers/release/samplers --out docs/performance.md
    target/peers/bin/python benches/peers/large.py --margins target/release/margins --rows {{rows}} --folder target/peers/files --out docs/performance.md
    target/peers/bin/python benches/peers/curves.py --margins target/release/margins --out docs/images/cost.svg
    test -d target/peers-diffprivlib || python3 -m venv target/peers-diffprivlib
    target/peers-diffprivlib/bin/pip install --quiet diffprivlib "scikit-learn<1.7"
    target/peers/bin/python benches/peers/amounts.py --margins target/release/margins --opendp target/peers-opendp/bin/python \
        --diffprivlib target/peers-diffprivlib/bin/python --out docs/performance.md
    target/peers/bin/python benches/peers/summed.py --margins target/release/margins --rows {{rows}} --folder target/peers/files --out docs/performance.md
    target/peers/bin/python benches/peers/adult.py --margins target/release/margins --data "${ADULT:-adult14.csv}" --releases 200 --out docs/performance.md
    test -d target/mbi || git clone --quiet https://github.com/ryan112358/mbi target/mbi
    git -C target/mbi checkout --quiet 361705d7f05f8c0ac4d5b3640e688eb4f692346e
    test -d target/peers-mbi || python3 -m venv target/peers-mbi
    target/peers-mbi/bin/pip install --quiet ./target/mbi "jax==0.10.2" pandas matplotlib
    target/peers/bin/python benches/peers/records.py --margins target/release/margins --data "${PUBLIC:-target/public}" --mbi target/mbi \
        --python target/peers-mbi/bin/python --folder target/peers/files --seeds 1 --minutes 35 --out docs/performance.md
    target/peers/bin/python benches/peers/drawing.py --margins target/release/margins --data "${PUBLIC:-target/public}" --folder target/peers/files --out docs/performance.md
    python3 benches/peers/keep.py docs/performance.md benches/peers/newest.json

# How often the intervals of sums, means, variances and differences of means cover the truth, over small releases of skewed amounts: half an hour
coverage releases="6000":
    cargo build --release --locked
    python3 benches/coverage.py --margins target/release/margins --releases {{releases}}

# The statements of --sql on DuckDB, PostgreSQL and Spark (the last two from the system's packages), none skipped
engines:
    .ci/steps/engines

# The figures of docs/methods/bases.md
bases:
    cargo build --release --locked
    ./specs/bench/figures target/release/margins

# Processor seconds of every crate in a cold release build
crates:
    ./benches/crates

# Every fuzz target for some seconds, from its seeds, on the stable toolchain
fuzz-smoke seconds="10":
    ./fuzz/run {{seconds}}

# The pages for browsers, into explorer/page.html and studio/page.html
page:
    ./explorer/build
    ./studio/build

# The pages in a real Chromium, in a virtual environment; skipped with a message where there is none
page-test: page
    cargo build --release --locked
    test -d target/venv || python3 -m venv target/venv
    target/venv/bin/pip install --quiet --disable-pip-version-check pytest playwright
    target/venv/bin/python -m pytest -q -rs explorer/tests
    target/venv/bin/python -m pytest -q -rs studio/tests

# The command as it is published: with the pages inside
dist: page
    cargo build --profile dist --locked --features page

# The Python wheel with the pages inside, into dist/. It shares what is compiled with the command
wheel: page
    maturin build --release --locked --features page,pyo3/extension-module --manifest-path python/Cargo.toml --out dist

# The wheel's tests, in a virtual environment that has it and the data frames
wheel-test: page
    .ci/steps/wheel
