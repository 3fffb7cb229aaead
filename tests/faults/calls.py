"""Which calls a run makes on its files, and each of them failing once, or being the last of a process that is killed."""

import collections
import re
import shutil
from pathlib import Path

CHANGES = ["openat", "write", "fsync", "fdatasync", "flock", "rename", "renameat", "renameat2", "link", "linkat", "unlink",
           "unlinkat", "ftruncate", "mkdir", "mkdirat", "rmdir"]
READS = ["read", "pread64", "getdents64", "lseek", "statx"]
# What a full disk says; other calls fail as those of a disk that is broken.
FULL = {"write", "fsync", "renameat2", "rename", "mkdir", "linkat", "ftruncate"}
LINE = re.compile(r"(\d+) +(\w+)\((.*)")
LOG = "tmp/log"
PRINTED = "standard output"


class Call:
    def __init__(self, name, number, about, changes, writes):
        self.name, self.number, self.about, self.changes, self.writes = name, number, about, changes, writes


def traced(bench, scenario):
    """A run that nothing disturbs, and its calls line by line: process, call, the rest."""
    folder = bench.copy(scenario)
    trace = ["strace", "-f", "-y", "-s", "0", "-o", str(folder / LOG), "-e", "trace=" + ",".join(CHANGES + READS)]
    done = bench.run(folder, *scenario.words, before=trace, into=scenario.into)
    assert done.returncode == 0, (scenario.words, done.stderr)
    lines = (folder / LOG).read_text(errors="replace").splitlines()
    matches = [LINE.match(line) for line in lines if "resumed" not in line]
    return folder, [match.groups() for match in matches if match]


def paths(folder, rest):
    """The files of the folder that a call names, or has open; its standard output is one of them."""
    if rest.startswith("1<pipe:"):
        return [PRINTED]
    rest = re.sub(r"AT_FDCWD<[^>]*>", "", rest)
    found = [Path(folder, a or b) for a, b in re.findall(r"<(/[^>]*)>|\"([^\"]+)\"", rest)]
    within = [str(path.relative_to(folder)) for path in found if path.is_relative_to(folder)]
    return [path for path in within if path != LOG]


def calls(bench, scenario):
    """Of each kind of call which of those of the main thread touch a file of the folder, by its number, and what it is about."""
    folder, lines = traced(bench, scenario)
    seen, found, writes = collections.Counter(), [], 0
    for pid, call, rest in lines:
        if pid != lines[0][0]:
            continue
        seen[call] += 1
        about = next(iter(paths(folder, rest)), None)
        writes += call == "write" and about not in (None, PRINTED)
        if about:
            changes = call in CHANGES and (call != "openat" or "O_CREAT" in rest)
            found.append(Call(call, seen[call], re.sub(r"\.(tmp)?\w{6}\b", ".…", about), changes, writes))
    shutil.rmtree(folder)
    return found


def cases(bench, scenario, thorough):
    """Each fault with its name, and how to run with it."""
    for at, call in enumerate(calls(bench, scenario)):
        # Each release is rehearsed alike in a temporary folder.
        rehearsed = call.about.startswith("tmp/") and scenario.name != "release"
        if not thorough and (rehearsed or not call.changes and at % 16):
            continue
        kinds = ["error=EIO"] + ["error=ENOSPC"] * (call.name in FULL)
        if not thorough:
            kinds = [kinds[at % len(kinds)]]
        kinds += ["signal=KILL"] * call.changes
        for kind in kinds:
            # With a filter in the kernel strace is quicker, and kills nobody.
            quick = ["--seccomp-bpf"] * kind.startswith("error")
            inject = ["strace", "-f", *quick, "-o", LOG, "-e", f"trace={call.name}", "-e", f"inject={call.name}:{kind}:when={call.number}"]
            yield f"{call.name} {call.number} {kind}: {call.about}", {"before": inject}
        if call.name == "write" and call.about != PRINTED:
            for then in ("", "full", "kill"):
                more = {"LD_PRELOAD": str(bench.shim), "SHORT_AT": str(call.writes), "SHORT_THEN": then}
                yield f"write {call.writes} short{', then ' * bool(then)}{then}: {call.about}", {"more": more}
