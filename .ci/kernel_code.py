#!/usr/bin/env python3
"""Looks at the machine code of kernels.

  kernel_code.py BEFORE AFTER        compares those of two builds, whatever the kernels are called
  kernel_code.py --reductions BUILD  looks for reductions that may leave lanes out

of folders of object files, as build/cuda/src/CMakeFiles/blockjacobi.dir.

Two kernels are the same if their instructions, registers, stack, static shared memory, launch bounds and parameters are.
Prints how many are, and the names of those that only one build has; status 1 if there are any. For changes that shall
not change what runs, where no GPU is at hand.

All lanes of a warp take part in each __reduce_max_sync() and the like of the sources. ptxas 13.0 has been seen to put one
under a predicate that lanes of rows alone have (docs/kernels/setup.md): inverses of some orders were wrong. Prints the
kernels that have a reduction under any predicate; status 1 if there are others than those of which it has been read that
all lanes have the same.

Needs libzstd.so.1, as nvcc compresses with zstd.
"""

import collections
import ctypes
import pathlib
import struct
import subprocess
import sys

FATBIN, ELF_IMAGE, ZSTD = 0xBA55ED50, 2, 0x8000
# Attributes of a kernel: most threads, required threads, parameters, exits, bytes of parameters, shape of a cluster.
LAUNCH_ATTRIBUTES = {0x05, 0x10, 0x17, 0x1C, 0x19, 0x3D}
# Attributes by kernel in the image's own list: registers, frame, stack.
RESOURCE_ATTRIBUTES = {0x2F, 0x11, 0x12}
LISTED = 15  # names of a build
SYSTEM_SHARED = 1024  # bytes
MOST_BYTES = 1 << 32  # of an image
# Of an instruction of 128 bits: bits 0 to 11 say which, 12 to 15 its predicate.
REDUCTION, ALWAYS = 0x3C4, 7
# Kernels that were read: where the pivot's first word decides nothing, which the warp has voted on.
SAME_IN_ALL_LANES = ("getrf_cta_left_kernel",)


def sections(elf):
    """(name, size, link, content) of the sections of a 64-bit ELF file; content is empty where none is stored."""
    offset, = struct.unpack_from("<Q", elf, 40)
    entry_size, count, names = struct.unpack_from("<HHH", elf, 58)
    heads = [struct.unpack_from("<IIQQQQIIQQ", elf, offset + i * entry_size) for i in range(count)]
    found = []
    for head in heads:
        begin = heads[names][4] + head[0]
        name = elf[begin:elf.index(b"\0", begin)].decode()
        found.append((name, head[5], head[6], b"" if head[1] == 8 else elf[head[4]:head[4] + head[5]]))
    return found


def decompressed(data):
    """Of zstd; empty if it is not of a size that it says, as nvcc's are."""
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    size = zstd.ZSTD_getFrameContentSize(data, ctypes.c_size_t(len(data)))
    if size > MOST_BYTES:  # which errors are as well
        return b""
    content = ctypes.create_string_buffer(size)
    written = zstd.ZSTD_decompress(content, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    return content.raw if written == size else b""


def images(path):
    """The ELF images in the fat binaries of an object file or a program."""
    for name, _, _, data in sections(path.read_bytes()):
        position = 0
        while name == ".nv_fatbin" and position + 16 <= len(data):
            magic, _, head_size, size = struct.unpack_from("<IHHQ", data, position)
            if magic != FATBIN:
                position += 8
                continue
            entry, end = position + head_size, position + head_size + size
            while entry < end:
                kind, _, head_size, padded, compressed = struct.unpack_from("<HHIQI", data, entry)
                flags, = struct.unpack_from("<Q", data, entry + 40)
                content = data[entry + head_size:entry + head_size + padded]
                if kind == ELF_IMAGE:
                    if flags & ZSTD:
                        content = decompressed(content[:compressed])
                    if not content.startswith(b"\x7fELF"):
                        sys.exit(f"kernel_code: {path}: an image compressed in a way that is not known here")
                    yield content
                entry += head_size + padded
            position = end


def attributes(data):
    """(attribute, value) of a list of attributes."""
    position = 0
    while position + 4 <= len(data):
        form, attribute, size = struct.unpack_from("<BBH", data, position)
        if form != 4:  # the value stands in place of its size
            yield attribute, data[position + 2:position + 4]
            position += 4
        else:
            yield attribute, data[position + 4:position + 4 + size]
            position += 4 + size


def kernels(elf):
    """(name, all that counts) of each kernel of an image."""
    parts = sections(elf)
    content = {name: data for name, _, _, data in parts}
    size = {name: bytes_ for name, bytes_, _, _ in parts}
    table, link = next((data, link) for name, _, link, data in parts if name == ".symtab")
    names = parts[link][3]
    symbols = [names[begin:names.index(b"\0", begin)].decode()
               for begin, in (struct.unpack_from("<I", table, i) for i in range(0, len(table), 24))]
    resources = collections.defaultdict(list)
    for attribute, value in attributes(content.get(".nv.info", b"")):
        if attribute in RESOURCE_ATTRIBUTES:
            symbol, number = struct.unpack("<II", value)
            resources[symbols[symbol]].append((attribute, number))
    for section in (name for name in content if name.startswith(".text.")):
        kernel = section.removeprefix(".text.")
        launch = tuple(pair for pair in attributes(content.get(f".nv.info.{kernel}", b"")) if pair[0] in LAUNCH_ATTRIBUTES)
        yield kernel, (content[section], tuple(sorted(resources[kernel])), size.get(f".nv.shared.{kernel}", 0), launch)


def static_shared_memory(elf):
    """(name, whether it has static shared memory) of each kernel of an image."""
    size = {name: bytes_ for name, bytes_, _, _ in sections(elf)}
    # what the system has of a thread block's shared memory, of 9.0 and later, is counted in
    system = SYSTEM_SHARED if ".nv.shared.reserved.0" in size else 0
    for section in (name for name in size if name.startswith(".text.")):
        kernel = section.removeprefix(".text.")
        yield kernel, size.get(f".nv.shared.{kernel}", 0) > system


def kernels_of(folder):
    found = collections.defaultdict(list)
    for path in sorted(pathlib.Path(folder).rglob("*.cu.o")):
        for image in images(path):
            for name, body in kernels(image):
                found[body].append(name)
    if not found:
        sys.exit(f"kernel_code: no kernels in {folder}")
    return found


def readable(names):
    return subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout.rstrip()


def reductions(code):
    """The predicates of the reductions of a kernel's instructions."""
    heads = (head for head, in struct.iter_unpack("<H14x", code))
    return [head >> 12 for head in heads if head & 0xFFF == REDUCTION]


def check_reductions(folder):
    predicates = {name: reductions(body[0]) for body, names in kernels_of(folder).items() for name in names}
    found = sorted(name for name, own in predicates.items() if set(own) - {ALWAYS})
    unread = [name for name in found if not any(known in name for known in SAME_IN_ALL_LANES)]
    print(f"{sum(map(len, predicates.values()))} reductions in {len(predicates)} kernels, {len(found)} of them with one under "
          f"a predicate, of which {len(unread)} were not read")
    if unread:
        print(readable(unread))
    return 1 if unread else 0


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if sys.argv[1] == "--reductions":
        return check_reductions(sys.argv[2])
    before, after = map(kernels_of, sys.argv[1:])
    same = sum(min(len(names), len(after.get(body, ()))) for body, names in before.items())
    print(f"{same} kernels of the same machine code")
    different = False
    for title, here, there in (("before", before, after), ("after", after, before)):
        names = [name for body, own in here.items() for name in own[len(there.get(body, ())):]]
        if not names:
            continue
        different = True
        print(f"{len(names)} only {title}:")
        print(readable(sorted(names)[:LISTED]) + ("\n..." if len(names) > LISTED else ""))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
