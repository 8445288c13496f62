"""Checks that packages/reader/cuckoo_reader.py answers the cases of cases.py as the extension did.

usage: check.py cases.jsonl...
"""
import base64
import json
from pathlib import Path
import random
import struct
import sys

from reader import FilterImage, ImageError


def value_of(told):
    kind, rest = told[0], told[1:]
    if kind == "i":
        return int(rest)
    if kind == "r":
        return struct.unpack(">d", bytes.fromhex(rest))[0]
    if kind == "t":
        return bytes.fromhex(rest).decode("utf-8", "surrogatepass")
    return bytes.fromhex(rest) if kind == "b" else None


def is_refused(data):
    try:
        FilterImage(data)
    except ImageError:
        return True
    return False


def check_case(case, name, rng):
    data = base64.b64decode(case["image"])
    try:
        image = FilterImage(data)
    except ImageError as error:
        assert "mutant" in case or case.get("error", "-") in str(error), f"{name}: refused: {error}"
        return 0
    assert "error" not in case, f"{name}: not refused"
    if "mutant" not in case:
        assert (image.kind, image.items) == (case["kind"], case["items"]), f"{name}: {image.kind} {image.items}"
    for key, answer in case["ask"]:
        try:
            found = image.contains(*map(value_of, key))
        except ImageError:
            assert "mutant" in case, f"{name}: {key}"
            continue
        assert found == answer or "mutant" in case, f"{name}: {key}: {found}"
    if "mutant" not in case:
        assert is_refused(data + b"\0") and is_refused(b""), name
        for _ in range(20):
            assert is_refused(data[:rng.randrange(len(data))]), f"{name}: truncated"
            flipped, at = bytearray(data), rng.randrange(len(data))
            flipped[at] ^= 1 << rng.randrange(8)
            assert is_refused(flipped), f"{name}: byte {at}"
    return len(case["ask"])


def main():
    questions = images = 0
    for file in sys.argv[1:]:
        for number, line in enumerate(Path(file).read_text().splitlines(), 1):
            questions += check_case(json.loads(line), f"{file}:{number}", random.Random(number))
            images += 1
    assert questions, "no questions"
    print(f"{images} images, {questions} questions")


if __name__ == "__main__":
    main()
