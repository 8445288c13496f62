"""Writes sqlite_cuckoo.cpp and sqlite_cuckoo.h: the extension as one source, and its header.

amalgamate.py folder xxhash.h

It has core and ext as the module has them, without core/library and operator new. Each file comes
once, after those that it includes. What the standard library and the system give is included at the
head; xxHash's header, which few machines have, is there in full, with its licence.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
OWN = re.compile(r'#include (?:"([^"]+)"|<(cuckoo/[^>]+)>)')
OTHER = re.compile(r"\s*#\s*include <([^>]+)>")
OPENS, CLOSES = re.compile(r"\s*#\s*if"), re.compile(r"\s*#\s*endif")

HEAD = """\
// sqlite-cuckoo {version}, a loadable extension for SQLite, as one source in C++20. Made from the
// sources: don't edit it. Each file of theirs begins below with a line "// ==== its name".
//
// As a module:
//
//     g++ -std=c++20 -O2 -DNDEBUG -fPIC -shared -Wl,-z,nodelete,-Bsymbolic sqlite_cuckoo.cpp -o cuckoo.so -lcrypto
//
// Linked into a program that has SQLite; sqlite_cuckoo.h says how to register it:
//
//     g++ -std=c++20 -O2 -DNDEBUG -DSQLITE_CORE -c sqlite_cuckoo.cpp
//
// It needs SQLite's headers, 3.40 or newer. It needs OpenSSL 3, for sha1(), addresses of flash_kv and
// rings like memcached's. With -DCUCKOO_NO_OPENSSL these are errors, and all else works. With
// -DCUCKOO_LIBMD they take libmd.
//
{licence}
"""

# The same bytes are stored on every processor, whatever the compiler was told.
REALS = """\
#ifdef __FAST_MATH__
#error "sqlite-cuckoo decides with reals what it stores: compile it without -ffast-math"
#endif
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0
#error "sqlite-cuckoo decides with reals what it stores: compile it with -msse2 -mfpmath=sse"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif
"""

# A second copy in the process, as a module or linked in, must not get this one's functions.
HIDDEN = """\
#if defined(__GNUC__) && !defined(_WIN32)
#define CUCKOO_OWN _Pragma("GCC visibility push(hidden)")
#define CUCKOO_OTHERS _Pragma("GCC visibility pop")
#else
#define CUCKOO_OWN
#define CUCKOO_OTHERS
#endif
#define sqlite3_api cuckoo_sqlite3_api

CUCKOO_OWN
"""


def fail(what):
    sys.exit(f"amalgamate.py: {what}")


def sources():
    """The sources of the module, as tests/sources.sh has them for one unit."""
    apart = re.search(r"^apart=\((.*)\)$", (ROOT / "tests/sources.sh").read_text(), re.M)
    left_out = {path for pattern in apart[1].split() for path in ROOT.glob(pattern)}
    return sorted({*(ROOT / "core").rglob("*.cpp"), *(ROOT / "ext").rglob("*.cpp")} - left_out,
                  key=str)


class Amalgamation:
    def __init__(self):
        self.parts = []
        self.system = set()  # what is included at the head
        self.seen = set()

    def add(self, path):
        if path in self.seen:
            return
        self.seen.add(path)
        lines, depth = [], 0
        for line in path.read_text().splitlines():
            depth += bool(OPENS.match(line)) - bool(CLOSES.match(line))
            own, other = OWN.match(line), OTHER.match(line)
            if own:
                self.add(ROOT / (own[1] or "core/include/" + own[2]))
                if depth != 0:
                    fail(f"{path}: {line} depends on a condition")
            elif other and depth == 0:
                self.system.add(other[1])
            elif other:
                lines += ["CUCKOO_OTHERS", line, "CUCKOO_OWN"]
            elif line not in ("#pragma once", "#define XXH_INLINE_ALL"):
                lines.append(line)
        text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
        self.parts.append(f"// ==== {path.relative_to(ROOT)}\n\n{text}\n")

    def text(self, version, xxhash):
        licence = "\n".join(f"// {line}".rstrip() for line in (ROOT / "LICENSE").read_text().splitlines())
        others = "".join(f"#include <{name}>\n" for name in sorted(self.system - {"xxhash.h"}))
        return "\n".join([
            HEAD.format(version=version, licence=licence), REALS, others,
            f"// ==== xxhash.h\n\n#define XXH_INLINE_ALL\n{xxhash}", HIDDEN, *self.parts,
            "CUCKOO_OTHERS\n"])


def main(folder, xxhash):
    version = re.search(r'kVersion\[\] = "(.*)";', (ROOT / "ext/version.hpp").read_text())[1]
    made = Amalgamation()
    for path in sources():
        made.add(path)
    folder = pathlib.Path(folder)
    (folder / "sqlite_cuckoo.cpp").write_text(
        made.text(version, pathlib.Path(xxhash).read_text(encoding="utf-8")))
    (folder / "sqlite_cuckoo.h").write_text((ROOT / "ext/sqlite_cuckoo.h").read_text())


if __name__ == "__main__":
    main(*sys.argv[1:])
