"""Folders to begin from, and the command run in them."""

import hashlib
import itertools
import os
import shutil
import subprocess
from pathlib import Path


class Bench:
    def __init__(self, margins, folder, scenarios):
        self.margins, self.folder = str(Path(margins).resolve()), Path(folder)
        self.shim = self.folder / "short.so"
        source = Path(__file__).with_name("short.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.shim, source, "-ldl"], check=True)
        self.numbers = itertools.count()
        self.seen = {}
        self.begun, self.ended = {None: self.folder / "begun"}, {}
        self.begun[None].mkdir()
        self.by_name = {scenario.name: scenario for scenario in scenarios}

    def start(self, scenario):
        """The folder that a scenario begins from: what the one before it leaves, and what it needs besides."""
        if scenario.name not in self.begun:
            if scenario.after:
                self.end(self.by_name[scenario.after])
                self.begun[scenario.name] = self.copied(self.ended[scenario.after].folder)
            else:
                self.begun[scenario.name] = self.copied(self.begun[None])
            folder = self.begun[scenario.name]
            for name, text in scenario.files.items():
                (folder / name).write_text(text)
            for words in scenario.needs:
                self.must(folder, *words)
        return self.begun[scenario.name]

    def end(self, scenario):
        """What a scenario leaves, and says, where nothing disturbs it."""
        if scenario.name not in self.ended:
            folder = self.copied(self.start(scenario))
            done = self.run(folder, *scenario.words, into=scenario.into)
            assert done.returncode == 0, (scenario.words, done.stderr)
            self.ended[scenario.name] = Ended(folder, done, visible(folder))
        return self.ended[scenario.name]

    def copy(self, scenario):
        return self.copied(self.start(scenario))

    def copied(self, folder):
        to = self.folder / f"{next(self.numbers)}"
        shutil.copytree(folder, to, symlinks=True)
        (to / "tmp").mkdir(exist_ok=True)
        return to

    def run(self, folder, *words, before=(), more=None, into=None):
        """Runs the command; what it prints goes into a file where one is named."""
        env = {**os.environ, "TMPDIR": str(folder / "tmp"), "RUST_BACKTRACE": "0", **(more or {})}
        prints = open(folder / into, "w") if into else subprocess.PIPE
        try:
            return subprocess.run([*before, self.margins, *words], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=prints,
                                  stderr=subprocess.PIPE, text=True, timeout=60)
        finally:
            if into:
                prints.close()

    def look(self, folder, *words, into=None):
        """The same run for its answer alone: the same files get the same one, without a run."""
        files = tuple((path, hashlib.sha256(data).digest()) for path, data in everything(folder).items())
        if (words, files) not in self.seen:
            self.seen[words, files] = self.run(folder, *words, into=into)
        return self.seen[words, files]

    def must(self, folder, *words):
        done = self.run(folder, *words)
        assert done.returncode == 0, (words, done.stderr)
        return done


class Ended:
    def __init__(self, folder, done, files):
        self.folder, self.done, self.files = folder, done, files


def is_temporary(path):
    return Path(path).name.startswith(".") or path.endswith((".part", ".next"))


def everything(folder):
    """All files but those of the system's temporary folder, by path the bytes."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    named = {str(path.relative_to(folder)): path for path in found}
    return {name: path.read_bytes() for name, path in named.items() if not name.startswith("tmp/")}


def visible(folder):
    """The files under final names."""
    return {path: data for path, data in everything(folder).items() if not is_temporary(path)}


def temporary(folder):
    """What is left of unfinished files."""
    return [path for path in everything(folder) if is_temporary(path)] + [f"tmp/{path.name}" for path in (folder / "tmp").glob(".*")]
