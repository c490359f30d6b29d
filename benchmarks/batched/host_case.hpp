#pragma once

#include "batched/accuracy.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <stdexcept>
#include <string>

namespace bench {

/// An operation of the host backend on `count` matrices. Those for Cholesky have a dominant diagonal.
template <class T>
class HostCase {
 public:
  HostCase(const blockjacobi::Backend& backend, std::string operation, int n, std::size_t count_)
      : count(count_),
        backend_(backend),
        operation_(std::move(operation)),
        n_(n),
        original_(count * size()),
        x_(operation_ == "inverse" ? original_.size() : 0),
        tau_(count * static_cast<std::size_t>(n)),
        ipiv_(tau_.size()),
        info_(count) {
    const std::vector<T> pattern =
        operation_ == "cholesky" ? random_positive_definite<T>(n) : random_values<T>(1 << 21);
    for (std::size_t e = 0; e < original_.size(); ++e) original_[e] = pattern[e % pattern.size()];
    a_ = original_;
  }

  bool in_place() const { return operation_ != "inverse"; }
  void restore() { a_ = original_; }
  void run() {
    namespace batched = blockjacobi::batched;
    if (operation_ == "lu")
      batched::getrf<T>(backend_, view(a_), ipiv_.data(), info_.data());
    else if (operation_ == "inverse")
      batched::inverse<T>(backend_, view(a_), view(x_), info_.data());
    else if (operation_ == "cholesky")
      batched::potrf<T>(backend_, batched::Triangle::lower, view(a_), info_.data());
    else if (operation_ == "qr")
      batched::geqrf<T>(backend_, view(a_), tau_.data());
    else
      throw std::runtime_error("there is no operation '" + operation_ + "'");
  }

  /// What run() leaves of matrix k, for somebody else to do the same.
  T* matrix(std::size_t k) { return a_.data() + k * size(); }
  T* tau(std::size_t k) { return tau_.data() + k * static_cast<std::size_t>(n_); }
  blockjacobi::index_t* ipiv(std::size_t k) { return ipiv_.data() + k * static_cast<std::size_t>(n_); }
  int* info(std::size_t k) { return info_.data() + k; }

  /// Scaled error of a factorization of matrix k; infinite if it failed.
  double error(std::size_t k) {
    if (*info(k) != 0) return INFINITY;
    const WideMatrix<T> a(original_.data() + k * size(), n_), factors(matrix(k), n_);
    if (operation_ == "lu") return lu_error(a, factors, std::vector<int>(ipiv(k), ipiv(k) + n_));
    if (operation_ == "cholesky") return cholesky_error(a, factors);
    return qr_error(a, factors, std::vector<T>(tau(k), tau(k) + n_));
  }

  const std::size_t count;

 private:
  std::size_t size() const { return static_cast<std::size_t>(n_) * static_cast<std::size_t>(n_); }
  blockjacobi::MatrixBatchView<T> view(std::vector<T>& values) const {
    return blockjacobi::MatrixBatchView<T>::strided(
        values.data(), n_, n_, n_, static_cast<blockjacobi::offset_t>(size()),
        static_cast<blockjacobi::offset_t>(count), blockjacobi::MemorySpace::host);
  }

  blockjacobi::Backend backend_;
  std::string operation_;
  int n_;
  std::vector<T> original_, a_, x_, tau_;
  std::vector<blockjacobi::index_t> ipiv_;
  std::vector<int> info_;
};

}  // namespace bench
