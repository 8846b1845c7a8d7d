"""Writes registry hives ("regf" files), as the layers of Windows images have them for what they change in the registry."""

import struct
from dataclasses import dataclass, field

SZ, EXPAND_SZ, BINARY, DWORD, MULTI_SZ, QWORD = 1, 2, 3, 4, 7, 11
MERGE, TOMBSTONE, SUPERSEDE_VALUES, SUPERSEDE_TREE = range(4)
NOTHING = 0xFFFFFFFF
SEGMENT = 16344  # of larger data


def text(value):
    return (value + "\0").encode("utf-16-le")


@dataclass
class Value:
    kind: int
    data: bytes
    deleted: bool = False  # in lower layers


DELETED = Value(0, b"", True)


def string(value):
    return Value(SZ, text(value))


def expandable(value):
    return Value(EXPAND_SZ, text(value))


def number(value):
    return Value(DWORD, struct.pack("<I", value))


@dataclass
class Key:
    values: dict[str, Value] = field(default_factory=dict)
    keys: dict[str, "Key"] = field(default_factory=dict)
    layering: int = MERGE

    def at(self, *names):
        """The key below, made if it is missing."""
        key = self
        for name in names:
            key = key.keys.setdefault(name, Key())
        return key


def hive_bytes(root):
    writer = _Writer()
    at = writer.key("ROOT", root, 0x2C)
    size = -(-len(writer.cells) // 4096) * 4096
    cells = bytes(writer.cells)
    if len(cells) < size:  # one free cell
        cells = (cells + struct.pack("<i", size - len(cells))).ljust(size, b"\0")
    cells = cells[:8] + struct.pack("<I", size) + cells[12:]
    header = b"regf" + struct.pack("<IIQIIIIIII", 1, 1, 0, 1, 6, 0, 1, at, size, 1)
    header = header.ljust(508, b"\0")
    check = 0
    for (word,) in struct.iter_unpack("<I", header):
        check ^= word
    return (header + struct.pack("<I", check)).ljust(4096, b"\0") + cells


class _Writer:
    def __init__(self):
        self.cells = bytearray(b"hbin".ljust(32, b"\0"))

    def cell(self, content):
        at, size = len(self.cells), -(-(len(content) + 4) // 8) * 8
        self.cells += struct.pack("<i", -size) + content.ljust(size - 4, b"\0")
        return at

    def data(self, data):
        if len(data) <= SEGMENT:
            return self.cell(data)
        parts = [self.cell(data[start:start + SEGMENT]) for start in range(0, len(data), SEGMENT)]
        return self.cell(b"db" + struct.pack("<HI", len(parts), self.cell(struct.pack(f"<{len(parts)}I", *parts))))

    def value(self, name, value):
        encoded, flags = _name(name)
        if value.deleted:
            size, place = 0, struct.pack("<I", NOTHING)
            flags |= 2
        elif len(value.data) <= 4:
            size, place = 0x80000000 | len(value.data), value.data.ljust(4, b"\0")
        else:
            size, place = len(value.data), struct.pack("<I", self.data(value.data))
        return self.cell(b"vk" + struct.pack("<HI", len(encoded), size) + place + struct.pack("<IHH", value.kind, flags, 0) + encoded)

    def key(self, name, key, flags=0):
        encoded, latin = _name(name)
        # Windows looks keys up in the lists, which it expects sorted.
        below = [(child, self.key(child, key.keys[child])) for child in sorted(key.keys, key=str.upper)]
        values = [self.value(name, value) for name, value in key.values.items()]
        keys = NOTHING
        if below:
            keys = self.cell(b"lh" + struct.pack("<H", len(below)) + b"".join(struct.pack("<II", at, _hash(child)) for child, at in below))
        listed = self.cell(struct.pack(f"<{len(values)}I", *values)) if values else NOTHING
        return self.cell(b"nk" + struct.pack("<HQBBHIIIIIIIIIIIIIIHH", flags | latin << 5, 0, 0, key.layering, 0, 0, len(below), 0, keys, NOTHING,
                                             len(values), listed, NOTHING, NOTHING, 0, 0, 0, 0, 0, len(encoded), 0) + encoded)


def _name(name):
    """And whether it is in Latin-1."""
    try:
        return name.encode("latin-1"), 1
    except UnicodeEncodeError:
        return name.encode("utf-16-le"), 0


def _hash(name):
    value = 0
    for unit in struct.iter_unpack("<H", name.upper().encode("utf-16-le")):
        value = (37 * value + unit[0]) & 0xFFFFFFFF
    return value
