"""Kernels for more instructions than every machine has stay among themselves: their object shows the function that makes
them and nothing that a linker could take for the rest of a program, and no other object has such instructions.

usage: host_isa_test.py NM READELF OBJDUMP ISA JOINED OBJECT... [-- OTHER...]

JOINED is the object of the level ISA that went into the library, made of the OBJECTs; the OTHERs are the library's.
"""

import re
import subprocess
import sys

# Registers of AVX and AVX-512, and instructions that came with SSE4 or BMI2.
BEYOND = re.compile(r"%[yz]mm\d|\t(?:blendv|pmulld|pextrq|shlx|shrx|sarx|vfn?m(?:add|sub))")


def run(*command):
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout


def visible(nm, obj):
    """(kind, name) of the symbols that a linker sees: global, weak, unique and common ones."""
    lines = [line.split() for line in run(nm, "--defined-only", obj).splitlines()]
    return [(line[-2], line[-1]) for line in lines if len(line) >= 2 and not (line[-2].islower() and line[-2] not in "vwu")]


def groups(readelf, obj):
    return len(re.findall(r"COMDAT group section", run(readelf, "--section-groups", "--wide", obj)))


def instructions(objdump, obj):
    """Lines with instructions beyond the baseline."""
    return [line for line in run(objdump, "-d", "--no-show-raw-insn", obj).splitlines() if BEYOND.search(line)]


def main(arguments):
    if len(arguments) < 6:
        print(__doc__, file=sys.stderr)
        return 2
    nm, readelf, objdump, isa, joined, *rest = arguments
    end = rest.index("--") if "--" in rest else len(rest)
    objects, others = rest[:end], rest[end + 1:]

    faults = []
    maker = [("T", f"_ZN11blockjacobi6detail15host_kernels_{isa}Ei")]
    shown = visible(nm, joined)
    faults += [f"{joined}: visible: {kind} {name}" for kind, name in shown if (kind, name) not in maker]
    if shown != maker:
        faults.append(f"{joined}: does not show {maker[0][1]} alone")
    if groups(readelf, joined):
        faults.append(f"{joined}: {groups(readelf, joined)} groups of which a linker takes one")
    if ".init_array" in run(readelf, "--sections", "--wide", joined):
        faults.append(f"{joined}: has code that runs before anybody asked what the machine can")
    # What was to be hidden was there, and this test sees it.
    if not any(kind in "WVu" for obj in objects for kind, _ in visible(nm, obj)):
        faults.append("no object has a weak symbol: this test sees nothing")
    if not any(groups(readelf, obj) for obj in objects):
        faults.append("no object has a group: this test sees nothing")
    if not instructions(objdump, joined):
        faults.append(f"{joined}: no instruction beyond the baseline: this test sees nothing")
    for obj in others:
        found = instructions(objdump, obj)
        faults += [f"{obj}: {len(found)} instructions beyond the baseline, as{found[0]}"] if found else []
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{isa}: {len(objects)} objects joined, {len(others)} others looked at")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
