"""What is promised of key pairs, second signatures and lists of keys."""

import shutil

PAIR = ("fresh", "fresh.pub")
LIST = ("trusted/list.pub", "trusted/keys.json", "trusted/keys.json.minisig")


def pair(bench, scenario, case):
    """A key that is there is whole, its owner's alone, and fits the public one beside it."""
    secret, public = [(case.folder / name).exists() for name in PAIR]
    wrong = []
    if case.done and not (secret and public):
        wrong.append("exit code 0, and no pair of keys")
    if case.failed and (secret or public):
        wrong.append("keys that are not said")
    if public and not secret:
        wrong.append("a public key without its secret half")
    if secret:
        if (case.folder / PAIR[0]).stat().st_mode & 0o077:
            wrong.append("a secret key that others may read")
        copy = bench.copied(case.folder)
        signs = bench.run(copy, "sign", "out/town.margins", "--key", PAIR[0]).returncode == 0
        fits = not public or counts(bench, copy, "key.pub", PAIR[1])
        wrong += ["a key that is not whole"] * (not signs) + ["two keys that do not fit"] * (signs and not fits)
        shutil.rmtree(copy)
    return wrong


def signature(bench, scenario, case):
    """A signature that is visible is whole, and those that were there stay."""
    own = scenario.words[-1] + ".pub"
    others = ["key.pub"] + ["second.pub"] * (own == "third.pub")
    new = [path for path in case.now if path not in case.before]
    wrong = []
    if case.done and not new:
        wrong.append("exit code 0, and no signature")
    if case.failed and new:
        wrong.append("a signature that is not said")
    if not counts(bench, case.folder, *others, *([own] if new else [])):
        wrong.append("the signatures that are there do not all count")
    return wrong + changed(case)


def list_of_keys(bench, scenario, case):
    """There is the old list or the new one, never half of one and never none where one was."""
    first = LIST[0] not in case.before
    old = None if first else case.before[LIST[1]]
    new = bench.end(scenario).files[LIST[1]]
    there = case.now.get(LIST[1])
    wrong = []
    if there not in (old, new):
        wrong.append("a list that is neither the old one nor the new one")
    shown = bench.look(case.folder, "keys", "trusted")
    if shown.returncode != 0 and there is not None:
        wrong.append(f"the list does not hold: {shown.stderr.strip()[:200]!r}")
    if there is not None and not holds(bench, case.folder):
        wrong.append("a release that the list lets hold does not")
    if there is not None and case.now.get(LIST[0]) != bench.end(scenario).files[LIST[0]]:
        wrong.append("the key that signs lists is not there")
    if case.done and there != new:
        wrong.append("exit code 0, and not the new list")
    # What stock minisign reads is the pair alone.
    if case.done and not alone(bench, case.folder):
        wrong.append("exit code 0, and the list without its own signature")
    if case.failed and (there == new) != ("the new list is there" in " ".join(case.said.split())):
        wrong.append(f"which list is there is not said: {case.said.strip()[:300]!r}")
    # A list that was stopped in between is finished by signing it again.
    if there is not None:
        copy = bench.copied(case.folder)
        again = bench.run(copy, "keys", "trusted", "--key", "list")
        if again.returncode != 0 or not alone(bench, copy) or bench.look(copy, "keys", "trusted").stdout != shown.stdout:
            wrong.append(f"signed again the list is not as it was: {again.stderr.strip()[:200]!r}")
        shutil.rmtree(copy)
    return wrong + changed(case)


def counts(bench, folder, *keys):
    pubkeys = [word for key in keys for word in ("--pubkey", key)]
    return bench.look(folder, "verify", "out/town.margins", *pubkeys, "--require", str(len(keys))).returncode == 0


def holds(bench, folder):
    return bench.look(folder, "verify", "out/town.margins", "--keys", "trusted").returncode == 0


def alone(bench, folder):
    """Whether the three files that are published are a list."""
    copy = bench.copied(folder)
    for path in (copy / "trusted").iterdir():
        if f"trusted/{path.name}" not in LIST:
            path.unlink()
    shown = bench.look(copy, "keys", "trusted")
    shutil.rmtree(copy)
    return shown.returncode == 0


def changed(case):
    """Other files stay as they are."""
    return [f"{path} is not as it was" for path, data in case.before.items() if path not in LIST and case.now.get(path) != data]
