"""RPack: RisuAI's disguise for bytes, where each byte stands for another one."""

from __future__ import annotations

_DISGUISED = bytes.fromhex(
    "c40d1e0bbd2b3f55fc456ef566534f1ae0bb309486ba6bbf41506f9befdeb710611720df3289a89d6dabc990000c5daf"
    "d2c156e516649182657497ca23d652d1ffb4a0e82f8a58385a60199649dbd7c83b3e434ba56347aa6a2992f415cf6234"
    "78d31d3ce2058e2a570e1bcd4c2df2402c2579480fb27ab5a76c37e69c7b547efe87dc9a02e433a2ebb12e03dd99a6b0"
    "e7d58818837cf6bee15c9fc321461f084ed076125feefd8f44eaa35e8b2809359e69cc0ac78507ad4af377e967d4da84"
    "8093b64d73fa27267f04c6fbf1723951c236a968acf8edc5b9cbce75a43d81d942701c9511bcd88c98f959a113f7147d"
    "b3ec71c0e38df001ae5b310624223ab8"
)
_PLAIN = bytes(_DISGUISED.index(code) for code in range(256))


def encode_rpack(data: bytes) -> bytes:
    """Disguise bytes; the length stays the same."""
    return data.translate(_DISGUISED)


def decode_rpack(data: bytes) -> bytes:
    """Take the disguise off; any bytes can be decoded, whether or not they were disguised."""
    return data.translate(_PLAIN)
