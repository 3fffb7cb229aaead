"""The command's bill of materials in CycloneDX: every package that it is built of on any system, its licence, its archive's hash, and what it asks for."""

import json
import subprocess
import tomllib

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL

COMMAND = "margins"
metadata = json.loads(subprocess.check_output(["cargo", "metadata", "--locked", "--format-version", "1"]))
packages = {package["id"]: package for package in metadata["packages"]}
asks = {
    node["id"]: [d["pkg"] for d in node["deps"] if any(kind["kind"] != "dev" for kind in d["dep_kinds"])]
    for node in metadata["resolve"]["nodes"]
}
hashes = {
    (p["name"], p["version"]): p["checksum"] for p in tomllib.load(open("Cargo.lock", "rb"))["package"] if "checksum" in p
}


def component(package):
    name, version = package["name"], package["version"]
    found = hashes.get((name, version))
    source = package["repository"]
    # Some still write a slash for OR.
    licence = (package["license"] or "").replace("/", " OR ")
    return Component(
        name=name,
        version=version,
        type=ComponentType.APPLICATION if name == COMMAND else ComponentType.LIBRARY,
        bom_ref=f"{name}@{version}",
        description=package["description"],
        licenses=[LicenseFactory().make_from_string(licence)] if licence else [],
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=found)] if found else [],
        external_references=[ExternalReference(type=ExternalReferenceType.VCS, url=XsUri(source))] if source else [],
        purl=PackageURL("cargo", None, name, version),
    )


root = next(id for id, package in packages.items() if package["name"] == COMMAND)
built, ahead = {}, [root]
while ahead:
    id = ahead.pop()
    if id not in built:
        built[id] = component(packages[id])
        ahead.extend(asks[id])
bom = Bom(components=[c for id, c in built.items() if id != root])
bom.metadata.component = built[root]
for id, c in built.items():
    bom.register_dependency(c, [built[other] for other in asks[id]])
print(make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string(indent=2))
