"""What a library for macOS says of itself, read on any machine. A line each:

    machine arm64                        or x86_64
    oldest 11.0                          the macOS that it asks for
    needs /usr/lib/libSystem.B.dylib     a line each
    exports _sqlite3_cuckoo_init         a line each
    imports _dlopen                      a line each: what it asks of others by name
    weak _name                           a line each: what the process may replace by another's
    signature ad-hoc                     each page has the digest that is signed; or "none"

macho.py cuckoo.dylib
"""

import hashlib
import pathlib
import struct
import sys

MACHINES = {0x0100000C: "arm64", 0x01000007: "x86_64"}
DYLIB = 6
SYMTAB, LOAD_DYLIB, CODE_SIGNATURE, BUILD_VERSION = 0x2, 0xC, 0x1D, 0x32
LOAD_WEAK_DYLIB, REEXPORT_DYLIB, LOAD_UPWARD_DYLIB = 0x80000018, 0x8000001F, 0x80000023
DYLD_INFO, DYLD_INFO_ONLY, DYLD_EXPORTS_TRIE = 0x22, 0x80000022, 0x80000033
MACOS = 1
SUPER_BLOB, CODE_DIRECTORY, ADHOC, SHA256 = 0xFADE0CC0, 0xFADE0C02, 2, 2
EXTERNAL, KIND, UNDEFINED = 0x01, 0x0E, 0x00
WEAK_DEFINITION, REFERENCE_TO_WEAK = 0x0080, 0x0080


def check(condition, what):
    if not condition:
        sys.exit(f"{sys.argv[1]}: {what}")


def text(data, at):
    return data[at:data.index(b"\0", at)].decode()


def number(data, at):
    """A ULEB128, and where it ends."""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def exports(trie, node=0, prefix=""):
    """The names in the tree that the loader looks them up in."""
    if not trie:
        return
    size, at = number(trie, node)
    if size > 0:
        yield prefix
    at += size
    children = trie[at]
    at += 1
    for _ in range(children):
        part = text(trie, at)
        child, at = number(trie, at + len(part) + 1)
        yield from exports(trie, child, prefix + part)


def symbols(data, command):
    """(kind, name) of the symbol table's: imports, and what is weak."""
    offset, count, strings = struct.unpack_from("<3I", data, command + 8)
    for i in range(count):
        name, kind, _, description, _ = struct.unpack_from("<IBBHQ", data, offset + 16 * i)
        if kind & 0xE0 or not kind & EXTERNAL:  # a debugger's, or the library's own
            continue
        found = text(data, strings + name)
        undefined = kind & KIND == UNDEFINED
        if undefined:
            yield "imports", found
        if description & (REFERENCE_TO_WEAK if undefined else WEAK_DEFINITION):
            yield "weak", found


def signature(data, at, size):
    blob = data[at:at + size]
    magic, _, count = struct.unpack_from(">3I", blob)
    check(magic == SUPER_BLOB, "the signature is none")
    places = [struct.unpack_from(">2I", blob, 12 + 8 * i)[1] for i in range(count)]
    (start,) = [place for place in places
                if struct.unpack_from(">I", blob, place)[0] == CODE_DIRECTORY]
    (_, _, _, flags, hashes, _, _, pages, end, hash_size, hash_kind, _,
     page_bits) = struct.unpack_from(">9I4B", blob, start)
    check(hash_kind == SHA256 and hash_size == 32, "the signature is not by SHA-256")
    check(end == at, f"{end} bytes are signed, not the {at} before the signature")
    page = 1 << page_bits
    check(pages == -(-end // page), "not all pages are signed")
    for i in range(pages):
        digest = hashlib.sha256(data[i * page:min(end, (i + 1) * page)]).digest()
        place = start + hashes + hash_size * i
        check(digest == blob[place:place + hash_size], f"page {i} is not the one that was signed")
    return "ad-hoc" if flags & ADHOC else "a certificate's"


def describe(data):
    """(what, value), in the order of the file; the signature is the last."""
    magic, machine, _, kind, count = struct.unpack_from("<5I", data)
    check(magic == 0xFEEDFACF and kind == DYLIB, "not a 64-bit library for macOS")
    check(machine in MACHINES, f"for an unknown processor, {machine:#x}")
    yield "machine", MACHINES[machine]
    signed = "none"
    at = 32
    for _ in range(count):
        command, size = struct.unpack_from("<2I", data, at)
        if command == BUILD_VERSION:
            platform, oldest = struct.unpack_from("<2I", data, at + 8)
            check(platform == MACOS, f"for platform {platform}, not macOS")
            yield "oldest", f"{oldest >> 16}.{oldest >> 8 & 255}"
        elif command in (LOAD_DYLIB, LOAD_WEAK_DYLIB, REEXPORT_DYLIB, LOAD_UPWARD_DYLIB):
            yield "needs", text(data, at + struct.unpack_from("<I", data, at + 8)[0])
        elif command in (DYLD_INFO, DYLD_INFO_ONLY, DYLD_EXPORTS_TRIE):
            place = at + (8 if command == DYLD_EXPORTS_TRIE else 40)
            begin, length = struct.unpack_from("<2I", data, place)
            for name in exports(data[begin:begin + length]):
                yield "exports", name
        elif command == SYMTAB:
            yield from symbols(data, at)
        elif command == CODE_SIGNATURE:
            signed = signature(data, *struct.unpack_from("<2I", data, at + 8))
        at += size
    yield "signature", signed


def main(path):
    for what, value in describe(pathlib.Path(path).read_bytes()):
        print(what, value)


if __name__ == "__main__":
    main(*sys.argv[1:])
