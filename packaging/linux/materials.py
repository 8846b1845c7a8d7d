"""The bill of materials of a package, as SPDX 2.3 JSON: what is linked into its programs, by version and licence."""

import datetime
import json
import pathlib
import re
import subprocess
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Licences that docs/dependencies.md names in words.
NOT_OF_THE_LIST = {"public domain": "LicenseRef-public-domain"}


def expression(text):
    text = NOT_OF_THE_LIST.get(text, text)
    text = text.replace(" with GCC runtime library exception", " WITH GCC-exception-3.1")
    parts = [part.strip() for part in text.split(",")]
    return parts[0] if len(parts) == 1 else " AND ".join(parts)


def table(heading, text):
    """Rows below a heading of docs/dependencies.md: name, Debian package, licence."""
    lines = text[text.index(f"## {heading}\n"):].splitlines()[1:]
    for line in lines:
        if line.startswith("## "):
            return
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and cells[0] not in ("Library", "Program"):
            yield cells[0], cells[1], cells[-1]


def installed_version(package):
    """Of the machine that links, where its library comes from; None: not from a package of that name."""
    found = subprocess.run(["dpkg-query", "-W", "-f", "${source:Package} ${source:Version}", package], capture_output=True, text=True)
    return tuple(found.stdout.split()) if found.returncode == 0 and found.stdout else None


def compiled(prefix):
    """Library and Debian's tarball that it was compiled from, of a folder that build_dependencies.sh has made."""
    return dict(line.split() for line in (pathlib.Path(prefix) / "contents.txt").read_text().splitlines())


def tarball_source(tarball):
    """Name of the source package, and upstream's version."""
    name, version = re.match(r"(.*)_(.*)\.orig\.", tarball).groups()
    return name, version


def linked_libraries(version_of=installed_version, tarballs=None):
    """`tarballs`: of those libraries that no package of the machine was linked, but a source package was compiled for."""
    tarballs = {"fmt" if name == "fmtlib" else name: tarball for name, tarball in (tarballs or {}).items()}
    text = (ROOT / "docs/dependencies.md").read_text()
    for name, package, licence in table("Linked into porthole", text):
        source = version_of(package)
        title, _, said = name.rpartition(" ")
        if title in tarballs:
            source = tarball_source(tarballs[title])
        yield {"name": title or name, "version": source[1] if source else said, "licence": expression(licence), "package": package,
               "purl": f"pkg:deb/debian/{source[0]}@{source[1]}?arch=source" if source else None}


def licence_texts(packages, documents=pathlib.Path("/usr/share/doc")):
    """The licences that go along with what is linked in, by Debian's record of them. Some libraries share a package."""
    parts = []
    for package in dict.fromkeys(packages):
        path = documents / package / "copyright"
        if not path.exists():
            raise SystemExit(f"package: {path} is missing: install {package} with its documentation")
        parts.append(f"{'=' * 80}\n{package}\n{'=' * 80}\n\n{path.read_text(errors='replace')}")
    return "\n".join(parts)


def windows_libraries(prefix):
    """Those that the Windows programs are linked with, from the list that their build has left."""
    licences = {re.sub(r"\W.*", "", name).lower(): expression(licence)
                for name, _, licence in table("Linked into porthole", (ROOT / "docs/dependencies.md").read_text())}
    licences |= {"fmtlib": licences.get("fmt", "MIT"), "openssl": "Apache-2.0", "libyaml": "MIT"}
    for name, tarball in compiled(prefix).items():
        if name != "googletest":
            source, version = tarball_source(tarball)
            yield {"name": name, "version": version, "licence": licences.get(name, "NOASSERTION"), "purl": f"pkg:deb/debian/{source}@{version}?arch=source"}


def document(name, version, licence, libraries, files, commit, epoch):
    """`files`: names and SHA-256 of the programs in the package."""
    when = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    identity = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([name, version, commit, sorted(files.items())]))
    own = {"SPDXID": "SPDXRef-Package", "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
           "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION", "sourceInfo": f"commit {commit}"}
    packages, relations = [own], [relation("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-Package")]
    for library in sorted(libraries, key=lambda one: one["name"].lower()):
        identifier = "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]+", "-", library["name"])
        entry = {"SPDXID": identifier, "name": library["name"], "versionInfo": library["version"], "downloadLocation": "NOASSERTION",
                 "filesAnalyzed": False, "licenseConcluded": library["licence"], "licenseDeclared": library["licence"], "copyrightText": "NOASSERTION"}
        if library["purl"]:
            entry["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": library["purl"]}]
        packages.append(entry)
        relations.append(relation("SPDXRef-Package", "STATIC_LINK", identifier))
    entries = []
    for number, (path, digest) in enumerate(sorted(files.items())):
        entries.append({"SPDXID": f"SPDXRef-File-{number}", "fileName": f"./{path}", "checksums": [{"algorithm": "SHA256", "checksumValue": digest["sha256"]},
                        {"algorithm": "SHA1", "checksumValue": digest["sha1"]}], "licenseConcluded": licence, "copyrightText": "NOASSERTION"})
        relations.append(relation("SPDXRef-Package", "CONTAINS", f"SPDXRef-File-{number}"))
    whole = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"{name}-{version}",
             "documentNamespace": f"urn:uuid:{identity}", "creationInfo": {"created": when, "creators": ["Tool: porthole packaging/linux/materials.py"]},
             "packages": packages, "files": entries, "relationships": relations}
    if any(library["licence"] == "LicenseRef-public-domain" for library in libraries):
        whole["hasExtractedLicensingInfos"] = [{"licenseId": "LicenseRef-public-domain", "extractedText": "The authors have dedicated this work to the public domain.",
                                                "name": "public domain"}]
    return json.dumps(whole, indent=2) + "\n"


def relation(one, kind, other):
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
