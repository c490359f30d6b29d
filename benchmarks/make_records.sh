#!/usr/bin/env bash
# Makes the records of benchmarks/results/<gpu> again on this machine's GPU, with the options that they were made with.
#
#   benchmarks/make_records.sh PROGRAMS OUT RECORD...
#
# PROGRAMS  folder of the built programs (build/cuda/benchmarks)
# OUT       folder that the records are written to
# RECORD    batched, setup, blocked, preconditioner, solve, suggest, ablation_tiny, ablation_blocked,
#           ablation_concurrency, energy
#   BLOCKJACOBI_MATRICES  folder of NAME.mtx.gz and MANIFEST.tsv, for solve and suggest
#   SOURCES_SHA256        hash of the sources, where this is no git repository (.ci/sources_sha256.py)
# Ends with 1 if a program failed; the others run all the same.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [[ $# -lt 3 || ! -d "$1" ]]; then
  sed -n '2,13s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
programs=$1 out=$2
shift 2
mkdir -p "$out"
sources=${SOURCES_SHA256:-$(python3 -B "$root/.ci/sources_sha256.py")} || exit 2

# record PROGRAM NAME OPTION...
record() {
  "$programs/$1" "$out/$2.json" --sources-sha256 "$sources" "${@:3}"
}

# join NAME OTHER: the records of OTHER after those of NAME.
join() {
  python3 - "$out/$1.json" "$out/$2.json" <<'PYTHON'
import json, pathlib, sys
first, second = (pathlib.Path(name) for name in sys.argv[1:])
record = json.loads(first.read_text())
record["records"] += json.loads(second.read_text())["records"]
first.write_text(json.dumps(record, indent=1) + "\n")
second.unlink()
PYTHON
}

tiny="--orders 1-32 --complex-orders 4,8,16,24,32"
large="--orders 33,40,48,64,77,96,128,160,190,256,333,512 --complex-orders 64,128,190"

matrices() {
  local name
  for name in "$@"; do echo "$BLOCKJACOBI_MATRICES/$name.mtx.gz"; done
}

batched() {
  record batched batched --operations lu,inverse,cholesky,qr,spd_inverse $tiny --peer-orders 1-4,8,12,16,20,24,28,32
}
setup() { record batched setup --operations extract_invert $tiny; }
blocked() {
  record batched blocked --operations lu,inverse,cholesky,qr,spd_inverse $large &&
    record batched single --operations lu,inverse --orders 512 --batch 1 && join blocked single &&
    record batched solves --operations getrs,potrs --orders 64,128,256,512 --complex-orders 64,128 &&
    join blocked solves
}
preconditioner() { record preconditioner preconditioner; }
solve() {
  record solve solve \
    --cg $(matrices ccx_segmenttet bcsstk16 nasa4704 bcsstk14 bcsstk13 xpetra_regions_A heart_bidomain) \
    --gmres $(matrices opm_spe9 orsirr_1 sherman5 teko_nsjac) \
    --products $(matrices ReSolve_ScaleMicrogrid_N1000 adder_dcop_32 bayer10 cage10 cavity10 epb0 fidap007 gemat11 \
      hypre_tucker21935 hypre_ams_mfemA magma_ani5_crop muelu_maxwell_M1 wathenSmall ccx_segmenttet bcsstk16 nasa4704 \
      xpetra_regions_A heart_bidomain opm_spe9 sherman3 teko_nsjac)
}
suggest() { "$programs/suggest" "$out/suggest.jsonl" --matrices "$BLOCKJACOBI_MATRICES"; }
ablation_tiny() { record ablation_getrf ablation_tiny; }
ablation_blocked() { record ablation_blocked ablation_blocked --scalars sd --repetitions 3; }
ablation_concurrency() {
  # OpenBLAS takes its oldest kernels on processors newer than itself.
  if grep -q avx512dq /proc/cpuinfo; then export OPENBLAS_CORETYPE=${OPENBLAS_CORETYPE:-SkylakeX}; fi
  record ablation_concurrency ablation_concurrency
}
energy() { record energy energy; }

for name in "$@"; do
  case $name in
    batched | setup | blocked | preconditioner | ablation_tiny | ablation_blocked | ablation_concurrency | energy) ;;
    solve | suggest)
      [[ -d "${BLOCKJACOBI_MATRICES:-}" ]] ||
        { echo "make_records.sh: BLOCKJACOBI_MATRICES names no folder, which $name needs" >&2 && exit 2; }
      ;;
    *) echo "make_records.sh: no record is called $name" >&2 && exit 2 ;;
  esac
done

status=0
for name in "$@"; do
  begin=$SECONDS
  if "$name" >"$out/$name.log" 2>&1; then result=done; else result=FAILED status=1; fi
  echo "$name: $result, $((SECONDS - begin)) s"
done
exit $status
