"""The checks of `margins verify`, under their names and in their order."""

from pathlib import Path

from . import project
from .blocks import columns
from .claims import Claims
from .container import blake3, check_signature, contents, File
from .release import Release
from .domain import Tables
from .solve import Solved
from .sealed.spec import Spec
from .wire import Beyond, must, Refused

# What no claim of the file rests on: where it is left out, the verdict stays.
BESIDE = ("plan", "targets", "signatures")


class Report:
    def __init__(self, path, key=None):
        self.path, self.key, self.checks, self.digest = Path(path), key, [], ""
        data, beside = contents(self.path), Path(f"{path}.minisig")
        if not self._try("file", lambda: setattr(self, "file", File(data))):
            return
        self.digest, self.manifest = blake3(data).hexdigest(), self.file.manifest
        self._outside()
        whole = self._sections()
        if beside.exists():
            signs = lambda: check_signature(self.file.key, data, contents(beside, 4096), self.file.comment)
            self._try("whole-file signature", lambda: signs() or "it signs all bytes of the file")
        else:
            self.say("whole-file signature", "warning", "there is no .minisig file beside the release")
        second = any(Path(f"{path}.{number}.minisig").exists() for number in range(2, 10))
        self.say("signatures", "unchecked", "there are more of them, which are not read", second)
        if whole:
            self._try("content", lambda: self._inside(Release(self.file)))
        account = self.manifest.get("account")
        said = f"the signer says: made on {self.manifest['created']} by \"{self.manifest['compiler']}\""
        said += f", charged in line {account['line']} of its ledger, {account['head']}" if account else ""
        self.say("not checked", "warning", said)

    def say(self, what, outcome, detail, there=True):
        """An outcome, where there is something that it is of."""
        self.checks += [{"detail": detail, "outcome": outcome, "what": what}] if there else []

    def _try(self, what, check):
        """Whether the check did not fail. It is spoken of where it did, and where it says what it found."""
        try:
            found = check()
            self.say(what, "passed", found, isinstance(found, str))
        except (Refused, Beyond) as error:
            self.say(what, error.outcome, str(error))
            return isinstance(error, Beyond)
        except Exception as error:
            self.say(what, "failed", f"this program cannot reckon with it: {error!r}"[:300])
            return False
        return True

    @property
    def verdict(self):
        every, left = ({one["outcome"] for one in self.checks if one["what"] not in a} for a in ((), BESIDE))
        return "failed" if "failed" in every else "whole" if "unchecked" in left else "verified"

    def json(self):
        return {"blake3": self.digest, "checks": self.checks, "passed": self.verdict == "verified",
                "verdict": self.verdict}

    def _outside(self):
        """What needs the manifest alone."""
        file = self.file
        strange = file.strange and f"this format does not know its fields, or not so: {file.strange}"
        whole = f"canonical, signed by {file.key}, and repeats the table"
        self.say("manifest", "failed" if strange else "passed", strange or whole)
        known = self.manifest["not_private"]
        self.say("privacy", "failed", "NOT PRIVATE: everybody knows the noise or the key", known)
        alike = "passed" if self.key == file.key else "failed" if self.key is not None or known else "warning"
        given = "none" if self.key is None else self.key
        self.say("signer", alike, f"signed by {file.key}; the given public key is {given}")

    def _sections(self):
        """Whether every section is the one that was signed."""
        whole = True
        for section in self.file.sections:
            what = f"section {section.name or section.tag} {section.index}"
            self.say(what, "failed", "nobody can say what it holds", section.name is None)
            whole &= self._try(what, section.read)
        self.say("sections", "passed", f"{len(self.file.sections)} sections, every hash as signed", whole)
        return whole

    def _inside(self, release):
        """What the sections hold, and the manifest's claims of it."""
        if not self._try("content", release.empty):
            return
        unit, claims, copies = self.manifest["privacy"]["unit"], Claims(release), release.copies
        beyond = f"beyond {release.held.max_rows} of each {unit}; no interval covers them"
        self.say("rows left out", "warning", beyond, unit != "row" or release.held.max_rows > 1)
        if self.manifest.get("account"):
            self._try("account", claims.account)
        else:
            self.say("account", "warning", "the release does not say in which ledger it was charged")
        self._try("privacy cost", claims.within_budget)
        if self._try("manifest's claims", claims.check):
            self.say("guarantee", self.checks[-1]["outcome"], claims.guarantee())
        self._try("plan", release.bare)
        self.say("measurements", "passed", f"all {sum(map(len, release.rows.values))} noisy integers decode")
        if not self._try("content", release.agree):
            return
        known = f"WITHOUT NOISE: {self.manifest['declared']['invariants']}"
        self.say("exact tables", "warning", known, release.rows.exact)
        self.say("zeros", "passed", f"empty whatever the data: {'; '.join(release.zeros)}", release.zeros)
        if release.truncation:
            self.say("cut units", "passed", f"{release.truncation[1]} units had more rows than count")
        for channel in release.channels[1:]:
            self.say(channel.subject, "passed", f"{sum(map(len, channel.values))} integers of {channel}")
        if copies:
            called = f"{self.file.name}-{copies.name}.margins"
            self.say("recipient", "passed", f"{copies.name}'s, of {len(copies.recipients)} ({copies.mode})")
            self.say("file name", "warning", f"the copy was called {called}", self.path.name != called)
        self._try("answers", lambda: self._answers(release))
        spec = Spec(release)
        same = self._try("spec", spec.check)
        if spec.delta is not None:
            self._try("delta", spec.in_delta)
        for what, tables in ("margins", ["recipient"]), ("targets", ["table", "query"]):
            promised = same and any("margin" in entry for name in tables for entry in spec.toml.get(name, []))
            self.say(what, "unchecked", "margins are not reckoned anew", promised)
        self.say("plan", "unchecked", "this program makes no plans; another plan would be no fault", same)

    def _answers(self, release):
        if release.projection:
            held = project.Projected(release)
            held.estimate([held.cell(["x" if text else 0 for _, text in held.held.key])])
            return "a key is counted"
        asked = Tables(release.plan.told(a) for one in release.channels for a, _ in one.plan.workload)
        must(all(map(asked.tell, release.empty())), "no table tells where cells are empty")
        for channel in release.channels:
            channel.needed()
        # Sums from zero may have no counts beside them.
        channel = next((one for one in release.channels if one.plan.blocks or one.exact), release.rows)
        solved, rows = Solved(channel), [block for block in channel.plan.blocks if block.rows]
        must(not rows or all(solved.follow()), "what was asked for does not follow from the rows measured")
        # Where nothing was asked for, what was measured is.
        own = rows and not channel.plan.workload
        first = (rows[0].table, columns(channel.plan, rows[0])[:, 0]) if own else ((), [True])
        must(solved.table(*first) is not None, "the total does not follow from what was measured")
        return "every table follows from what was measured, and the total is answered, with its variance"
