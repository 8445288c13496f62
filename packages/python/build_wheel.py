"""Writes the wheel named by --out: sqlite_cuckoo/ with the library in it. Its tag is in the name.

The same input gives the same bytes: files are in order, and have the time SOURCE_DATE_EPOCH.
"""

import argparse
import base64
import hashlib
import os
import pathlib
import time
import zipfile

HERE = pathlib.Path(__file__).parent
FIRST_ZIP_TIME = 315532800  # 1980

METADATA = """\
Metadata-Version: 2.1
Name: sqlite-cuckoo
Version: {version}
Summary: Cuckoo and Bloom filters, a flash store and a hash ring as virtual tables of SQLite
License: MIT
{license_files}Keywords: sqlite,extension,cuckoo filter,bloom filter,consistent hashing
Requires-Python: >=3.8
Description-Content-Type: text/markdown

"""

WHEEL = """\
Wheel-Version: 1.0
Generator: sqlite-cuckoo
Root-Is-Purelib: false
Tag: {tag}
"""


ENTRY_POINTS = """\
[datasette]
sqlite_cuckoo = sqlite_cuckoo.plugins

[sqlite_utils]
sqlite_cuckoo = sqlite_cuckoo.plugins
"""


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def contents(args):
    """The files of the wheel but RECORD: (name, bytes), in the order in which they are written."""
    info = f"sqlite_cuckoo-{args.version}.dist-info"
    package = HERE / "sqlite_cuckoo"
    for path in sorted(package.iterdir()):
        if path.suffix == ".py":
            yield f"sqlite_cuckoo/{path.name}", path.read_bytes().replace(
                b"@version@", args.version.encode())
        elif path.name == "py.typed":
            yield f"sqlite_cuckoo/{path.name}", path.read_bytes()
    yield f"sqlite_cuckoo/{args.library.name}", args.library.read_bytes()
    licenses = "".join(f"License-File: {path.name}\n" for path in args.license)
    metadata = METADATA.format(version=args.version, license_files=licenses)
    yield f"{info}/METADATA", (metadata + (HERE / "README.md").read_text("utf-8")).encode()
    yield f"{info}/WHEEL", WHEEL.format(tag=args.out.stem.split("-", 2)[2]).encode()
    yield f"{info}/entry_points.txt", ENTRY_POINTS.encode()
    for path in args.license:
        yield f"{info}/{path.name}", path.read_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", required=True)
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--license", type=pathlib.Path, action="append", required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()

    when = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), FIRST_ZIP_TIME))[:6]
    record = f"sqlite_cuckoo-{args.version}.dist-info/RECORD"
    lines = []
    with zipfile.ZipFile(args.out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:

        def write(name, data):
            entry = zipfile.ZipInfo(name, when)
            entry.create_system = 3  # Unix
            library = name.endswith((".so", ".dll", ".dylib"))
            entry.external_attr = (0o100755 if library else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)

        for name, data in contents(args):
            write(name, data)
            lines.append(f"{name},sha256={digest(data)},{len(data)}\n")
        write(record, ("".join(lines) + f"{record},,\n").encode())


if __name__ == "__main__":
    main()
