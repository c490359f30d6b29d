#include "backend/host_isa.hpp"

#include "backend/host_kernels.hpp"
#include "core/message.hpp"

#include <blockjacobi/error.hpp>

#include <algorithm>
#include <atomic>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace blockjacobi::detail {

namespace {

#if defined(__x86_64__)

struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

/// Zeros for a leaf that the processor does not know.
Registers cpuid(unsigned leaf) {
  Registers r;
  __get_cpuid_count(leaf, 0, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

constexpr bool has_all(unsigned bits, unsigned wanted) { return (bits & wanted) == wanted; }

/// Whether the operating system keeps these registers (bits of XCR0) when it switches between programs.
bool keeps_registers(unsigned wanted) {
  if (!has_all(cpuid(1).ecx, bit_OSXSAVE)) return false;
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return has_all(low, wanted);
}

bool has_v2() {
  return has_all(cpuid(1).ecx, bit_SSE3 | bit_SSSE3 | bit_CMPXCHG16B | bit_SSE4_1 | bit_SSE4_2 | bit_POPCNT) &&
         has_all(cpuid(0x80000001).ecx, bit_LAHF_LM);
}

bool has_v3() {
  constexpr unsigned vectors_of_256_bits = 0x6, lzcnt = 1U << 5;  // the compilers differ in the name of the latter
  return has_v2() && keeps_registers(vectors_of_256_bits) &&
         has_all(cpuid(1).ecx, bit_AVX | bit_F16C | bit_FMA | bit_MOVBE) &&
         has_all(cpuid(7).ebx, bit_AVX2 | bit_BMI | bit_BMI2) && has_all(cpuid(0x80000001).ecx, lzcnt);
}

bool has_v4() {
  constexpr unsigned vectors_of_512_bits = 0xe6;
  return has_v3() && keeps_registers(vectors_of_512_bits) &&
         has_all(cpuid(7).ebx, bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL);
}

#else

bool has_v2() { return false; }
bool has_v3() { return false; }
bool has_v4() { return false; }

#endif

std::atomic<Isa>& chosen() {
  static std::atomic<Isa> isa = host_isas().back();
  return isa;
}

}  // namespace

const char* to_string(Isa isa) noexcept {
  switch (isa) {
    case Isa::baseline: return "baseline";
    case Isa::v2: return "v2";
    case Isa::v3: return "v3";
    case Isa::v4: return "v4";
  }
  return "?";
}

bool machine_runs(Isa isa) noexcept {
  switch (isa) {
    case Isa::baseline: return true;
    case Isa::v2: return has_v2();
    case Isa::v3: return has_v3();
    case Isa::v4: return has_v4();
  }
  return false;
}

const std::vector<Isa>& host_isas() {
  static const std::vector<Isa> isas = [] {
    std::vector<Isa> found = compiled_isas();
    std::erase_if(found, [](Isa isa) { return !machine_runs(isa); });
    if (found.empty())
      throw BackendUnavailable(
          message("Backend::host: this library was compiled for machines with x86-64-{} alone "
                  "(BLOCKJACOBI_HOST_ISAS=local), this one does not have it",
                  to_string(compiled_isas().front())));
    return found;
  }();
  return isas;
}

Isa host_isa() { return chosen(); }

void use_host_isa(Isa isa) {
  if (std::ranges::find(host_isas(), isa) == host_isas().end())
    throw InvalidArgument(message("use_host_isa: this library and machine do not have {}", to_string(isa)));
  chosen() = isa;
}

}  // namespace blockjacobi::detail
