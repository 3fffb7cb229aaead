"""Every call that touches a file of a run fails once, or the process is killed there.

    python3 tests/faults/faults.py target/release/margins [--all] [--verb release]

It needs Linux, strace and a C compiler. Each case runs in a fresh copy of a folder; the calls are counted in a run that
nothing disturbs, which also shows whether all was on the disk before its end. Of what changes nothing (reads, looks)
every sixteenth is tried; what changes something fails in one way (broken or full, in turn) and is the end of a process
that is killed; the rehearsal of a release is tried once. With `--all` all of it is tried.
"""

import argparse
import concurrent.futures
import os
import re
import shutil
import sys
import tempfile
import time
from collections import Counter

import bench as benches
import calls
import lasting
from scenarios import BEGIN, TRIED

# How a run says that it is done, though it cannot print that; and a second run that the first one was obeyed, or stopped in between.
DONE = "made|is written|is signed|is there|nothing was spent"
REFUSED = r"already|is there|exists|half|--replace|never changed|is in it twice|never overwritten"


class Case:
    """What a run with a fault left and said."""

    def __init__(self, bench, scenario, how):
        self.folder = bench.copy(scenario)
        self.before = benches.visible(self.folder)
        how = {**how, "more": {**how.get("more", {}), "SHORT_IN": str(self.folder)}}
        done = bench.run(self.folder, *scenario.words, into=scenario.into, **how)
        # What is no mishap but an answer (exit code 1) is printed.
        self.code, self.said = done.returncode, done.stderr + (done.stdout or "") * (done.returncode == 1)
        self.killed = self.code in (-9, 137)
        # What is done and could not be printed is done; where printing is the work it is not.
        self.done = self.code == 0 or "cannot write to standard output" in self.said and scenario.into is None
        self.failed = not self.done and not self.killed
        self.now = benches.visible(self.folder)
        # Threads do not make the same calls twice: then a fault may miss.
        log = self.folder / calls.LOG
        self.missed = log.exists() and not self.killed and "INJECTED" not in log.read_text(errors="replace")


def check(bench, scenario, name, how):
    """The promises that do not hold after this fault."""
    case, wrong = Case(bench, scenario, how), []
    if "panicked" in case.said:
        wrong.append("a panic")
    if case.code not in (0, 1, 2) and not case.killed:
        wrong.append(f"exit code {case.code}")
    if case.failed and ("error" not in case.said if case.code == 2 else not case.said.strip()):
        wrong.append("no message")
    if case.done and case.code and not re.search(DONE, " ".join(case.said.split())):
        wrong.append(f"what is done is not said: {case.said.strip()!r}")
    # A signature that could not get its name waits for the next run, which is said.
    said = " ".join(case.said.split())
    waits = (".next",) * ("the new list is there" in said) + (".tmp",) * ("waits for the next run of that name" in said)
    left = [path for path in benches.temporary(case.folder) if not path.endswith(waits)]
    # What hinders the removal of a temporary file leaves it.
    if left and not case.killed and not name.startswith(("unlink", "rmdir")) and ": tmp/" not in name:
        wrong.append(f"left behind: {left}")
    wrong += scenario.promise(bench, scenario, case)
    again = bench.look(case.folder, *scenario.words, into=scenario.into)
    may_refuse = scenario.once and re.search(REFUSED, " ".join(again.stderr.split()))
    if "panicked" in again.stderr or again.returncode not in (0, 1, 2) or again.returncode and not may_refuse:
        wrong.append(f"next run: exit code {again.returncode}: {again.stderr.strip()[:300]!r}")
    if not wrong:
        shutil.rmtree(case.folder)
    return wrong, case.missed


def tried(bench, scenario, thorough, pool):
    """Tries all faults of a scenario, prints what is wrong, and returns how many it tried and how many were wrong."""
    begun = time.monotonic()
    cases = list(calls.cases(bench, scenario, thorough))
    bench.end(scenario)
    checked = list(pool.map(lambda case: check(bench, scenario, *case), cases))
    found, missed = [wrong for wrong, _ in checked], sum(missed for _, missed in checked)
    bad = lasting.unsafe(bench, scenario)
    for one in bad:
        print(f"{scenario.name}: {one}")
    for (name, _), wrong in zip(cases, found):
        bad += wrong
        for one in wrong:
            print(f"{scenario.name}: {name}: {one}")
    failing = sum(map(bool, found))
    print(f"{scenario.name}: {len(cases)} faults, {failing} after which a promise does not hold; {missed} missed; {time.monotonic() - begun:.0f} s", flush=True)
    return Counter(faults=len(cases), missed=missed, bad=len(bad))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("margins")
    parser.add_argument("--all", action="store_true", help="every read, too")
    parser.add_argument("--verb", choices=[scenario.name for scenario in TRIED], action="append")
    parser.add_argument("--keep", action="store_true", help="keep the folders of cases that went wrong")
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="faults-")
    bench = benches.Bench(args.margins, folder, [BEGIN, *TRIED])
    counts = []
    with concurrent.futures.ThreadPoolExecutor(max(2, os.cpu_count())) as pool:
        for scenario in TRIED:
            if not args.verb or scenario.name in args.verb:
                counts.append(tried(bench, scenario, args.all, pool))
    total = sum(counts, Counter())
    print(f"all: {total['faults']} faults, {total['missed']} of them missed, {total['bad']} that should not be")
    if args.keep:
        print(f"kept: {folder}")
    else:
        shutil.rmtree(folder)
    # Calls that are not found cannot fail.
    if any(count["missed"] * 10 >= count["faults"] for count in counts):
        print("of some verb hardly a fault was tried: see how calls are found")
        return 1
    return 1 if total["bad"] else 0


if __name__ == "__main__":
    sys.exit(main())
