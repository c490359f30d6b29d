#pragma once

#include "kernels/device.hpp"
#include "kernels/scalar.hpp"

#include <array>

// The QR factorization by Householder reflectors. Chosen by time per matrix on an H200.

namespace blockjacobi::kernels {

enum class QrDesign {
  thread,     ///< a matrix a thread, staged through shared memory
  team_mesh,  ///< a matrix a team, a mesh of lanes, in its registers
  cta,        ///< a matrix a thread block, by panels of columns in registers, on the tensor cores
  cta_plain,  ///< a matrix a thread block in global memory, where shared memory has no room for the reflectors
};

constexpr const char* name(QrDesign design) {
  constexpr const char* names[] = {"thread", "team_mesh", "cta", "cta_plain"};
  return names[static_cast<int>(design)];
}

struct QrPolicy {
  QrDesign design;
  int rows = 0;     ///< of lanes in a mesh; in tiles of order 8, of what a warp has of a panel
  int columns = 0;  ///< of lanes in a mesh; in tiles of order 8, of a panel
  int phase = 0;    ///< steps between two reductions of the number of registers in use
  int warps = 0;    ///< of a thread block; of QrDesign::cta at most, which bounds the registers
  int stages = 0;   ///< how many times 16 reflectors ahead come to shared memory; 0: from the matrix to registers

  bool operator==(const QrPolicy&) const = default;
  constexpr std::array<PolicyNumber, 5> numbers() const {
    return {{{"rows", rows}, {"columns", columns}, {"phase", phase}, {"warps", warps}, {"stages", stages}}};
  }
};

/// The teams for matrices that are not contiguous, or of different orders up to n. Two rows of lanes halve what a
/// broadcast brings to each lane for one exchange more an inner product. Fewer lanes do less redundant work in each
/// reflector, as long as the matrix fits their registers.
constexpr QrPolicy qr_class_policy(Device, ScalarType scalar, int n) {
  const auto mesh = [](int rows, int columns, int phase) {
    return QrPolicy{QrDesign::team_mesh, rows, columns, phase, 2};
  };
  const bool single = scalar == ScalarType::s || scalar == ScalarType::c;
  if (is_complex(scalar)) {
    if (n <= (single ? 12 : 8)) return mesh(2, 2, 2);
    if (n <= (single ? 24 : 16)) return mesh(2, 4, 2);
    if (n <= 24) return mesh(2, 8, 2);
    return single ? mesh(4, 4, 4) : mesh(4, 8, 4);
  }
  if (n <= (single ? 20 : 12)) return mesh(1, 4, 2);
  if (n <= 16) return mesh(2, 4, 2);
  if (n <= 24 || (single && n % 4 == 0) || n == 28) return mesh(2, 4, 4);
  return mesh(2, 8, single ? 4 : 2);
}

/// Orders at which a thread of its own has each matrix.
constexpr bool qr_by_thread(ScalarType scalar, int n) {
  switch (scalar) {
    case ScalarType::s: return n <= 11;
    case ScalarType::c: return n <= 7;
    case ScalarType::z: return n <= 5;
    case ScalarType::d: break;
  }
  return n <= 9;
}

/// Threads of a thread block where each has a matrix. Thread blocks of few matrices of one element would end too soon.
constexpr int qr_threads(int n) { return n == 1 ? 256 : 64; }

/// Matrices of m rows. Few rows behind the last one count, and many thread blocks a multiprocessor; wide panels read
/// the reflectors less often.
constexpr QrPolicy qr_cta_policy(ScalarType scalar, int m) {
  const auto cta = [](int columns, int rows, int warps, int stages) {
    return QrPolicy{QrDesign::cta, rows, columns, 0, warps, stages};
  };
  switch (scalar) {
    case ScalarType::c: return m <= 48 || m > 384 ? cta(2, 6, 12, 1) : cta(2, 4, 12, 1);
    case ScalarType::z:
      if (m <= 128 || (m > 192 && m <= 256)) return cta(2, 4, 8, 1);
      return m <= 384 ? cta(2, 4, 12, 0) : cta(2, 4, 16, 0);
    case ScalarType::s:
      if (m <= 64) return m <= 40 ? cta(2, 5, 16, 1) : m <= 48 ? cta(2, 6, 16, 1) : cta(2, 4, 16, 2);
      if (m <= 128) return m <= 96 ? cta(2, 6, 16, 1) : cta(2, 4, 16, 2);
      if (m <= 192) return m <= 160 ? cta(2, 5, 16, 2) : cta(2, 6, 16, 1);
      return m > 256 && m <= 384 ? cta(2, 6, 16, 2) : cta(4, 8, 8, 2);
    case ScalarType::d: break;
  }
  if (m <= 64) return m <= 40 ? cta(2, 5, 12, 1) : m <= 48 ? cta(2, 6, 12, 1) : cta(2, 8, 8, 1);
  if (m <= 96 || (m > 160 && m <= 192) || (m > 256 && m <= 288)) return cta(2, 6, 12, 1);
  return m <= 256 ? cta(2, 4, 16, 1) : m <= 384 ? cta(2, 8, 12, 0) : cta(4, 8, 8, 2);
}

/// Most rows with which shared memory has room for the reflectors.
constexpr int most_cta_qr_rows(const Device& device, ScalarType scalar) {
  switch (scalar) {
    case ScalarType::s: return largest_with_room(device, 512, 320);
    case ScalarType::c: return largest_with_room(device, 320, 192);
    case ScalarType::z: return largest_with_room(device, 448, 192);
    case ScalarType::d: break;
  }
  return largest_with_room(device, 384, 384);
}
/// Threads of QrDesign::cta_plain; not measured.
inline constexpr int plain_qr_threads = 256;

/// Contiguous matrices of order n. Rectangles up to 32 rows and columns are for groups of lanes in shared memory,
/// larger ones of n rows for QrDesign::cta*.
constexpr QrPolicy qr_policy(Device device, ScalarType scalar, int n) {
  if (n > most_cta_qr_rows(device, scalar)) return {QrDesign::cta_plain, 0, 0, 0, plain_qr_threads / 32};
  if (n > largest_tiny_order) return qr_cta_policy(scalar, n);
  if (qr_by_thread(scalar, n)) return {QrDesign::thread, 0, 0, 0, qr_threads(n) / 32};
  return qr_class_policy(device, scalar, n);
}

}  // namespace blockjacobi::kernels
