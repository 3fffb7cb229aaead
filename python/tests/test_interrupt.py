"""Ctrl-C ends whatever is being done, and leaves nothing half made."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are sent another way there")

# A search that would go on for hours.
LONG = {
    "name": "long",
    "title": "A search without end",
    "demo": True,
    "privacy": {"unit": "row", "epsilon": 1},
    "strategy": {"measure": "tables", "effort": 100000},
    "dimension": [{"name": f"d{i}", "column": f"d{i}", "range": [0, 3 + i]} for i in range(8)],
    "table": [{"of": [f"d{i}", f"d{j}", f"d{k}"]} for i in range(8) for j in range(i) for k in range(j)],
}


def interrupted(body, cwd, after=1.5):
    """Runs a program that says `ready` before it does what takes long, and interrupts it meanwhile. How it ended, what it said, and how long that took."""
    program = "import margins, signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n" + textwrap.dedent(body)
    run = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd)
    assert run.stdout.readline() == "ready\n", run.stderr.read()
    time.sleep(after)
    assert run.poll() is None, "it was done at once"
    began = time.monotonic()
    run.send_signal(signal.SIGINT)
    try:
        said = run.communicate(timeout=30)[1]
    except subprocess.TimeoutExpired:
        run.kill()
        raise
    return run.returncode, said, time.monotonic() - began


def ended(found, within=4):
    code, said, seconds = found
    assert code in (130, -signal.SIGINT) and "KeyboardInterrupt" in said, said
    assert seconds < within, f"{seconds} s"
    return said


def test_a_plan(tmp_path):
    ended(interrupted(f"print('ready', flush=True)\nmargins.plan({LONG!r})", tmp_path))


# A release of which a hundred medians take long.
MANY = {
    "name": "many",
    "title": "Many ages",
    "demo": True,
    "privacy": {"unit": "row", "rho": 1},
    "dimension": [{"name": "place", "range": [0, 99]}, {"name": "age", "range": [0, 1999]}],
    "table": [{"of": ["place", "age"]}],
}


def test_a_query(tmp_path):
    body = f"""
        open("rows.csv", "w").write("place,age\\n" + "1,1\\n" * 1000)
        many = margins.release({MANY!r}, "rows.csv", ledger="many.jsonl").open()
        print("ready", flush=True)
        many.query("SELECT place, MEDIAN(age) FROM many GROUP BY place")
    """
    ended(interrupted(body, tmp_path))


def test_many_short_calls(town_file, tmp_path):
    """Between and within calls: opening, checking, asking, describing."""
    body = f"""
        print("ready", flush=True)
        while True:
            town = margins.open({str(town_file)!r})
            town.verify()
            town.query("SELECT sex, COUNT(*) FROM town GROUP BY sex")
            town.describe()
    """
    ended(interrupted(body, tmp_path, after=0.5))


def test_a_release_before_it_is_charged(tmp_path):
    body = f"""
        spec = {LONG!r}
        print("ready", flush=True)
        margins.release(spec, "rows.csv", out="out/of/it", ledger="long.jsonl")
    """
    said = ended(interrupted(body, tmp_path))
    assert "nothing was charged, and nothing is left behind" in said
    assert sorted(os.listdir(tmp_path)) == []


def test_a_release_while_it_is_measured(tmp_path):
    # Tables of many cells: the charge is made at once, and drawing the noise takes seconds.
    spec = {
        "name": "wide",
        "title": "Many cells",
        "demo": True,
        "privacy": {"unit": "row", "rho": 1},
        "strategy": {"measure": "queries"},
        "dimension": [{"name": name, "range": [0, 399]} for name in "abc"],
        "table": [{"of": ["a", "b", "c"]}],
    }
    (tmp_path / "rows.csv").write_text("a,b,c\n1,2,3\n")
    program = f"""
        import threading, os, time
        def when_charged():
            while not os.path.exists("wide.jsonl") or "charged" not in open("wide.jsonl").read():
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)
        spec = {spec!r}
        print("ready", flush=True)
        threading.Thread(target=when_charged, daemon=True).start()
        margins.release(spec, "rows.csv", out="out", ledger="wide.jsonl")
    """
    run = subprocess.run(
        [sys.executable, "-c", "import margins, signal\n" + textwrap.dedent(program)], capture_output=True, text=True, cwd=tmp_path
    )
    assert "KeyboardInterrupt" in run.stderr and run.returncode in (130, -signal.SIGINT), run.stderr
    ledger = (tmp_path / "wide.jsonl").read_text()
    if "stays charged (line 2 of wide.jsonl)" in run.stderr:
        # No file, and no folder that was made for it.
        assert '"sealed"' not in ledger and sorted(os.listdir(tmp_path)) == ["rows.csv", "wide.jsonl"]
    else:
        # Sealing is not stopped in its middle.
        assert "it came too late: the release is made, charged and whole" in run.stderr
        assert '"sealed"' in ledger and (tmp_path / "out/wide.margins").exists()


def test_other_threads_run_meanwhile(town_file):
    """Work does not hold the global lock, and a thread that is not the first is not disturbed by looking for signals."""
    import margins

    found = []
    town = margins.open(town_file)
    work = threading.Thread(target=lambda: found.append(town.query("SELECT COUNT(*) FROM town")[0]["count"]))
    work.start()
    work.join()
    assert found and found[0].std_error > 0
