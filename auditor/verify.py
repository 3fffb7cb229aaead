"""The checks of `margins verify`, under their names and in their order."""

import os

from . import claims, cost, minisign, project
from .container import File, hash_of
from .errors import Beyond, Refused, must
from .release import Release
from .solve import Answers
from .spec import Spec


class Report:
    def __init__(self, path, key=None):
        self.path, self.key, self.checks = path, key, []
        with open(path, "rb") as file:
            data = file.read()
        self.digest = ""
        try:
            self.file = File(data)
        except Refused as error:
            self.say("file", "failed", str(error))
            return
        self.digest = hash_of(data)
        self._outside(data)
        whole = self._passes("sections", self._sections)
        if os.path.exists(path + ".minisig"):
            self._passes("whole-file signature", self._whole)
        else:
            self.say("whole-file signature", "warning", "there is no .minisig file beside the release")
        if whole:
            try:
                self._inside(Release(self.file))
            except Refused as error:
                self.say("content", "failed", str(error))
            except Beyond as error:
                self.say("content", "unchecked", str(error))
        manifest = self.file.manifest
        line = f", charged in line {manifest['account']['line']} of its ledger, {manifest['account']['head']}" if manifest.get("account") else ""
        self.say("not checked", "warning", f"the signer says: made on {manifest['created']} by \"{manifest['compiler']}\"{line}")

    def say(self, what, outcome, detail):
        self.checks.append({"what": what, "outcome": outcome, "detail": detail})

    def _passes(self, what, check):
        """Whether the check, which says what it found, did not fail."""
        try:
            self.say(what, "passed", check())
        except Refused as error:
            self.say(what, "failed", str(error))
            return False
        except Beyond as error:
            self.say(what, "unchecked", f"left out: {error}")
        return True

    @property
    def verdict(self):
        outcomes = {check["outcome"] for check in self.checks if check["what"] != "plan"}
        return "failed" if "failed" in outcomes else "whole" if "unchecked" in outcomes else "verified"

    def json(self):
        return {"blake3": self.digest, "checks": self.checks, "passed": self.verdict == "verified", "verdict": self.verdict}

    # What needs the manifest alone.

    def _outside(self, data):
        file = self.file
        strange = [section for section in file.sections if section.name is None]
        fields = claims.unknown(file.manifest)
        if strange or fields:
            self.say("manifest", "failed", f"it has sections or fields that this format does not know: {[s.tag for s in strange] + fields}")
        else:
            self.say("manifest", "passed", f"canonical, signed by {file.key.line}, and repeats the table")
        if file.manifest["not_private"]:
            self.say("privacy", "failed", "NOT PRIVATE: the noise came from a known seed or the key is one everybody has")
        self.say("signer", *self._signer())

    def _signer(self):
        file, kind = self.file, self.file.manifest["signer"]["kind"]
        if file.key.is_known_to_all():
            return "failed", "the key everybody has"
        if self.key is not None:
            same = self.key.line == file.key.line
            return ("passed", "the given public key signed this release") if same else ("failed", f"signed by {file.key.line}, not by the given public key {self.key.line}")
        if kind == "throw-away":
            return "warning", "a throw-away key: the file is whole, but nothing shows who made it"
        return "warning", "no public key was given, so who signed is not known"

    def _sections(self):
        for section in self.file.sections:
            section.read()
        return f"{len(self.file.sections)} sections, {sum(len(s.data) for s in self.file.sections)} bytes, every hash as signed"

    def _whole(self):
        with open(self.path + ".minisig", "rb") as file:
            minisign.verify(self.file.key, self.file.data, file.read(), self.file.comment)
        return "the file beside the release signs all its bytes"

    # What needs the sections.

    def _inside(self, release):
        manifest, held = release.file.manifest, release.projection or release.plan
        rows = held.max_rows if release.projection else held.rows
        if manifest["privacy"]["unit"] != "row":
            self.say("rows left out", "warning", f"Counts at most {rows} rows of each {manifest['privacy']['unit']}; those beyond are left out; no interval covers them")
        sealed, found = Spec(release), cost.Cost(release)
        made = claims.Claims(release, found, None)
        spec = self._spec(sealed)
        made.delta = sealed.delta
        if manifest.get("account"):
            self._passes("account", lambda: self._account(made))
        else:
            self.say("account", "warning", "the release does not say in which ledger it was charged. Nothing shows that it was charged anywhere")
        self._passes("privacy cost", lambda: self._cost(release, found))
        derived = self._passes("manifest's claims", lambda: made.check() or "derived again from plan and domain, and equal")
        if derived:
            near = made.approximate()
            self.say("guarantee", "passed", f"derived: {made.note()}" + (f" As (ε, δ): ε = {near['epsilon']} at δ = {near['delta']}." if near else ""))
        self.say("measurements", "passed", f"all {sum(len(values) for values in release.values)} noisy integers decode")
        if release.exact:
            self.say("exact tables", "warning", f"{sum(len(counts) for _, counts in release.exact)} counts WITHOUT NOISE, in {'; '.join(manifest['declared']['invariants'])}")
        if release.zeros:
            self.say("zeros", "passed", f"cells are declared empty whatever the data ({'; '.join(release.zeros)}); every answer assumes it")
        if release.truncation:
            self.say("cut units", "passed", f"{release.truncation[1]} units had more rows than count (one noisy integer of scale {release.truncation[0]})")
        if release.copies and derived:
            self.say("recipient", "passed", f"{manifest['recipient']['name']}'s copy, one of {len(release.copies.recipients)} ({release.copies.mode})")
        self._passes("answers", lambda: self._answers(release))
        self.checks.append(spec)
        if any("margin" in entry for entry in sealed.toml.get("recipient", [])):
            self.say("margins", "unchecked", "left out: promised margins are not reckoned anew")
        self.say("plan", "unchecked", "left out: this program makes no plans; another plan than the one in the file would be no fault")

    @staticmethod
    def _account(made):
        said, follows = made.manifest["account"], made.derived()["account"]["charged"]
        must(said["charged"] == follows, f"charged was {said['charged']['amount']}, and the cost comes to {follows['amount']}")
        return f"{made.sign} = {said['charged']['amount']} for every {said['unit']}, in the ledger of `{said['id']}`: what the cost comes to for one of them"

    @staticmethod
    def _cost(release, found):
        must(found.total <= release.budget, f"{float(found.total):.12f} above the budget of {release.budget}")
        return f"recomputed from {len(found.each)} blocks and scales ({found.case or 'in how many sums a unit is'}): {float(found.total):.12f} of {release.budget}"

    @staticmethod
    def _answers(release):
        if release.projection:
            held = project.Projected(release)
            held.estimate([held.cell(["x" if text else 0 for _, text in release.projection.key])])
            return "a key is counted"
        answers = Answers(release)
        for cuboid, _ in release.plan.workload:
            first = answers.cube.rows(cuboid)[:1]
            must(answers.answer(first)[0] is not None or release.plan.strategy == "matrix", "a table that was asked for does not follow from what was measured")
        return f"the first cell of each of {len(release.plan.workload)} tables is answered, with its variance"

    @staticmethod
    def _spec(sealed):
        size = len(sealed.release.file.one("spec"))
        try:
            sealed.check()
        except (Refused, Beyond) as error:
            return {"what": "spec", "outcome": "failed" if isinstance(error, Refused) else "unchecked", "detail": str(error)}
        if sealed.left:
            return {"what": "spec", "outcome": "unchecked", "detail": f"read again, {size} bytes; left out: {'; '.join(dict.fromkeys(sealed.left))}"}
        return {"what": "spec", "outcome": "passed", "detail": f"read again: its texts, unit, budget, dimensions and tables are those of plan and manifest; {size} bytes"}
