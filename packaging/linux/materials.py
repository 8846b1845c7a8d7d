"""The bill of materials of a package, as SPDX 2.3 JSON: what is linked into its programs, by version and licence."""

import datetime
import json
import os
import pathlib
import re
import subprocess
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Licences that docs/dependencies.md names in words.
NOT_OF_THE_LIST = {"public domain": "LicenseRef-public-domain"}
# Names of the compiled libraries in the table, where they differ from cmake/debian_sources.txt.
SPELLED = {"fmtlib": "fmt", "openssl": "OpenSSL", "re2": "RE2"}
# Headers that leave nothing behind in a program: of the kernel and of the compiler itself.
NOT_LINKED = {"linux-libc-dev", "libclang-common-19-dev"}
# The program for Linux brings images whose programs for Windows are made with these.
OF_IMAGES = {"mingw-w64-common", "g++-mingw-w64-x86-64-posix"}


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
    """Source package and version, of the machine that links; None: no package of that name."""
    found = subprocess.run(["dpkg-query", "-W", "-f", "${source:Package} ${source:Version}", package], capture_output=True, text=True)
    return tuple(found.stdout.split()) if found.returncode == 0 and found.stdout else None


def headers_of(build, target):
    """Files that the compiler has read for the objects of a target, from the log that Ninja keeps of them."""
    def ninja(tool, *words):
        return subprocess.run(["ninja", "-C", build, "-t", tool, *words], check=True, capture_output=True, text=True).stdout.splitlines()
    objects, found, wanted = set(ninja("inputs", target)), set(), False
    for line in ninja("deps"):
        if line.startswith("    "):
            if wanted:
                found.add(os.path.realpath(os.path.join(build, line.strip())))
        else:
            wanted = line.partition(":")[0] in objects
    return found


def linked_packages(build, target):
    """Debian packages that a target is made of: those whose headers it was compiled with, since no library is used without its own."""
    headers = sorted(headers_of(build, target))
    found = subprocess.run(["dpkg-query", "-S", *headers], capture_output=True, text=True).stdout if headers else ""
    return {line.partition(":")[0] for line in found.splitlines() if not line.startswith("diversion ")} - NOT_LINKED


def compiled(prefix):
    """Library and Debian's tarball that says the version it was compiled from, of a folder that build_dependencies.sh has made: that of
    the patches, where there are any."""
    lines = (line.split() for line in (pathlib.Path(prefix) / "contents.txt").read_text().splitlines())
    return {library: tarball if patches == "-" else patches for library, tarball, patches in lines}


def tarball_source(tarball):
    """Name of the source package, and its version: upstream's alone for an unpatched one."""
    name, version = re.match(r"(.*)_(.*)\.(?:orig|debian)\.", tarball).groups()
    return name, version


def linked_libraries(linked, tarballs, version_of=installed_version):
    """The rows of docs/dependencies.md for what a program is made of. `linked`: Debian packages; `tarballs`: those of libraries that were
    compiled from a source package. A row names the package of each Debian release. A package that no row names ends the program."""
    tarballs = {SPELLED.get(name, name): tarball for name, tarball in tarballs.items() if name != "googletest"}
    text, named = (ROOT / "docs/dependencies.md").read_text(), set()
    for name, packages, licence in [*table("Linked into porthole", text), *table("Linked into the Windows programs", text)]:
        title, _, version = name.rpartition(" ")
        packages = packages.split(", ")
        named.update(packages)
        chosen = next((package for package in packages if package in linked), None)
        if chosen or title in tarballs:
            source = tarball_source(tarballs[title]) if title in tarballs else version_of(chosen)
            yield {"name": title, "version": source[1] if source else version, "licence": expression(licence), "package": chosen or packages[0],
                   "purl": f"pkg:deb/debian/{source[0]}@{source[1]}?arch=source" if source else None}
    if linked - named:
        raise SystemExit(f"package: {', '.join(sorted(linked - named))}: linked, but docs/dependencies.md has no row for it: add one, with its licence")


def licence_texts(packages, documents=pathlib.Path("/usr/share/doc")):
    """The licences that go along with what is linked in, by Debian's record of them. Some libraries share a package."""
    parts = []
    for package in dict.fromkeys(packages):
        path = documents / package / "copyright"
        if not path.exists():
            raise SystemExit(f"package: {path} is missing: install {package} with its documentation")
        parts.append(f"{'=' * 80}\n{package}\n{'=' * 80}\n\n{path.read_text(errors='replace')}")
    return "\n".join(parts)


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
