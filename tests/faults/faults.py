"""Every call that touches a ledger, a release or a temporary file fails once, or the process is killed there.

    python3 tests/faults/faults.py target/release/margins [--all] [--verb release]

It needs Linux, strace and a C compiler. Each case runs in a fresh copy of a folder; the calls are counted in a run that
nothing disturbs. Of what changes nothing (reads, looks)
every sixteenth is tried, and all of it with `--all`.
"""

import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CHANGES = ["openat", "write", "fsync", "fdatasync", "flock", "rename", "renameat", "renameat2", "link", "linkat", "unlink",
           "unlinkat", "ftruncate", "mkdir", "rmdir"]
READS = ["read", "pread64", "getdents64", "lseek", "statx"]
# What a full disk says; other calls fail as those of a disk that is broken.
FULL = {"write", "fsync", "renameat2", "rename", "mkdir", "linkat", "ftruncate"}
LINE = re.compile(r"(\d+) +(\w+)\((.*)")
SPEC = """
name = "town"
title = "Made up"
[data]
path = "rows.csv"
[dataset]
id = "people"
[privacy]
unit = "row"
rho = "1/10"
[[dimension]]
name = "sex"
categories = ["F", "M"]
[[table]]
of = ["sex"]
"""
ASKED = "SELECT COUNT(*) FROM town WHERE sex = 'F'"
VERBS = {
    "init": ["ledger", "init", "people", "--rho", "1"],
    "release": ["release", "town.toml", "--key", "key", "--out", "out"],
    "replace": ["release", "town.toml", "--key", "key", "--out", "out", "--replace", "--yes"],
    "ask": ["ask", "town.toml", "--key", "key", "--out", "out", "--within", "2", ASKED],
}


# Promises that are known not to hold: verb, call, fault, file, what is wrong. Whoever mends one takes its line away.
KNOWN = [
    # A kill between the names of signature and release: the old release lies beside the new one's signature until the next
    # run of that name, which gives the new release its name.
    ("replace", "renameat2?|rename", "signal=KILL", r"out/\..*", r"out/town\.margins does not verify"),
]


class Faults:
    def __init__(self, margins, folder):
        self.margins, self.folder = str(Path(margins).resolve()), Path(folder)
        self.shim = self.folder / "short.so"
        source = Path(__file__).with_name("short.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.shim, source, "-ldl"], check=True)
        self.numbers = itertools.count()
        self.begun = self.folder / "begun"
        self.begun.mkdir()
        (self.begun / "town.toml").write_text(SPEC)
        (self.begun / "rows.csv").write_text("sex\n" + "F\nM\nM\n" * 40)
        self.must(self.begun, "keygen", "--no-passphrase", "--out", "key")
        self.before = {"init": self.begun}
        for verb, base in [("release", "init"), ("replace", "release"), ("ask", "release")]:
            self.before[verb] = self.copy(base)
            self.must(self.before[verb], *VERBS[base])

    def copy(self, verb):
        to = self.folder / f"{verb}-{next(self.numbers)}"
        shutil.copytree(self.before[verb], to, symlinks=True)
        (to / "tmp").mkdir(exist_ok=True)
        return to

    def run(self, folder, *args, before=(), more=None):
        env = {**os.environ, "TMPDIR": str(folder / "tmp"), "RUST_BACKTRACE": "0", **(more or {})}
        done = subprocess.run([*before, self.margins, *args], cwd=folder, env=env, capture_output=True, text=True, timeout=60)
        return done

    def must(self, folder, *args):
        done = self.run(folder, *args)
        assert done.returncode == 0, (args, done.stderr)
        return done

    def calls(self, verb):
        """Of each kind of call which of those of the main thread touch a file of the folder, by its number, and what it is about."""
        folder = self.copy(verb)
        log = folder / "tmp" / "log"
        self.run(folder, *VERBS[verb], before=["strace", "-f", "-y", "-s", "0", "-o", str(log), "-e", "trace=" + ",".join(CHANGES + READS)])
        seen, found, main = collections.Counter(), [], None
        for line in log.read_text(errors="replace").splitlines():
            match = LINE.match(line)
            if not match or "resumed" in line:
                continue
            pid, call, rest = match.groups()
            main = main or pid
            if pid != main:
                continue
            seen[call] += 1
            paths = re.findall(r"<([^>]*)>|\"([^\"]*)\"", rest)
            paths = [str(Path(folder, a or b)).replace(str(folder) + "/", "") for a, b in paths]
            about = next((path for path in paths if path.startswith(("ledger", "out", "tmp/"))), None)
            if about and about != "tmp/log":
                changes = call in CHANGES and (call != "openat" or "O_CREAT" in rest)
                found.append((call, seen[call], re.sub(r"\.(tmp)?\w{6}\b", ".…", about), changes))
        shutil.rmtree(folder)
        return found

    def cases(self, verb, thorough):
        """Pairs of a name and how to run with that fault."""
        writes = 0
        for at, (call, number, about, changes) in enumerate(self.calls(verb)):
            if not changes and not thorough and at % 16:
                continue
            kinds = ["error=EIO"] + ["error=ENOSPC"] * (call in FULL) + ["signal=KILL"] * changes
            for kind in kinds:
                inject = ["strace", "-f", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:{kind}:when={number}"]
                yield f"{call} {number} {kind}: {about}", {"before": inject}
            if call == "write":
                writes += 1
                for then in ("", "full", "kill"):
                    more = {"LD_PRELOAD": str(self.shim), "SHORT_AT": str(writes), "SHORT_THEN": then}
                    yield f"write {writes} short{', then ' * bool(then)}{then}: {about}", {"more": more}

    def spent(self, folder):
        """What the ledger says was spent, once half a last line is taken away, and whether there was one."""
        path = folder / "ledger" / "people.jsonl"
        if not path.exists():
            return 0, False, None
        data = path.read_bytes()
        half = not data.endswith(b"\n") and data != b""
        shown = self.run(folder, "ledger", "show", "people", "--json")
        if half:
            if shown.returncode == 0 or not shown.stderr.strip():
                raise AssertionError("half a last line is not said")
            path.write_bytes(data[: data.rfind(b"\n") + 1])
            shown = self.run(folder, "ledger", "show", "people", "--json")
        if path.read_bytes() == b"":
            return 0, half, None
        if shown.returncode != 0:
            raise AssertionError(f"the ledger cannot be read: {shown.stderr.strip()}")
        charged = sum(b'"kind":"charged"' in line for line in path.read_bytes().splitlines())
        return charged, half, json.loads(shown.stdout)

    def check(self, verb, name, how):
        """The promises that do not hold after this fault."""
        folder = self.copy(verb)
        had = self.visible(folder)
        charges = self.spent(folder)[0]
        how = {**how, "more": {**how.get("more", {}), "SHORT_IN": str(folder)}}
        done = self.run(folder, *VERBS[verb], **how)
        killed = done.returncode in (-9, 137)
        wrong, said = [], done.stderr
        if "panicked" in said:
            wrong.append("a panic")
        if done.returncode not in (0, 1, 2) and not killed:
            wrong.append(f"exit code {done.returncode}")
        if done.returncode and not killed and "error" not in said:
            wrong.append("no message")
        now = self.visible(folder)
        fresh = {path for path in now if now[path] != had.get(path)}
        # A file that is visible is whole; a release is never half replaced.
        releases = [path for path in now if path.endswith(".margins")]
        for path in releases:
            if self.run(folder, "verify", path, "--pubkey", "key.pub").returncode != 0:
                wrong.append(f"{path} does not verify")
        strange = [path for path in now if not path.endswith((".margins", ".margins.minisig"))]
        if strange:
            wrong.append(f"visible and no release: {strange}")
        hidden = [path.name for part in ("out", "ledger", "tmp") for path in folder.glob(f"{part}/.*")]
        # What hinders the removal of a temporary file leaves it.
        if hidden and not killed and not name.startswith(("unlink", "rmdir")) and ": tmp/" not in name:
            wrong.append(f"left behind: {hidden}")
        try:
            charged, half, _ = self.spent(folder)
        except AssertionError as error:
            return [*wrong, str(error)]
        if half and not killed and done.returncode == 0:
            wrong.append("half a last line, and exit code 0")
        paid = charged - charges
        # Every file was paid for; what was paid and led to no file is said.
        new = {path for path in fresh if path.endswith(".margins")}
        if len(new) > paid:
            wrong.append(f"{len(new)} new releases, {paid} charges")
        if verb != "init":
            if done.returncode == 0 and (len(new), paid) != (1, 1):
                wrong.append(f"exit code 0, {len(new)} releases, {paid} charges")
            if done.returncode and not killed and paid and not re.search("charge|spent", said):
                wrong.append(f"a charge that is not said: {said.strip()[:200]!r}")
            if done.returncode and not killed and new and not re.search(r"is\s+made,\s+charged|lies\s+in\s+out", said):
                wrong.append("a release that is not said")
        elif done.returncode == 0 and not self.lines(folder):
            wrong.append("exit code 0, and no ledger")
        wrong += self.afterwards(folder, verb, new, killed, paid)
        if not wrong:
            shutil.rmtree(folder)
        return wrong

    def afterwards(self, folder, verb, new, killed, paid):
        """The ledger holds, and the next run works or says why not."""
        wrong = []
        if self.lines(folder):
            files = [path for path in self.visible(folder) if path.endswith(".margins")]
            seen = self.run(folder, "ledger", "verify", "people", "--pubkey", "key.pub", *(["--release", *files] if files else []))
            if seen.returncode != 0 and not self.unclosed(folder):
                wrong.append(f"ledger verify: {(seen.stdout + seen.stderr).strip()[-300:]!r}")
        shown = self.run(folder, "ledger", "show", "people")
        if killed and paid and not new and not re.search("no file|without a file|open", shown.stdout):
            wrong.append("ledger show does not say that a charge led to no file")
        again = self.run(folder, *VERBS[verb])
        if "panicked" in again.stderr or again.returncode not in (0, 1, 2):
            wrong.append(f"next run: exit code {again.returncode}: {again.stderr.strip()[:200]!r}")
        if again.returncode != 0 and verb in ("release", "init") and not re.search("already|is there|exists|half|--replace|never changed", again.stderr):
            wrong.append(f"next run: {again.stderr.strip()[:300]!r}")
        if again.returncode != 0 and verb in ("replace", "ask"):
            wrong.append(f"next run: {again.stderr.strip()[:300]!r}")
        return wrong

    @staticmethod
    def visible(folder):
        """What anybody sees of the folder of releases: by path the bytes."""
        found = sorted((folder / "out").glob("*")) if (folder / "out").exists() else []
        return {f"out/{path.name}": path.read_bytes() for path in found if not path.name.startswith(".") and path.is_file()}

    @staticmethod
    def lines(folder):
        path = folder / "ledger" / "people.jsonl"
        return path.read_bytes().splitlines() if path.exists() else []

    def unclosed(self, folder):
        kinds = [json.loads(line)["kind"] for line in self.lines(folder)]
        return kinds.count("charged") > kinds.count("sealed")


def is_known(verb, name, wrong):
    fault, about = name.split(": ", 1)
    case = (verb, fault.split()[0], fault.split()[2], about, wrong)
    return any(all(re.fullmatch(one, text, re.DOTALL) for one, text in zip(known, case)) for known in KNOWN)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("margins")
    parser.add_argument("--all", action="store_true", help="every read, too")
    parser.add_argument("--verb", choices=VERBS, action="append")
    parser.add_argument("--keep", action="store_true", help="keep the folders of cases that went wrong")
    args = parser.parse_args()
    folder, bad = tempfile.mkdtemp(prefix="faults-"), 0
    faults = Faults(args.margins, folder)
    for verb in args.verb or VERBS:
        cases = list(faults.cases(verb, args.all))
        with concurrent.futures.ThreadPoolExecutor(max(2, os.cpu_count())) as pool:
            found = list(pool.map(lambda case: faults.check(verb, *case), cases))
        known = 0
        for (name, _), wrong in zip(cases, found):
            new = [one for one in wrong if not is_known(verb, name, one)]
            known, bad = known + (len(new) < len(wrong)), bad + bool(new)
            for one in wrong:
                print(f"{verb}: {name}: {one}" + ("" if one in new else " (known)"))
        print(f"{verb}: {len(cases)} faults, {sum(map(bool, found))} after which a promise does not hold, {known} known", flush=True)
    if not args.keep:
        shutil.rmtree(folder)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
