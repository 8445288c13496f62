"""packages/reader/cuckoo_reader.py, for check.py and cases.py."""
from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "packages" / "reader"))
import cuckoo_reader  # noqa: E402

crc32c = cuckoo_reader._crc32c
FilterImage, ImageError = cuckoo_reader.FilterImage, cuckoo_reader.ImageError


def pieces_of(data):
    return cuckoo_reader._Filter(memoryview(bytes(data)))._pieces
