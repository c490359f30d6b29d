// How accurate inverses are: every way to invert and every storage of the host backend, next to LAPACK's.
//
// Blocks U S V^H (definite ones U S U^H) with singular values spaced logarithmically from 1 to 1 / condition. What is
// printed, for each order and condition, is the worst of the blocks:
//   inverse  min(||I - A X||, ||I - X A||) / (N eps ||A|| ||X||), at most 10 by contract
//   storage  ||I - A X||, what a preconditioner is off by
// in the infinity norm, computed in extended precision. Tables of Markdown on the standard output.

#include "batched/accuracy.hpp"
#include "ablations/lapack.hpp"

#include "matrices/generators.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using blockjacobi::index_t;
using blockjacobi::Storage;

template <class T>
using Matrices = std::vector<std::vector<T>>;  // column-major

template <class T>
struct Case {
  index_t n = 0;
  blockjacobi::CsrMatrix<T> system;  // the blocks on its diagonal, uncoupled
  Matrices<T> blocks;
};

template <class T>
Case<T> make_case(blockjacobi::matrices::BlockFamily family, index_t n, double condition) {
  blockjacobi::matrices::BlockFamilyOptions options;
  options.family = family;
  options.sizes = {n};
  options.blocks = n > 100 ? 3 : 20;
  options.condition = condition;
  options.coupling = 0.0;
  Case<T> result{n, blockjacobi::matrices::block_family<T>(options), {}};
  const auto& a = result.system;
  for (index_t first = 0; first < a.rows(); first += n) {
    std::vector<T> block(static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
    for (index_t row = first; row < first + n; ++row)
      for (auto k = a.row_offsets()[static_cast<std::size_t>(row)];
           k < a.row_offsets()[static_cast<std::size_t>(row) + 1]; ++k)
        block[static_cast<std::size_t>(row - first + (a.columns()[static_cast<std::size_t>(k)] - first) * n)] =
            a.values()[static_cast<std::size_t>(k)];
    result.blocks.push_back(std::move(block));
  }
  return result;
}

/// LAPACK's way, by the letter of the scalar.
template <class T>
class LapackInverse {
 public:
  explicit LapackInverse(const bench::LapackLibrary& library)
      : getrf_(find<Getrf>(library, "getrf_")),
        getri_(find<Getri>(library, "getri_")),
        potrf_(find<Potrf>(library, "potrf_")),
        potri_(find<Potrf>(library, "potri_")) {}

  std::vector<T> general(int n, std::vector<T> a) const {
    std::vector<int> ipiv(static_cast<std::size_t>(n));
    std::vector<T> work(static_cast<std::size_t>(64 * n));
    const int length = 64 * n;
    int info = 0;
    getrf_(&n, &n, a.data(), &n, ipiv.data(), &info);
    if (info == 0) getri_(&n, a.data(), &n, ipiv.data(), work.data(), &length, &info);
    return a;
  }

  std::vector<T> definite(int n, std::vector<T> a) const {
    int info = 0;
    potrf_("L", &n, a.data(), &n, &info, 1);
    if (info == 0) potri_("L", &n, a.data(), &n, &info, 1);
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < j; ++i) a[static_cast<std::size_t>(i + j * n)] = a[static_cast<std::size_t>(j + i * n)];
    // A block that is not definite to working precision has no inverse here.
    if (info != 0) a.assign(a.size(), std::numeric_limits<T>::quiet_NaN());
    return a;
  }

 private:
  using Getrf = void(const int*, const int*, T*, const int*, int*, int*);
  using Getri = void(const int*, T*, const int*, const int*, T*, const int*, int*);
  using Potrf = void(const char*, const int*, T*, const int*, int*, std::size_t);

  template <class F>
  static F* find(const bench::LapackLibrary& library, const char* name) {
    const std::string full = (sizeof(T) == 4 ? 's' : 'd') + std::string(name);
    F* const found = library.function<F>(full);
    if (found == nullptr) throw std::runtime_error(library.description() + " has no " + full);
    return found;
  }

  Getrf* getrf_;
  Getri* getri_;
  Potrf* potrf_;
  Potrf* potri_;
};

template <class T>
blockjacobi::MatrixBatchView<T> view(std::vector<T>& a, index_t n) {
  return blockjacobi::MatrixBatchView<T>::strided(a.data(), n, n, n, blockjacobi::offset_t{n} * n, 1,
                                                  blockjacobi::MemorySpace::host);
}

/// One way to invert a matrix.
template <class T>
struct Way {
  std::string name;
  bool definite;
  std::function<std::vector<T>(index_t, std::vector<T>)> invert;
};

template <class T>
std::vector<Way<T>> ways(const std::optional<bench::LapackLibrary>& lapack) {
  namespace batched = blockjacobi::batched;
  const auto host = blockjacobi::Backend::host();
  std::vector<Way<T>> result;
  if (lapack) {
    const LapackInverse<T> reference(*lapack);
    result.push_back(
        {"LAPACK getrf, getri", false, [=](index_t n, auto a) { return reference.general(n, std::move(a)); }});
  }
  result.push_back({"batched getrf, getri", false, [=](index_t n, std::vector<T> a) {
                      std::vector<index_t> ipiv(static_cast<std::size_t>(n));
                      int info = 0;
                      batched::getrf(host, view(a, n), ipiv.data(), &info);
                      batched::getri<T>(host, view(a, n), ipiv.data(), view(a, n), &info);
                      return a;
                    }});
  result.push_back({"batched inverse", false, [=](index_t n, std::vector<T> a) {
                      int info = 0;
                      batched::inverse<T>(host, view(a, n), view(a, n), &info);
                      return a;
                    }});
  result.push_back({"batched pseudo_inverse", false, [=](index_t n, std::vector<T> a) {
                      index_t rank = 0;
                      batched::pseudo_inverse<T>(host, view(a, n), view(a, n), 0.0, &rank);
                      return a;
                    }});
  if (lapack) {
    const LapackInverse<T> reference(*lapack);
    result.push_back(
        {"LAPACK potrf, potri", true, [=](index_t n, auto a) { return reference.definite(n, std::move(a)); }});
  }
  result.push_back({"batched spd_inverse", true, [=](index_t n, std::vector<T> a) {
                      int info = 0;
                      batched::spd_inverse<T>(host, batched::Triangle::lower, view(a, n), view(a, n),
                                              batched::SpdStorage::full, &info);
                      return a;
                    }});
  return result;
}

/// The inverses of a BlockJacobi as it applies them; none if a block is singular by its verdict.
template <class T>
Matrices<T> stored(const Case<T>& given, Storage storage) {
  blockjacobi::BlockJacobiOptions options;
  options.storage = storage;
  options.singular = blockjacobi::SingularPolicy::identity;
  const blockjacobi::BlockJacobi<T> M(blockjacobi::Backend::host(), given.system,
                                      blockjacobi::BlockPartition::uniform(given.system.rows(), given.n), options);
  Matrices<T> inverses;
  if (M.defects() > 0) return inverses;
  for (index_t block = 0; block < M.partition().blocks(); ++block) inverses.push_back(M.inverse_block(block));
  return inverses;
}

template <class T>
double scaled_error(index_t n, const std::vector<T>& a, const std::vector<T>& x) {
  return bench::inverse_error(bench::WideMatrix<T>(a.data(), n), bench::WideMatrix<T>(x.data(), n));
}

/// ||I - A X||, of the better side.
template <class T>
double residual(index_t n, const std::vector<T>& a, const std::vector<T>& x) {
  const bench::WideMatrix<T> wide_a(a.data(), n), wide_x(x.data(), n);
  const double unit = n * static_cast<double>(std::numeric_limits<T>::epsilon());
  return bench::inverse_error(wide_a, wide_x) * unit * static_cast<double>(wide_a.infinity_norm()) *
         static_cast<double>(wide_x.infinity_norm());
}

template <class T>
void print_head(const char* title, const std::vector<index_t>& orders) {
  std::printf("\n## %s, %s\n\n| condition | way |", title, sizeof(T) == 4 ? "float" : "double");
  for (const index_t n : orders) std::printf(" %d |", n);
  std::printf("\n| --: | --- |");
  for (std::size_t k = 0; k < orders.size(); ++k) std::printf(" --: |");
  std::printf("\n");
}

void print_cell(double error) {
  if (std::isfinite(error))
    std::printf(" %.2g |", error);
  else
    std::printf(" - |");
}

template <class T>
void print_inverses(const std::vector<index_t>& orders, const std::vector<double>& conditions,
                    const std::optional<bench::LapackLibrary>& lapack) {
  using blockjacobi::matrices::BlockFamily;
  print_head<T>("Inverses", orders);
  for (const double condition : conditions)
    for (const Way<T>& way : ways<T>(lapack)) {
      std::printf("| %.0e | %s |", condition, way.name.c_str());
      for (const index_t n : orders) {
        const auto given = make_case<T>(way.definite ? BlockFamily::spd : BlockFamily::random, n, condition);
        double worst = 0.0;
        for (const auto& block : given.blocks)
          worst = bench::worse_error(worst, scaled_error(n, block, way.invert(n, block)));
        print_cell(worst);
      }
      std::printf("\n");
    }
}

template <class T>
void print_storages(const std::vector<index_t>& orders, const std::vector<double>& conditions) {
  print_head<T>("Stored inverses", orders);
  for (const double condition : conditions)
    for (const Storage storage :
         {Storage::full, Storage::packed, Storage::fp32, Storage::fp16, Storage::bf16, Storage::adaptive}) {
      std::printf("| %.0e | %s |", condition, to_string(storage));
      for (const index_t n : orders) {
        const auto given = make_case<T>(blockjacobi::matrices::BlockFamily::spd, n, condition);
        const auto inverses = stored(given, storage);
        if (inverses.empty()) {
          std::printf(" singular |");
          continue;
        }
        double worst = 0.0;
        for (std::size_t k = 0; k < given.blocks.size(); ++k)
          worst = bench::worse_error(worst, residual(n, given.blocks[k], inverses[k]));
        print_cell(worst);
      }
      std::printf("\n");
    }
}

}  // namespace

int main() {
  const auto lapack = bench::LapackLibrary::open({"libopenblas.so.0", "liblapack.so.3"});
  std::printf(
      "# Accuracy of inverses on the host\n\nWritten by `benchmarks/accuracy`, blockjacobi %s, host backend; LAPACK: "
      "%s.\n",
      blockjacobi::version, lapack ? lapack->description().c_str() : "none found");
  print_inverses<double>({4, 8, 16, 32, 64, 128, 256}, {1e1, 1e4, 1e8, 1e12}, lapack);
  print_inverses<float>({4, 8, 16, 32, 64, 128, 256}, {1e1, 1e2, 1e4}, lapack);
  print_storages<double>({4, 8, 16, 32, 64, 128}, {1e1, 1e2, 1e4, 1e8, 1e12});
  return 0;
}
