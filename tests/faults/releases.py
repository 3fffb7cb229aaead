"""What is promised of releases and their ledger."""

import json
import re

LEDGER = "ledger/people.jsonl"


def promise(bench, scenario, case):
    had, now = case.before, case.now
    wrong = []
    # A file that is visible is whole; a release is never half replaced.
    for path in releases(now):
        if bench.look(case.folder, "verify", path, "--pubkey", "key.pub").returncode != 0:
            wrong.append(f"{path} does not verify")
    strange = [path for path in now if path.startswith("out/") and not path.endswith((".margins", ".margins.minisig"))]
    if strange:
        wrong.append(f"visible and no release: {strange}")
    try:
        charged, half = spent(bench, case)
    except AssertionError as error:
        return [*wrong, str(error)]
    if half and case.done:
        wrong.append("half a last line, and exit code 0")
    paid = charged - charges(had.get(LEDGER, b""))
    # Every file was paid for; what was paid and led to no file is said.
    new = [path for path in releases(now) if now[path] != had.get(path)]
    if len(new) > paid * scenario.copies:
        wrong.append(f"{len(new)} new releases, {paid} charges")
    if case.done and (len(new), paid) != (scenario.copies, min(scenario.copies, 1)):
        wrong.append(f"exit code 0, {len(new)} releases, {paid} charges")
    if case.done and LEDGER not in now:
        wrong.append("exit code 0, and no ledger")
    if case.failed and paid and not re.search("charge|spent", case.said):
        wrong.append(f"a charge that is not said: {case.said.strip()[:200]!r}")
    if case.failed and new and not re.search(r"is\s+made,\s+charged|lies\s+in\s+out", case.said):
        wrong.append("a release that is not said")
    if case.failed and new and len(new) < scenario.copies and not re.search(r"other\s+one\s+is\s+not|others\s+are\s+not", case.said):
        wrong.append("copies that are missing, which is not said")
    return wrong + ledger(bench, case, paid and not new)


def spent(bench, case):
    """How many charges the ledger has, once half a last line is taken away, and whether there was one."""
    path = case.folder / LEDGER
    if not path.exists():
        return 0, False
    data = path.read_bytes()
    half = not data.endswith(b"\n") and data != b""
    shown = bench.look(case.folder, "ledger", "show", "people", "--json")
    if half:
        if shown.returncode == 0 or not shown.stderr.strip():
            raise AssertionError("half a last line is not said")
        path.write_bytes(data[: data.rfind(b"\n") + 1])
        shown = bench.look(case.folder, "ledger", "show", "people", "--json")
    if path.read_bytes() == b"":
        return 0, half
    if shown.returncode != 0:
        raise AssertionError(f"the ledger cannot be read: {shown.stderr.strip()}")
    return charges(path.read_bytes()), half


def ledger(bench, case, lost):
    """The ledger holds, and says that a charge led to no file."""
    wrong, path = [], case.folder / LEDGER
    lines = path.read_bytes().splitlines() if path.exists() else []
    kinds = [json.loads(line)["kind"] for line in lines]
    if lines:
        files = releases(case.now)
        seen = bench.look(case.folder, "ledger", "verify", "people", "--pubkey", "key.pub", *(["--release", *files] if files else []))
        if seen.returncode != 0 and kinds.count("charged") == kinds.count("sealed"):
            wrong.append(f"ledger verify: {(seen.stdout + seen.stderr).strip()[-300:]!r}")
    if case.killed and lost and not re.search("no file|without a file|open", bench.look(case.folder, "ledger", "show", "people").stdout):
        wrong.append("ledger show does not say that a charge led to no file")
    return wrong


def charges(text):
    return sum(b'"kind":"charged"' in line for line in text.splitlines())


def releases(files):
    return [path for path in files if path.startswith("out/") and path.endswith(".margins")]
