"""The entry for the public registry of deployments of differential privacy."""

from conftest import command

import datetime
import re

import pytest

yaml = pytest.importorskip("yaml")

# The registry's schema, schemas/deployments-schema.yaml of opendp/deployments-registry-data, as of September 2026 (057e5d8): the fields of every part, and of each
# what it may be. No part may have another field.
TEXT = str
FIELDS = {
    "basic": {
        "name": TEXT,
        "data_curators": list,
        "description": TEXT,
        "intended_use": TEXT,
        "data_product_type": {"Summary statistics", "Machine learning model", "Dataset", "Synthetic data", "Interactive API", "SQL queries"},
        "data_product_region": TEXT,
        "data_product_sector": {"Technology", "Healthcare", "Education", "Government", "Energy", "Finance"},
        "publication_date": datetime.date,
    },
    "dp_variant": {
        "variant_name": {"Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"},
        "data_domain": TEXT,
        "unprotected_quantities": TEXT,
    },
    "privacy_loss": {
        "privacy_unit": TEXT,
        "privacy_unit_details": TEXT,
        "number_of_privacy_units": int,
        "privacy_parameters": dict,
        "privacy_parameters_details": TEXT,
    },
    "deployment_model": {
        "model_name": {"Local", "Central", "Shuffle", "Federated", "Varies"},
        "model_name_details": TEXT,
        "trust_assumptions": TEXT,
        "actors": TEXT,
        "release_type": {"One release", "Many releases"},
        "release_type_details": TEXT,
        "data_source_type": {"Static", "Dynamic"},
        "data_source_type_details": TEXT,
        "access_type": {"Interactive", "Non-interactive"},
        "access_type_details": TEXT,
    },
    "implementation": dict.fromkeys(
        "preprocessing_and_hyperparameter_tuning mechanisms composition post_processing justification utility additional_information".split(), TEXT
    ),
    "administrative": {
        "evidence_sources": dict,
        "status": {"Converted", "Draft", "Pending", "Changes Required", "Approved", "Approved (Update Requested)", "Approved (Pending)"},
        "registry_authors": list,
        "tier": {1, 2, 3},
    },
}
REQUIRED = {
    "basic": "name data_curators description intended_use data_product_type data_product_region publication_date",
    "administrative": "status registry_authors tier",
}
CURATORS = {"Government", "Industry", "Nonprofit"}
OPEN = "TO BE FILLED IN"


def wrong(entry):
    """What the registry's schema would say of an entry."""
    found = [] if set(entry) == {"url_slug", "deployment"} else [f"fields {sorted(entry)}"]
    found += [f"part {part}" for part in entry["deployment"] if part not in FIELDS]
    for part, may_be in FIELDS.items():
        fields = entry["deployment"].get(part, {})
        found += [f"{part}: no {name}" for name in REQUIRED.get(part, "").split() if name not in fields]
        for name, value in fields.items():
            what = may_be.get(name)
            if what is None:
                good = False
            elif isinstance(what, set):
                good = value in what
            elif what is datetime.date:
                good = isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value) and datetime.date.fromisoformat(value)
            else:
                good = isinstance(value, what) and bool(value)
            found += [] if good else [f"{part}.{name}: {value!r}"]
    curators = entry["deployment"]["basic"]["data_curators"]
    found += [f"curator {c}" for c in curators if not (isinstance(c["data_curator_name"], str) and c["data_curator_type"] in CURATORS)]
    loss = entry["deployment"]["privacy_loss"]["privacy_parameters"]
    found += [f"{name} {x!r}" for name, x in loss.items() if name not in {"epsilon", "delta", "rho"} or not isinstance(x, float)]
    return found


def entry_of(file):
    done = command("export", file, "--registry")
    assert done.returncode == 0, done.stderr
    # The registry wants texts in quotes, or plain ones in one line.
    styles = {token.style for token in yaml.scan(done.stdout) if hasattr(token, "style")}
    assert styles <= {None, '"'}
    return yaml.safe_load(done.stdout)


def test_an_entry_is_what_the_registry_takes(town_file):
    entry = entry_of(town_file)
    assert entry["url_slug"] == "town"
    parts = entry["deployment"]
    # A draft lacks one word, which only people know; with it the registry takes the entry.
    (curator,) = parts["basic"]["data_curators"]
    assert [f.split()[0] for f in wrong(entry)] == ["curator"] and OPEN in curator["data_curator_type"]
    curator["data_curator_type"] = "Government"
    assert wrong(entry) == []
    # What the file proves.
    assert parts["dp_variant"]["variant_name"] == "Zero-concentrated DP"
    assert parts["privacy_loss"]["privacy_parameters"] == {"rho": 0.5}
    assert "discrete Gaussian" in parts["implementation"]["mechanisms"] and "recomputed" in parts["implementation"]["composition"]
    # What no file can know is left to people.
    for text in [parts["basic"]["intended_use"], parts["deployment_model"]["actors"], *parts["administrative"]["registry_authors"]]:
        assert OPEN in text
    assert parts["administrative"]["status"] == "Draft"


def test_choices_that_are_left_open_are_those_of_the_registry(town_file):
    """What stands as a comment names every word that the registry knows, and no other."""
    text = command("export", town_file, "--registry").stdout
    offered = dict(re.findall(rf"# (\w+): {OPEN}, one of: (.*)", text))
    assert set(offered) == {"data_product_sector", "release_type", "data_source_type"}
    known = {name: what for fields in FIELDS.values() for name, what in fields.items()}
    for name, words in offered.items():
        assert set(words.split(", ")) == known[name], name


def test_what_does_not_verify_gets_no_entry(town_file, tmp_path):
    bytes_ = bytearray(town_file.read_bytes())
    bytes_[len(bytes_) // 3] ^= 1
    (tmp_path / "town.margins").write_bytes(bytes_)
    done = command("export", tmp_path / "town.margins", "--registry")
    assert done.returncode in (1, 2) and "url_slug" not in done.stdout
