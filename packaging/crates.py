#!/usr/bin/env python3
"""Lists the crates inside the program and the driver for ADBC: as CycloneDX, and their licences as texts.

    packaging/crates.py TRIPLE BOM NOTICES
"""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path


def metadata(triple: str) -> dict:
    """What cargo knows of the packages that this target and these features need."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", triple]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def needed(nodes: dict, roots: list) -> dict:
    """The packages that are linked into the roots, each with those that it uses; no build tools, no tests."""
    found, open_ = {}, list(roots)
    while open_:
        package = open_.pop()
        if package not in found:
            normal = [
                it["pkg"] for it in nodes[package]["deps"] if any(kind["kind"] is None for kind in it["dep_kinds"])
            ]
            found[package] = sorted(normal)
            open_ += normal
    return found


def purl(package: dict) -> str:
    return f"pkg:cargo/{package['name']}@{package['version']}"


def checksums() -> dict:
    """The checksum of each crate of the registry, from Cargo.lock."""
    found, name, version = {}, "", ""
    for line in Path("Cargo.lock").read_text().splitlines():
        key, _, value = line.partition(" = ")
        value = value.strip('"')
        if key == "name":
            name = value
        elif key == "version":
            version = value
        elif key == "checksum":
            found[name, version] = value
    return found


def component(package: dict, sums: dict) -> dict:
    entry = {
        "type": "library",
        "bom-ref": purl(package),
        "name": package["name"],
        "version": package["version"],
        "purl": purl(package),
    }
    if package["license"]:
        entry["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if checksum := sums.get((package["name"], package["version"])):
        entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return entry


def bom(packages: dict, used: dict, root: str) -> dict:
    sums = checksums()
    main = {**component(packages[root], sums), "type": "application"}
    others = sorted((it for it in used if it != root), key=lambda it: purl(packages[it]))
    when = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    stamp = subprocess.run(
        ["date", "-u", "-d", f"@{when}", "+%Y-%m-%dT%H:%M:%SZ"], check=True, stdout=subprocess.PIPE, text=True
    )
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"timestamp": stamp.stdout.strip(), "component": main},
        "components": [component(packages[it], sums) for it in others],
        "dependencies": [
            {"ref": purl(packages[it]), "dependsOn": [purl(packages[other]) for other in used[it]]}
            for it in [root, *others]
        ],
    }


def texts(package: dict) -> list:
    """The licences and notices that a crate comes with."""
    folder = Path(package["manifest_path"]).parent
    names = ("licen", "copying", "notice", "unlicense", "copyright")
    return [it for it in sorted(folder.iterdir()) if it.is_file() and it.name.lower().startswith(names)]


def notices(packages: dict, used: dict, out: Path) -> None:
    """Each text once, below the names of the crates that have it."""
    crates_of, text_of, without = {}, {}, []
    for package in sorted((packages[it] for it in used), key=purl):
        # Without a source it is ours, and LICENSE speaks for it.
        if not package["source"]:
            continue
        title = f"{package['name']} {package['version']} ({package['license']})"
        found = texts(package)
        if not found:
            without.append(title)
        for path in found:
            text = path.read_text(errors="replace").strip()
            key = hashlib.sha256(text.encode()).hexdigest()
            text_of[key] = text
            crates_of.setdefault(key, []).append(title)
    with out.open("w") as file:
        print("The program and the driver for ADBC contain these crates, under their licences.", file=file)
        for key, titles in sorted(crates_of.items(), key=lambda it: it[1]):
            print(f"\n{'=' * 100}\n" + "\n".join(dict.fromkeys(titles)) + f"\n\n{text_of[key]}", file=file)
        if without:
            print(f"\n{'=' * 100}\nWithout a text of their own:\n" + "\n".join(without), file=file)


def main() -> None:
    triple, bom_path, notices_path = sys.argv[1:]
    known = metadata(triple)
    packages = {it["id"]: it for it in known["packages"]}
    root = next(it["id"] for it in known["packages"] if it["name"] == "inrush" and not it["source"] and "/cli/" in it["manifest_path"])
    driver = next(it["id"] for it in known["packages"] if it["name"] == "inrush-adbc" and not it["source"])
    used = needed({it["id"]: it for it in known["resolve"]["nodes"]}, [root, driver])
    Path(bom_path).write_text(json.dumps(bom(packages, used, root), indent=1) + "\n")
    notices(packages, used, Path(notices_path))


if __name__ == "__main__":
    main()
