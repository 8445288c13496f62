"""Asks an image of a filter whether it has a key, without SQLite.

    image = FilterImage(open("blocked.image", "rb").read())  # bytes, or an mmap
    image.contains("ann")                              # of two columns: image.contains(1, "ann")

filter_export(), cuckoo_build(), bloom_build() and filter_union() of sqlite-cuckoo make images. docs/FORMAT.md
says what their bytes mean. FilterImage() checks them once, contains() reads them in place.
"""
from bisect import bisect_right
from decimal import ROUND_HALF_UP, Context
from math import comb, inf
import re
from struct import iter_unpack, pack, unpack_from

__all__ = ["FilterImage", "ImageError"]


class ImageError(ValueError):
    """The bytes are no image of a filter, or a damaged one."""


class FilterImage:
    """kind is 'cuckoo_filter' or 'bloom_filter'; items says how many keys it holds; columns, of how many a key is."""

    def __init__(self, data):
        self._filters = [_Filter(section) for section in _sections(memoryview(data).cast("B"))]
        first = self._filters[0]
        if any(other.keys != first.keys for other in self._filters):
            raise ImageError("damaged image: its generations have different keys")
        self.kind = "cuckoo_filter" if first.kind == 1 else "bloom_filter"
        self.items = sum(one.items for one in self._filters)
        self.columns = len(first.columns)

    def contains(self, *key):
        """Whether the filter may have the key. False is certain. A key with None or NaN in it is never there.

        int is an INTEGER, float a REAL, str a TEXT, bytes a BLOB, as for the module sqlite3.
        """
        first = self._filters[0]
        if len(key) != self.columns:
            raise TypeError(f"a key of this image has {self.columns} columns, not {len(key)}")
        parts = [_column(value, *column) for value, column in zip(key, first.columns)]
        if None in parts:
            return False
        kind, content = parts[0]
        if len(parts) > 1:
            kind, content = 3, b"CKT" + bytes([len(parts)]) + b"".join(
                pack("<BI", kind, len(content)) + content for kind, content in parts)
        if first.kind == 5:
            return kind > 1 and first.has_legacy(content)
        bits = _xxh3(content, first.seed + kind * _GOLDEN & _M64)
        bits = bits >> 64 - first.hash_bits << 64 - first.hash_bits
        return any(one.has(bits) for one in self._filters)


_M64 = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15


def _check(condition, what):
    if not condition:
        raise ImageError("damaged image: " + what)


def _check_start(data, size, layout, version):
    known = unpack_from(layout, data, 4)[0] if len(data) >= 8 else version
    if known != version:
        raise ImageError(f"image of version {known}; this reader knows version {version}")
    _check(len(data) >= size and unpack_from("<Q", data, 8)[0] == len(data), "its length is wrong")


def _sections(data):
    """The images of a window's generations, or the one image."""
    if data[:4] != b"CKIW":
        return [data]
    _check_start(data, 164, "<I", 3)
    sections, at, end, sums, before = [], 160, len(data) - 4, bytes(data[:160]), -1
    ascend = True
    while at < end:
        _check(end - at >= 20, "a section's length")
        rotation, length = unpack_from("<2Q", data, at)
        _check(4 <= length <= end - at - 16, "a section's length")
        ascend, before = ascend and rotation > before, rotation
        section = data[at + 16:at + 16 + length]
        sums += bytes(data[at:at + 16]) + section[-4:]
        sections.append(section)
        at += 16 + length
    _check(_crc32c(sums) == unpack_from("<I", data, end)[0], "its checksum is wrong")
    if data[25] == 1:
        raise ImageError("these are changes of a window, and no image")
    _check(sections and ascend and data[24] == len(sections) and data[25:32] == bytes(7), "the window's header")
    return sections


class _Filter:
    """One image: what it says of its keys, and its pieces."""

    def __init__(self, data):
        if data[:4] != b"CKMS":
            raise ImageError("no image of a filter")
        _check_start(data, 188, "<B", 4)
        flags, fields, zero = data[5:8]
        (self.items, _, pieces, entries, counts, self.kind, self.hash_bits, self.seed, _, columns, affinities,
         collations) = unpack_from("<12Q", data, 16)
        self._starts, self._pieces, sums = [], [], bytes(data[:184])
        at, start, end = 184, 0, len(data) - 4
        while at < end:
            _check(end - at >= 68, "a piece's length")
            piece = _Piece(data, at, end, self.kind)
            self._starts.append(start)
            self._pieces.append(piece)
            _check(piece.prefix == start and start % (1 << 64 - piece.depth) == 0, "a piece's prefix")
            _check(_crc32c(data[at:piece.end]) == unpack_from("<I", data, piece.end)[0], "its checksum is wrong")
            at = piece.end + 4
            sums += data[at - 4:at]
            start += 1 << 64 - piece.depth
        _check(_crc32c(sums) == unpack_from("<I", data, end)[0], "its checksum is wrong")
        if flags & 8:
            raise ImageError("these are changes, and no image")
        _check(flags < 8 and fields == 21 and zero == entries == counts == 0 and pieces == len(self._pieces)
               and start == 1 << 64 and 1 <= columns <= 8 and self.hash_bits in (47, 63)
               and affinities >> 4 * columns == collations >> 2 * columns == 0, "its header")
        self.columns = [(affinities >> 4 * i & 15, collations >> 2 * i & 3) for i in range(columns)]
        for affinity, collation in self.columns:
            _check(affinity <= 4, f"affinity {affinity} is not known")
            _check(collation <= 2, f"collation {collation} is not known")
        self.keys = self.kind, self.hash_bits, self.seed, self.columns

    def has(self, key_hash):
        piece = self._pieces[bisect_right(self._starts, key_hash) - 1]
        return piece.has(key_hash << piece.depth & _M64)

    def has_legacy(self, key):
        piece = self._pieces[0]
        h1 = _murmur64a(key, self.seed & 0xFFFFFFFF)
        h2 = _murmur64a(key, (h1 >> 32 ^ h1) & 0xFFFFFFFF)
        return piece.occupied > 0 and all(
            piece.cell((h1 + i * h2 & _M64) % piece.size) for i in range(piece.shape))


class _Piece:
    """The filter of the hashes that begin with a prefix."""

    def __init__(self, data, at, end, kind):
        self.data, self.kind, self.cells = data, kind, at + 64
        (self.depth, self.detail, self.shape, self.overflows, _, _, self.occupied, self.size, _, hash_bytes,
         self.prefix) = unpack_from("<2BHI7Q", data, at)
        self.width = {2: 1, 3: 512, 4: 4, 5: 1}.get(kind, 0)
        per_page = page_bytes = 4032  # they do not matter, as pages of bits have no gaps between them
        if kind == 1:
            self.width = 4 * self.detail + {16: 12, 19: 13, 23: 14, 28: 15}.get(self.shape, 999)
            _check(self.width <= 128, "a piece's buckets")
            self.values = (self.shape << self.detail) - 1
            per_page = self.per_page = 8 * 4032 // self.width
            page_bytes = self.page_bytes = (self.width * per_page + 7) // 8
        else:
            _check(self.width and self.detail == 0 and 1 <= self.shape <= (4 if kind == 3 else 64), "a piece's shape")
            page_bytes = self.width * 4032 // 8
        pages, rest = divmod(self.size, per_page)
        length = pages * page_bytes + (self.width * rest + 7) // 8
        self.overflow = self.cells + (length if self.occupied else 0)
        self.end = self.overflow + 16 * self.overflows + hash_bytes
        _check(self.size and self.depth <= 30 and self.end <= end - 4, "a piece's length")

    def has(self, key_hash):
        if self.kind == 1:
            return self.has_fingerprint(key_hash)
        return self.occupied > 0 and (self.has_mask(key_hash) if self.kind == 3 else self.has_cells(key_hash))

    def has_fingerprint(self, key_hash):
        position = key_hash * self.size
        bucket1, value = position >> 64, 1 + ((position & _M64) * self.values >> 64)
        bucket2 = ((_murmur_mix(value) * self.size >> 64) - bucket1) % self.size
        if self.occupied and (self.is_in(bucket1, value) or self.is_in(bucket2, value)):
            return True
        cell = min(bucket1, bucket2) * self.values + value - 1
        low, high = 0, self.overflows
        while low < high:
            middle = (low + high) // 2
            found, = unpack_from("<Q", self.data, self.overflow + 16 * middle)
            if found == cell:
                return True
            low, high = (middle + 1, high) if found < cell else (low, middle)
        return False

    def is_in(self, bucket, value):
        page, place = divmod(bucket, self.per_page)
        at, shift = divmod(place * self.width, 8)
        at += self.cells + page * self.page_bytes
        bits = int.from_bytes(self.data[at:at + 17], "little") >> shift & (1 << self.width) - 1
        rank = bits >> 4 * self.detail
        for slot in (3, 2, 1, 0):
            high = bisect_right(_RANKS[slot], rank) - 1
            rank -= _RANKS[slot][high]
            low = bits >> slot * self.detail & (1 << self.detail) - 1
            if high << self.detail | low == value:
                return True
        return False

    def cell(self, number):
        """A bit or counter of a Bloom filter."""
        byte, shift = divmod(number * self.width, 8)
        return self.data[self.cells + byte] >> shift & (1 << self.width) - 1

    def has_cells(self, key_hash):
        for i in range(self.shape):
            if i % 2 == 0:
                mixed = _mix64(key_hash + (i // 2 + 1) * _GOLDEN)
            else:
                mixed = _rotated(mixed, 32)
            if not self.cell(mixed * self.size >> 64):
                return False
        return True

    def has_mask(self, key_hash):
        mask = key_hash
        for i in range(self.shape):
            first, end = self.size * i // self.shape, self.size * (i + 1) // self.shape
            block = first + (mask * (end - first) >> 64)
            mask = _mix64(key_hash + (i + 1) * _GOLDEN)
            for lane, bits in enumerate(unpack_from("<8Q", self.data, self.cells + 64 * block)):
                if not bits >> (mask >> 6 * lane & 63) & 1:
                    return False
        return True


_RANKS = [[comb(high + slot, slot + 1) for high in range(28)] for slot in range(4)]


# Keys: each column becomes a type (0 INTEGER, 1 REAL, 2 TEXT, 3 BLOB) and bytes.

_TEXT, _REAL = 1, 4  # affinities
_SPACE = rb"[\t-\r ]*"
_NUMBER = re.compile(_SPACE + rb"([+-]?[0-9]+|[+-]?(?:[0-9]+\.?|(?=\.[0-9])\.)[0-9]*(?:[eE][+-]?[0-9]+)?)" + _SPACE)
_DIGITS15 = Context(prec=15, rounding=ROUND_HALF_UP, Emin=-999, Emax=999)


def _column(value, affinity, collation):
    """What the column makes of a value; None is NULL."""
    if value is None or value != value:
        return None
    if isinstance(value, (int, float)) and affinity == _TEXT:
        value = _text_of_real(value) if isinstance(value, float) else str(int(value))
    if isinstance(value, str):
        try:
            text = value.encode()
        except UnicodeEncodeError:  # half a surrogate pair; two halves that meet are one character
            text = value.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
            text = text.encode("utf-8", "surrogatepass")
        match = _NUMBER.fullmatch(text) if affinity > _TEXT else None
        if not match:
            return 2, _collated(text, collation)
        value = float(match[1])
        if re.fullmatch(rb"[+-]?[0-9]+", match[1]) and -2**63 <= int(match[1]) < 2**63:
            value = int(match[1])
    if isinstance(value, int):
        if not -2**63 <= value < 2**63:
            raise OverflowError("an INTEGER has 64 bits")
        value = float(value) if affinity == _REAL else value
    if isinstance(value, float):
        if not -2.0**63 <= value < 2.0**63 or value != int(value):
            return 1, pack("<d", value)
        value = int(value)
    if isinstance(value, int):
        return 0, pack("<q", value)
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(f"a key is an int, a float, a str, bytes or None, not {type(value).__name__}")
    return 3, bytes(value)


def _collated(text, collation):
    if collation == 2:
        return text.rstrip(b" ")
    if collation == 1:
        end = (text + b"\0").index(0)
        return text[:end].lower() + bytes(len(text) - end)
    return text


def _text_of_real(real):
    """As SQLite casts a REAL to TEXT, up to 15 digits. (Newer versions of SQLite write up to 17.)"""
    if abs(real) == inf:
        return "Inf" if real > 0 else "-Inf"
    rounded = _DIGITS15.create_decimal(abs(real)).normalize()
    sign, power = "-" if real < 0 else "", rounded.adjusted()
    if -4 <= power < 15:
        text = f"{sign}{rounded:f}"
        return text if "." in text else text + ".0"
    digits = "".join(map(str, rounded.as_tuple().digits))
    return f"{sign}{digits[0]}.{digits[1:] or 0}e{power:+03d}"


# Hashes of 64 bits.

def _rotated(x, bits):
    return (x << bits | x >> 64 - bits) & _M64


def _mix64(x):
    """The finalizer of SplitMix64."""
    x &= _M64
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & _M64
    x = (x ^ x >> 27) * 0x94D049BB133111EB & _M64
    return x ^ x >> 31


def _murmur_mix(x):
    """The finalizer of MurmurHash3."""
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD & _M64
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53 & _M64
    return x ^ x >> 33


def _murmur64a(data, seed):
    m, whole = 0xC6A4A7935BD1E995, len(data) // 8
    h = seed ^ len(data) * m & _M64
    for k in unpack_from(f"<{whole}Q", data):
        k = k * m & _M64
        h = (h ^ (k ^ k >> 47) * m & _M64) * m & _M64
    if len(data) % 8:
        h = (h ^ int.from_bytes(data[8 * whole:], "little")) * m & _M64
    h = (h ^ h >> 47) * m & _M64
    return h ^ h >> 47


# XXH3, by https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")
_P32_1, _P32_2, _P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
_P64_1, _P64_2, _P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P64_4, _P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5


def _xxh3(data, seed):
    size = len(data)
    if size <= 16:
        return _xxh3_short(data, size, seed)
    if size > 240:
        return _xxh3_long(data, size, seed)
    total = size * _P64_1
    if size <= 128:
        for i in range((size - 1) // 32 + 1):
            total += _mixed(data, i * 16, i * 32, seed) + _mixed(data, size - i * 16 - 16, i * 32 + 16, seed)
        return _avalanche(total)
    for i in range(8):
        total += _mixed(data, i * 16, i * 16, seed)
    total = _avalanche(total)
    for i in range(8, size // 16):
        total += _mixed(data, i * 16, (i - 8) * 16 + 3, seed)
    return _avalanche(total + _mixed(data, size - 16, 119, seed))


def _xxh3_short(data, size, seed):
    if size > 8:
        s0, s1, s2, s3 = unpack_from("<4Q", _SECRET, 24)
        low = ((s0 ^ s1) + seed & _M64) ^ unpack_from("<Q", data)[0]
        high = ((s2 ^ s3) - seed & _M64) ^ unpack_from("<Q", data, size - 8)[0]
        return _avalanche(size + int.from_bytes(pack("<Q", low), "big") + high + _folded(low, high))
    if size >= 4:
        s0, s1 = unpack_from("<2Q", _SECRET, 8)
        seed ^= int.from_bytes(pack("<I", seed & 0xFFFFFFFF), "big") << 32
        x = ((s0 ^ s1) - seed & _M64) ^ (unpack_from("<I", data, size - 4)[0] | unpack_from("<I", data)[0] << 32)
        x = (x ^ _rotated(x, 49) ^ _rotated(x, 24)) * 0x9FB21C651E98DF25 & _M64
        x = (x ^ (x >> 35) + size) * 0x9FB21C651E98DF25 & _M64
        return x ^ x >> 28
    if size:
        s0, s1 = unpack_from("<2I", _SECRET)
        x = (s0 ^ s1) + seed & _M64 ^ (data[-1] | size << 8 | data[0] << 16 | data[size // 2] << 24)
    else:
        s0, s1 = unpack_from("<2Q", _SECRET, 56)
        x = seed ^ s0 ^ s1
    x = (x ^ x >> 33) * _P64_2 & _M64
    x = (x ^ x >> 29) * _P64_3 & _M64
    return x ^ x >> 32


def _xxh3_long(data, size, seed):
    secret = b"".join(pack("<2Q", a + seed & _M64, b - seed & _M64) for a, b in iter_unpack("<2Q", _SECRET))
    sums = [_P32_3, _P64_1, _P64_2, _P64_3, _P64_4, _P32_2, _P64_5, _P32_1]
    last = (size - 1) // 64
    for stripe in range(last + 1):
        at, words = (stripe * 64, stripe % 16 * 8) if stripe < last else (size - 64, 121)
        lanes = unpack_from("<8Q", data, at)
        for i, word in enumerate(unpack_from("<8Q", secret, words)):
            word ^= lanes[i]
            sums[i] += lanes[i ^ 1] + (word & 0xFFFFFFFF) * (word >> 32)
        if stripe % 16 == 15 and stripe < last:
            for i, word in enumerate(unpack_from("<8Q", secret, 128)):
                x = sums[i] & _M64
                sums[i] = (x ^ x >> 47 ^ word) * _P32_1 & _M64
    x = [(total ^ word) & _M64 for total, word in zip(sums, unpack_from("<8Q", secret, 11))]
    return _avalanche(size * _P64_1 + sum(_folded(x[i], x[i + 1]) for i in (0, 2, 4, 6)))


def _mixed(data, at, words, seed):
    d0, d1 = unpack_from("<2Q", data, at)
    s0, s1 = unpack_from("<2Q", _SECRET, words)
    return _folded(d0 ^ (s0 + seed & _M64), d1 ^ (s1 - seed & _M64))


def _folded(a, b):
    product = a * b
    return product & _M64 ^ product >> 64


def _avalanche(x):
    x &= _M64
    x = (x ^ x >> 37) * 0x165667919E3779F9 & _M64
    return x ^ x >> 32


# CRC-32C. Bits are a polynomial, with its highest power in the lowest bit. Its first part, times a power of x
# modulo the polynomial of the CRC, is added to the rest. This is ten times as fast as a table for each byte.
_CRC_CHUNK = 1 << 15
_CRC_TABLE, _CRC_FOLDS = [], []


def _crc32c(data):
    if not _CRC_TABLE:
        _fill_crc_tables()
    crc = 0xFFFFFFFF
    for at in range(0, len(data), _CRC_CHUNK):
        part = bytes(data[at:at + _CRC_CHUNK])
        if len(part) > 32:
            bits, size = int.from_bytes(part, "little") ^ crc, 8 * len(part)
            for first, rest, shifts in _CRC_FOLDS:
                if rest < size:
                    bits <<= first + rest - size  # zeros before it do not matter
                    head, bits, size = bits & (1 << first) - 1, bits >> first, rest
                    for shift in shifts:
                        bits ^= head << shift
            part, crc = bits.to_bytes(size // 8, "little"), 0
        for byte in part:
            crc = _CRC_TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _fill_crc_tables():
    size = 8 * _CRC_CHUNK
    while size > 128:
        first = (size - 32) // 16 * 8
        size -= first
        power = 1  # of x, modulo the polynomial
        for bit in f"{size:b}":
            power = int(f"{power:b}", 4) << int(bit)  # squared, as each digit moves to twice its place
            for degree in range(power.bit_length() - 1, 31, -1):
                if power >> degree & 1:
                    power ^= 0x11EDC6F41 << degree - 32
        _CRC_FOLDS.append((first, size, [size - first - j for j in range(32) if power >> j & 1]))
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        _CRC_TABLE.append(value)
