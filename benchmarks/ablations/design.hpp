#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// Orders of the tiny designs: the size is a template parameter of each.
using AblationOrders = std::integer_sequence<int, 4, 8, 12, 16, 17, 20, 24, 28, 32>;

/// The most matrices that the designs give to a thread block.
inline constexpr int most_matrices_per_cta = 16;

/// Matrices of order n back to back, on the device, and what belongs to them.
template <class T>
struct AblationBatch {
  int n;
  std::size_t count;
  T* a;  ///< LU in place; inverses may overwrite it with the factors
  T* x;  ///< inverses
  int* ipiv;
  int* info;
  const T* tau = nullptr;  ///< of reflectors in a
};

/// One way to do an operation, and what the record says of it.
template <class T>
struct Trial {
  std::string operation, name;
  std::function<void(const AblationBatch<T>&)> run;
  int matrices_per_cta = 0;  ///< where that is what is studied
  int panel_width = 0;       ///< the same
};

/// One way to do an operation with any number of matrices a thread block, after A. Abdelfattah, A. Haidar, S. Tomov, J.
/// Dongarra, "Factorization and inversion of a million matrices using GPUs: challenges and countermeasures" (2017).
/// Elements are finite.
template <class T>
struct Design {
  std::string name;
  int most_matrices;  ///< a thread block can take
  bool swept;         ///< over all numbers of matrices, as in the paper
  std::function<void(const AblationBatch<T>&, int matrices_per_cta)> run;
};

/// Empty for an order that is none of AblationOrders.
template <class T>
std::vector<Design<T>> lu_designs(int n);
template <class T>
std::vector<Design<T>> inverse_designs(int n);

/// The designs above order 32: "lu", those that fit an order, which is a multiple of 64 up to 512, and "getri", the
/// inversion after it; "larft", the triangles of the reflectors of a QR factorization.
template <class T>
std::vector<Trial<T>> blocked_lu_trials(int n);
template <class T>
std::vector<Trial<T>> blocked_inverse_trials();
template <class T>
std::vector<Trial<T>> larft_trials();

}  // namespace bench
