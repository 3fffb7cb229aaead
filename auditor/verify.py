"""The checks of `margins verify`, under their names and in their order."""

from pathlib import Path

from . import project
from .claims import Claims
from .container import check_signature, File, hash_of
from .release import Release
from .solve import Answers
from .spec import Spec
from .wire import Beyond, must, Refused


class Report:
    def __init__(self, path, key=None):
        data, beside = Path(path).read_bytes(), Path(f"{path}.minisig")
        self.key, self.checks, self.digest = key, [], ""
        if not self._try("file", lambda: setattr(self, "file", File(data))):
            return
        self.digest, self.manifest = hash_of(data), self.file.manifest
        self._outside()
        whole = self._passes("sections", self._sections)
        if beside.exists():
            self._passes("whole-file signature", lambda: self._whole(beside))
        else:
            self.say("whole-file signature", "warning", "there is no .minisig file beside the release")
        if whole:
            self._try("content", lambda: self._inside(Release(self.file)))
        account = self.manifest.get("account")
        said = f"the signer says: made on {self.manifest['created']} by \"{self.manifest['compiler']}\""
        said += f", charged in line {account['line']} of its ledger, {account['head']}" if account else ""
        self.say("not checked", "warning", said)

    def say(self, what, outcome, detail):
        self.checks.append({"what": what, "outcome": outcome, "detail": detail})

    def _try(self, what, check):
        """Whether the check did not fail. It is spoken of only where it did not come to its end."""
        try:
            check()
        except (Refused, Beyond) as error:
            self.say(what, error.outcome, str(error))
            return isinstance(error, Beyond)
        return True

    def _passes(self, what, check):
        """The same, of a check that says what it found."""
        return self._try(what, lambda: self.say(what, "passed", check()))

    @property
    def verdict(self):
        outcomes = {one["outcome"] for one in self.checks if one["what"] not in ("plan", "targets")}
        return "failed" if "failed" in outcomes else "whole" if "unchecked" in outcomes else "verified"

    def json(self):
        passed = self.verdict == "verified"
        return {"blake3": self.digest, "checks": self.checks, "passed": passed, "verdict": self.verdict}

    def _outside(self):
        """What needs the manifest alone."""
        file = self.file
        strange = [section.tag for section in file.sections if section.name is None] + file.strange
        if strange:
            self.say("manifest", "failed", f"this format does not know its sections or fields {strange}")
        else:
            self.say("manifest", "passed", f"canonical, signed by {file.key.line}, and repeats the table")
        if self.manifest["not_private"]:
            self.say("privacy", "failed", "NOT PRIVATE: everybody knows the noise or the key")
            self.say("signer", "failed", "the key everybody has")
        elif self.key is None:
            self.say("signer", "warning", "no public key was given: nothing shows who made it")
        elif self.key.line == file.key.line:
            self.say("signer", "passed", "the given public key signed this release")
        else:
            self.say("signer", "failed", f"signed by {file.key.line}, not by the given public key")

    def _sections(self):
        length = sum(len(section.read()) for section in self.file.sections)
        return f"{len(self.file.sections)} sections, {length} bytes, every hash as signed"

    def _whole(self, beside):
        check_signature(self.file.key, self.file.data, beside.read_bytes(), self.file.comment)
        return "the file beside the release signs all its bytes"

    def _inside(self, release):
        """What needs the sections."""
        unit, rows = self.manifest["privacy"]["unit"], release.held.max_rows
        if unit != "row":
            self.say("rows left out", "warning", f"beyond {rows} of each {unit}; no interval covers them")
        spec = Spec(release)
        claims = Claims(release, spec.delta)
        if self.manifest.get("account"):
            self._passes("account", claims.account)
        else:
            self.say("account", "warning", "the release does not say in which ledger it was charged")
        self._passes("privacy cost", claims.within_budget)
        derived = self._passes("manifest's claims", claims.check)
        if derived:
            self.say("guarantee", "passed", claims.guarantee())
        self.say("measurements", "passed", f"all {sum(map(len, release.rows.values))} noisy integers decode")
        if release.rows.exact:
            tables = "; ".join(self.manifest["declared"]["invariants"])
            counts = sum(len(found) for channel in release.channels for _, found in channel.exact)
            self.say("exact tables", "warning", f"{counts} numbers WITHOUT NOISE, in {tables}")
        if release.zeros:
            self.say("zeros", "passed", f"empty whatever the data: {'; '.join(release.zeros)}")
        if release.truncation:
            scale, cut = release.truncation
            self.say("cut units", "passed", f"{cut} units had more rows than count (noise of scale {scale})")
        for channel in release.channels[1:]:
            held = f"{sum(map(len, channel.values))} noisy integers of {channel.of['name']}"
            self.say(channel.subject, "passed", held)
        if release.copies and derived:
            copies = release.copies
            self.say("recipient", "passed", f"{copies.name}'s, of {len(copies.recipients)} ({copies.mode})")
        self._passes("answers", lambda: self._answers(release))
        self._passes("spec", spec.check)
        if spec.delta is not None:
            self._passes("delta", spec.in_delta)
        if any("margin" in entry for entry in spec.toml.get("recipient", [])):
            self.say("margins", "unchecked", "promised margins are not reckoned anew")
        entries = spec.toml.get("table", []) + spec.toml.get("query", [])
        if any("margin" in entry for entry in entries):
            self.say("targets", "unchecked", "margins of tables are not reckoned anew; they are no claims")
        self.say("plan", "unchecked", "this program makes no plans; another plan would be no fault")

    @staticmethod
    def _answers(release):
        if release.projection:
            held = project.Projected(release)
            held.estimate([held.cell(["x" if text else 0 for _, text in held.held.key])])
            return "a key is counted"
        answers = Answers(release)
        for table, _ in release.plan.workload:
            first = [True] + [False] * (release.domain.cells(table) - 1)
            told = answers.table(table, first) is not None or release.plan.strategy == "matrix"
            must(told, "a table that was asked for does not follow from what was measured")
        return f"the first cell of each of {len(release.plan.workload)} tables is answered, with its variance"
