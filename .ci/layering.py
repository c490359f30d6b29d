#!/usr/bin/env python3
"""Checks who includes whom; CONTRIBUTING.md states the rules.

  layering.py              check the tree
  layering.py --self-test  plant every kind of violation in a small tree and see that each is found
"""

import argparse
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUFFIXES = (".hpp", ".h", ".cpp", ".c", ".cu", ".cuh", ".cpp.in", ".cu.in")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)

STANDARD = set(
    """algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes
    climits clocale cmath codecvt compare complex concepts condition_variable coroutine csetjmp csignal cstdarg cstddef
    cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype deque exception execution filesystem forward_list
    fstream functional future initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale
    map memory memory_resource mutex new numbers numeric optional ostream queue random ranges ratio regex
    scoped_allocator semaphore set shared_mutex source_location span sstream stack stdexcept stop_token streambuf
    string string_view strstream syncstream system_error thread tuple type_traits typeindex typeinfo unordered_map
    unordered_set utility valarray variant vector version stddef.h stdint.h""".split()
)
CUDA = re.compile(r"^(cu[a-zA-Z_]*\.h|cuda[_a-zA-Z]*\.hp?p?|cuda_[a-z0-9_]+\.h|device_[a-z_]+\.h|cooperative_groups.*|"
                  r"(cub|cuda|thrust|cutlass|nvtx3)/.*|nvml\.h|nvToolsExt\.h|nvrtc\.h|mma\.h|vector_types\.h|cublas.*|"
                  r"cusparse.*|cusolver.*|curand.*)$")
# A file of kernels/ sees its own layer and those before it.
KERNEL_LAYERS = ("policies", "collectives", "device functions", "launch")
LAUNCHERS = re.compile(r"^kernels/(\w+/)?launch(_\w+)?\.hpp$")
CUDA_ERRORS = "kernels/launch/check.hpp"
MESSAGES = "src/core/message.hpp"
ADAPTED = {"include/blockjacobi/adapters/dune.hpp": "dune/", "include/blockjacobi/adapters/eigen.hpp": "Eigen/",
           "include/blockjacobi/adapters/petsc.h": "petsc"}
# Python's streams meet those of the library in one file.
PYTHON_STREAMS = "python/src/streams_cuda.cpp"
USER_FOLDERS = ("examples/", "tests/package/", "matrices/", "python/")


def is_public(name):
    return name.startswith("blockjacobi/")


def kernel_layer(path):
    """Rank of a file of kernels/ among KERNEL_LAYERS: policies are kernels/*.hpp and kernels/<operation>/policy.hpp."""
    _, *folders, name = path.split("/")
    if name == "policy.hpp" or (not folders and name.endswith(".hpp")):
        return 0
    if folders == ["collectives"]:
        return 1
    is_launch = name.startswith("launch") or name.endswith(("_kernel.cuh", "_kernels.cuh", ".cu", ".cu.in"))
    return 3 if folders == ["launch"] or is_launch else 2


def is_plain(path):
    """Whether a header of kernels/ is plain C++, for g++ as well: policies and the declarations of launchers."""
    return path.startswith("kernels/") and (kernel_layer(path) == 0 or LAUNCHERS.match(path) is not None)


def resolve(root, file, name):
    """Path in the tree that a quoted include means, or None."""
    for base in (file.parent, root / "src", root, root / "include"):
        candidate = (base / name).resolve()
        if candidate.is_file() and candidate.is_relative_to(root.resolve()):
            return candidate.relative_to(root.resolve()).as_posix()
    return None


def check_public(path, name, target):
    """include/ knows nothing but itself and the standard library; an adapter also the library that it is named after."""
    if target is not None and target.startswith("include/"):
        return None
    if name in STANDARD or name.startswith(ADAPTED.get(path, "\0")):
        return None
    return "a public header sees public headers and the standard library only"


def check_kernels(path, name, target):
    """kernels/ sees the layers below, core/shared and include; launchers' declarations from device functions up."""
    if is_plain(path):
        if target is None:
            return "policies and launchers' declarations are plain C++" if name not in STANDARD else None
        if target.startswith("kernels/"):
            return None if kernel_layer(target) == 0 else "policies and launchers' declarations see policies only"
        allowed = target.startswith(("include/", "src/core/shared/"))
        return None if allowed else "policies and launchers' declarations see include and src/core/shared only"
    if target is None:
        return None if CUDA.match(name) or name in STANDARD else "kernels see CUDA and the standard library only"
    if target.startswith("kernels/"):
        mine, theirs = kernel_layer(path), kernel_layer(target)
        if LAUNCHERS.match(target):
            return None if mine >= 2 else f"{KERNEL_LAYERS[mine]} are below the launchers"
        if theirs > mine:
            return f"{KERNEL_LAYERS[mine]} are below {KERNEL_LAYERS[theirs]}"
        own, other = path.split("/")[1], target.split("/")[1]
        if theirs == 3 and other not in (own, "launch"):
            return f"the kernels of {other} are no concern of {own}"
        return None
    if target.startswith(("include/", "src/core/shared/")):
        return None
    return "kernels see kernels, src/core/shared and include only"


def check_src(path, name, target):
    """src/ sees src and include; only src/backend/cuda_* sees CUDA and the launchers."""
    bridge = path.startswith("src/backend/cuda_")
    if target is None:
        if CUDA.match(name) and not bridge:
            return "only src/backend/cuda_* sees CUDA headers"
        if path.startswith("src/core/shared/") and name not in STANDARD:
            return "src/core/shared sees the standard library only"
        return None
    for users, texts in (("src/capi/", (MESSAGES,)), ("src/adapters/", ())):
        if path.startswith(users):
            allowed = ("include/", users, *texts)
            return None if target.startswith(allowed) else f"{users} sees {', '.join(allowed)} only"
    if path.startswith("src/core/shared/"):
        allowed = target.startswith(("include/", "src/core/shared/"))
        return None if allowed else "src/core/shared sees include and itself only"
    if target.startswith("kernels/"):
        if not is_plain(target) and target != CUDA_ERRORS:
            return f"src sees nothing of kernels but policies, launchers' declarations and {CUDA_ERRORS}"
        return None if bridge else f"only src/backend/cuda_* sees {target}"
    return None if target.startswith(("include/", "src/")) else "src sees src and include only"


def check_user(path, name, target):
    """What a user writes: public headers, and the files of the same folder."""
    own = next(folder for folder in USER_FOLDERS if path.startswith(folder))
    if own == "python/" and CUDA.match(name) and path != PYTHON_STREAMS:
        return f"of python/ only {PYTHON_STREAMS} sees CUDA headers"
    return None if target is None or target.startswith(("include/", own)) else "users see include only"


def rule_of(path):
    if path.startswith("include/"):
        return check_public
    if path.startswith("kernels/"):
        return check_kernels
    if path.startswith("src/"):
        return check_src
    return check_user


def violations(root):
    found = []
    for folder in ("include/", "kernels/", "src/", *USER_FOLDERS):
        for file in sorted((root / folder).rglob("*")):
            if not file.name.endswith(SUFFIXES) or not file.is_file():
                continue
            path = file.relative_to(root).as_posix()
            rule = rule_of(path)
            text = file.read_text(encoding="utf-8")
            for match in INCLUDE.finditer(text):
                quote, name = match.groups()
                target = f"include/{name}" if is_public(name) else (resolve(root, file, name) if quote == '"' else None)
                line = text.count("\n", 0, match.start()) + 1
                if quote == '"' and target is None:
                    reason = "there is no such file"
                elif is_public(name) and not (root / target).is_file():
                    reason = "there is no such public header"
                else:
                    reason = rule(path, name, target)
                if reason:
                    found.append(f"{path}:{line}: {match.group(0).strip()}: {reason}")
    return found


# Path, its one include, and whether the rules forbid it.
SAMPLES = (
    ("include/blockjacobi/views.hpp", "<vector>", False),
    ("include/blockjacobi/a.hpp", "<blockjacobi/views.hpp>", False),
    ("include/blockjacobi/b.hpp", "<cuda_runtime.h>", True),
    ("include/blockjacobi/c.hpp", "<Eigen/Core>", True),
    ("include/blockjacobi/d.hpp", '"core/shared/scalar.hpp"', True),
    ("include/blockjacobi/e.hpp", "<blockjacobi/absent.hpp>", True),
    ("include/blockjacobi/adapters/eigen.hpp", "<Eigen/SparseCore>", False),
    ("include/blockjacobi/adapters/a.hpp", "<Eigen/SparseCore>", True),
    ("include/blockjacobi/adapters/dune.hpp", "<dune/istl/bvector.hh>", False),
    ("include/blockjacobi/adapters/eigen.hpp", "<dune/istl/bvector.hh>", True),
    ("include/blockjacobi/adapters/petsc.h", "<petscpc.h>", False),
    ("include/blockjacobi/adapters/b.h", "<petscpc.h>", True),
    ("include/blockjacobi/eigen.hpp", "<Eigen/SparseCore>", True),
    ("src/core/shared/scalar.hpp", "<cmath>", False),
    ("src/core/shared/a.hpp", "<cuda_runtime.h>", True),
    ("src/core/shared/b.hpp", '"core/plain.hpp"', True),
    ("src/core/plain.hpp", '"core/shared/scalar.hpp"', False),
    ("src/core/a.cpp", "<Eigen/Core>", False),
    ("src/core/b.cpp", "<cuda_runtime.h>", True),
    ("src/core/c.cpp", "<cub/cub.cuh>", True),
    ("src/core/d.cpp", '"kernels/launch.hpp"', True),
    ("src/core/e.cpp", '"core/absent.hpp"', True),
    ("src/capi/handles.hpp", "<blockjacobi/views.hpp>", False),
    ("src/capi/a.cpp", '"capi/handles.hpp"', False),
    ("src/capi/b.cpp", '"core/plain.hpp"', True),
    ("src/core/message.hpp", "<fmt/format.h>", False),
    ("src/capi/c.cpp", '"core/message.hpp"', False),
    ("src/adapters/a.cpp", "<petscpc.h>", False),
    ("src/adapters/b.cpp", '"core/plain.hpp"', True),
    ("src/adapters/c.cpp", '"capi/handles.hpp"', True),
    ("src/backend/host_a.cpp", "<cusparse.h>", True),
    ("src/backend/cuda_a.cpp", "<cusparse.h>", False),
    ("src/backend/cuda_b.cpp", '"kernels/launch.hpp"', False),
    ("src/backend/cuda_c.cpp", '"kernels/lu/team.cuh"', True),
    ("src/backend/cuda_d.cpp", '"kernels/launch/check.hpp"', False),
    ("src/backend/cuda_e.cpp", '"kernels/lu/launch.hpp"', False),
    ("src/backend/cuda_f.cpp", '"kernels/device.hpp"', False),
    ("src/backend/host_b.cpp.in", '"kernels/lu/launch.hpp"', True),
    ("kernels/launch.hpp", "<blockjacobi/views.hpp>", False),
    ("kernels/device.hpp", "<cstdint>", False),
    ("kernels/launch/check.hpp", "<cuda_runtime_api.h>", False),
    ("kernels/lu/policy.hpp", '"kernels/device.hpp"', False),
    ("kernels/qr/policy.hpp", "<cuda_runtime_api.h>", True),
    ("kernels/setup/policy.hpp", '"kernels/collectives/lanes.cuh"', True),
    ("kernels/lu/launch.hpp", '"kernels/device.hpp"', False),
    ("kernels/qr/launch.hpp", '"kernels/collectives/lanes.cuh"', True),
    ("kernels/collectives/lanes.cuh", '"kernels/lu/policy.hpp"', False),
    ("kernels/collectives/a.cuh", '"kernels/lu/team.cuh"', True),
    ("kernels/collectives/b.cuh", '"kernels/lu/launch.hpp"', True),
    ("kernels/lu/team.cuh", '"kernels/collectives/lanes.cuh"', False),
    ("kernels/lu/a.cuh", "<Eigen/Core>", True),
    ("kernels/lu/b.cuh", '"kernels/lu/team_kernels.cuh"', True),
    ("kernels/inverse/thread.cuh", '"kernels/lu/team.cuh"', False),
    ("kernels/lu/team_kernels.cuh", '"kernels/lu/team.cuh"', False),
    ("kernels/lu/launch.cuh", '"kernels/lu/team_kernels.cuh"', False),
    ("kernels/lu/launch.cu.in", '"kernels/lu/launch.cuh"', False),
    ("kernels/inverse/launch.cuh", '"kernels/lu/team_kernels.cuh"', True),
    ("kernels/inverse/launch.cu.in", '"core/plain.hpp"', True),
    ("kernels/lu/b.cu", '"kernels/absent/a.cuh"', True),
    ("examples/own.hpp", "<blockjacobi/views.hpp>", False),
    ("examples/a.cpp", '"own.hpp"', False),
    ("examples/b.cpp", '"core/shared/scalar.hpp"', True),
    ("tests/package/a.cpp", '"core/plain.hpp"', True),
    ("tests/support/shapes.hpp", '"core/plain.hpp"', False),
    ("tests/package/b.cpp", '"support/shapes.hpp"', True),
    ("matrices/a.cpp", '"core/plain.hpp"', True),
    ("python/src/arrays.hpp", "<nanobind/ndarray.h>", False),
    ("python/src/a.cpp", '"arrays.hpp"', False),
    ("python/src/b.cpp", '"core/plain.hpp"', True),
    ("python/src/c.cpp", '"kernels/launch.hpp"', True),
    ("python/src/streams_cuda.cpp", "<cuda_runtime_api.h>", False),
    ("python/src/d.cpp", "<cuda_runtime_api.h>", True),
)


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, name, _ in SAMPLES:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(f"#pragma once\n#include {name}\n", encoding="utf-8")
        reported = {line.split(":")[0] for line in violations(root)}
    planted = {path for path, _, forbidden in SAMPLES if forbidden}
    for path in sorted(planted - reported):
        print(f"layering: self-test: the violation in {path} was not found", file=sys.stderr)
    for path in sorted(reported - planted):
        print(f"layering: self-test: {path} was reported without reason", file=sys.stderr)
    if planted != reported:
        return 1
    print(f"layering: self-test: {len(planted)} planted violations found, {len(SAMPLES) - len(planted)} others passed")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-test", action="store_true")
    if parser.parse_args().self_test:
        return self_test()
    found = violations(ROOT)
    print("\n".join(found) if found else "layering: clean")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
