"""The entry for the public registry of deployments of differential privacy."""

from conftest import command

import pytest

yaml = pytest.importorskip("yaml")

# The fields of the registry's schema (schemas/deployments-schema.yaml of opendp/deployments-registry-data).
FIELDS = {
    "basic": "name data_curators description intended_use data_product_type data_product_region data_product_sector publication_date",
    "dp_variant": "variant_name data_domain unprotected_quantities",
    "privacy_loss": "privacy_unit privacy_unit_details number_of_privacy_units privacy_parameters privacy_parameters_details",
    "deployment_model": "model_name model_name_details trust_assumptions actors release_type release_type_details data_source_type "
    "data_source_type_details access_type access_type_details",
    "implementation": "preprocessing_and_hyperparameter_tuning mechanisms composition post_processing justification utility additional_information",
    "administrative": "evidence_sources status registry_authors tier",
}
REQUIRED = "name data_curators description intended_use data_product_type data_product_region publication_date"
OPEN = "TO BE FILLED IN"


def test_an_entry_has_the_registrys_fields(town_file):
    done = command("export", town_file, "--registry")
    assert done.returncode == 0, done.stderr
    entry = yaml.safe_load(done.stdout)
    assert set(entry) == {"url_slug", "deployment"} and entry["url_slug"] == "town"
    parts = entry["deployment"]
    assert set(parts) == set(FIELDS)
    for part, fields in parts.items():
        assert set(fields) <= set(FIELDS[part].split()), part
    assert set(REQUIRED.split()) <= set(parts["basic"])
    # What the file proves.
    assert parts["dp_variant"]["variant_name"] == "Zero-concentrated DP"
    assert parts["privacy_loss"]["privacy_parameters"] == {"rho": 0.5}
    assert isinstance(parts["basic"]["publication_date"], str)
    assert "discrete Gaussian" in parts["implementation"]["mechanisms"] and "recomputed" in parts["implementation"]["composition"]
    # What no file can know is left to people.
    for text in [parts["basic"]["intended_use"], parts["deployment_model"]["actors"], *parts["administrative"]["registry_authors"]]:
        assert OPEN in text
    assert parts["administrative"]["status"] == "Draft"


def test_what_does_not_verify_gets_no_entry(town_file, tmp_path):
    bytes_ = bytearray(town_file.read_bytes())
    bytes_[len(bytes_) // 3] ^= 1
    (tmp_path / "town.margins").write_bytes(bytes_)
    done = command("export", tmp_path / "town.margins", "--registry")
    assert done.returncode in (1, 2) and "url_slug" not in done.stdout
