"""What can be said of dist/ without installing: checksums, sqlpkg.json, names, RECORDs.

check_dist.py dist sqlpkg.json version
"""

import base64
import csv
import fnmatch
import gzip
import hashlib
import io
import json
import pathlib
import re
import sys
import tarfile
import zipfile


def check(condition, what):
    if not condition:
        sys.exit(what)


def packages(dist):
    """The names of ours: other files may be there."""
    ours = re.compile(r"(lib)?sqlite[-_]cuckoo.*[-_]\d+\.\d+\.\d+.*\.(tgz|tar\.gz|zip|whl|gem|deb|crate)")
    return {path.name for path in dist.iterdir() if ours.fullmatch(path.name)}


def check_sums(dist):
    sums = {}
    for line in (dist / "checksums.txt").read_text().splitlines():
        digest, name = line.split("  ")
        sums[name] = digest
    names = packages(dist)
    check(set(sums) == names, f"checksums.txt: {sorted(set(sums) ^ names)}")
    for name, digest in sums.items():
        found = hashlib.sha256((dist / name).read_bytes()).hexdigest()
        check(found == digest, f"{name}: not the bytes of checksums.txt")


def check_sqlpkg(dist, spec, version):
    """As sqlpkg reads it: it makes no folders, and takes the files that match `pattern`. It does not
    ask for the C library: musl's archive is not for it."""
    check(spec["version"] == version, f"sqlpkg.json: version {spec['version']}")
    assets = spec["assets"]
    check(assets["path"] == "dist", "sqlpkg.json: path")
    files = {name.replace("{version}", version) for name in assets["files"].values()}
    found = {name for name in packages(dist)
             if name.endswith((".tar.gz", ".zip"))
             and not re.search("-(playground|reader|amalgamation|go)-", name)}
    expected = {name for name in found if "-musl" not in name}
    check(files == expected, f"sqlpkg.json: {sorted(files)}")
    for name in found:
        names = archived(dist / name)
        libraries = fnmatch.filter(names, assets["pattern"])
        check(libraries == [library_of(name)], f"{name}: {assets['pattern']} is {libraries}")
        check(not any("/" in inner for inner in names), f"{name}: folders in {names}")
        check({"LICENSE", "THIRD-PARTY.txt", "README.md"} <= set(names), f"{name}: {names}")


def library_of(name):
    for system, library in (("-win32-", "cuckoo.dll"), ("-darwin-", "cuckoo.dylib")):
        if system in name:
            return library
    return "cuckoo.so"


def archived(path):
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    with tarfile.open(path) as tar:
        return tar.getnames()


def check_wheel(path):
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        record_name = next(name for name in names if name.endswith("/RECORD"))
        rows = list(csv.reader(io.StringIO(wheel.read(record_name).decode())))
        check([row[0] for row in rows] == names, f"{path.name}: RECORD lists other files")
        for name, digest, size in rows:
            if name == record_name:
                continue
            data = wheel.read(name)
            hashed = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            check(digest == f"sha256={hashed}" and int(size) == len(data), f"{path.name}: {name}")
        tag = path.stem.split("-", 2)[2]
        about = wheel.read(record_name.replace("RECORD", "WHEEL")).decode()
        check(f"Tag: {tag}\n" in about, f"{path.name}: tag")


def check_gem(path):
    with tarfile.open(path) as gem:
        about = gzip.decompress(gem.extractfile("metadata.gz").read()).decode()
        with tarfile.open(fileobj=gem.extractfile("data.tar.gz")) as data:
            names = set(data.getnames())
    said = dict(re.findall(r"^ {0,2}(name|version|platform): (\S+)$", about, re.M))
    check(path.name == "{name}-{version}-{platform}.gem".format(**said), f"{path.name}: {said}")
    library = {"mingw": "cuckoo.dll", "darwin": "cuckoo.dylib"}.get(
        said["platform"].split("-")[1], "cuckoo.so")
    check(names == {"LICENSE", "README.md", "THIRD-PARTY.txt", "lib/sqlite_cuckoo.rb",
                    f"lib/sqlite_cuckoo/{library}"}, f"{path.name}: {names}")


def check_npm(dist, version):
    main = package_json(dist / f"sqlite-cuckoo-{version}.tgz")
    check(main["version"] == version, "npm: version")
    others = {}
    for path in dist.glob("sqlite-cuckoo-*-*-[0-9]*.tgz"):
        package = package_json(path)
        (os,), (cpu,) = package["os"], package["cpu"]
        musl = "-musl" if package.get("libc") == ["musl"] else ""
        check(package["name"] == f"sqlite-cuckoo-{os}-{cpu}{musl}", f"{path.name}: os, cpu, libc")
        check(bool(musl) or ("libc" in package) == (os == "linux"), f"{path.name}: libc")
        with tarfile.open(path) as tar:
            for name in package["exports"].values():
                check(f"package{name[1:]}" in tar.getnames(), f"{path.name}: no {name}")
        others[package["name"]] = package["version"]
    wasm = package_json(dist / f"sqlite-cuckoo-wasm-{version}.tgz")
    check(wasm["version"] == version, "npm: version of wasm")
    check(main["optionalDependencies"] == others, f"npm: optional dependencies, found {others}")


def package_json(path):
    with tarfile.open(path) as tar:
        return json.load(tar.extractfile("package/package.json"))


def main(dist, sqlpkg, version):
    dist = pathlib.Path(dist)
    check_sums(dist)
    check_sqlpkg(dist, json.loads(pathlib.Path(sqlpkg).read_text()), version)
    for path in dist.glob("sqlite_cuckoo-*.whl"):
        check_wheel(path)
    for path in dist.glob("sqlite_cuckoo-*.gem"):
        check_gem(path)
    check_npm(dist, version)


if __name__ == "__main__":
    main(*sys.argv[1:])
