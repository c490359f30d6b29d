#pragma once

#include "batched/accuracy.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <stdexcept>
#include <string>

namespace bench {

/// An operation of the host backend, on matrices of 64 MB in all. Those for Cholesky have a dominant diagonal.
class HostCase {
 public:
  HostCase(const blockjacobi::Backend& backend, std::string operation, int n)
      : count(std::max<std::size_t>(1, (std::size_t{1} << 23) / elements(n))),
        backend_(backend),
        operation_(std::move(operation)),
        n_(n),
        original_(random_values<double>(count * elements(n))),
        x_(original_.size()),
        tau_(count * static_cast<std::size_t>(n)),
        ipiv_(tau_.size()),
        info_(count) {
    if (operation_ == "cholesky")
      for (std::size_t e = 0; e < original_.size(); ++e)
        if (e % elements(n) % static_cast<std::size_t>(n + 1) == 0) original_[e] = 2 * n;
    a_ = original_;
  }

  bool in_place() const { return operation_ != "inverse"; }
  void restore() { a_ = original_; }
  void run() {
    namespace batched = blockjacobi::batched;
    if (operation_ == "lu")
      batched::getrf<double>(backend_, view(a_), ipiv_.data(), info_.data());
    else if (operation_ == "inverse")
      batched::inverse<double>(backend_, view(a_), view(x_), info_.data());
    else if (operation_ == "cholesky")
      batched::potrf<double>(backend_, batched::Triangle::lower, view(a_), info_.data());
    else if (operation_ == "qr")
      batched::geqrf<double>(backend_, view(a_), tau_.data());
    else
      throw std::runtime_error("there is no operation '" + operation_ + "'");
  }

  const std::size_t count;

 private:
  static std::size_t elements(int n) { return static_cast<std::size_t>(n) * static_cast<std::size_t>(n); }
  blockjacobi::MatrixBatchView<double> view(std::vector<double>& values) const {
    return blockjacobi::MatrixBatchView<double>::strided(
        values.data(), n_, n_, n_, static_cast<blockjacobi::offset_t>(elements(n_)),
        static_cast<blockjacobi::offset_t>(count), blockjacobi::MemorySpace::host);
  }

  blockjacobi::Backend backend_;
  std::string operation_;
  int n_;
  std::vector<double> original_, a_, x_, tau_;
  std::vector<blockjacobi::index_t> ipiv_;
  std::vector<int> info_;
};

}  // namespace bench
