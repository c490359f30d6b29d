/// How accurate inverses are: every way to invert and every storage of a backend, next to LAPACK's.
///
///   accuracy [--backend host|cuda] [--lapack liblapack.so.3] [--scalars sdcz]
///
/// Blocks U S V^H (definite ones U S U^H) with singular values spaced logarithmically from 1 to 1 / condition. What is
/// printed, for each order and condition, is the worst of the blocks:
///   inverse  min(||I - A X||, ||I - X A||) / (N eps ||A|| ||X||), at most 10 by contract
///   storage  ||I - A X||, what a preconditioner is off by
/// in the infinity norm, computed in extended precision. Tables of Markdown on the standard output.
#include "batched/accuracy.hpp"
#include "ablations/lapack.hpp"

#include "matrices/generators.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <CLI/CLI.hpp>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using blockjacobi::Array;
using blockjacobi::Backend;
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

/// "d", "double" and so on.
template <class T>
constexpr std::pair<char, const char*> scalar_name() {
  constexpr bool is_single = sizeof(blockjacobi::real_t<T>) == 4;
  if constexpr (blockjacobi::is_complex<T>)
    return is_single ? std::pair{'c', "complex float"} : std::pair{'z', "complex double"};
  else
    return is_single ? std::pair{'s', "float"} : std::pair{'d', "double"};
}

/// Of an inverse by potrf and potri, whose lower triangle they leave, the upper one. A block that is not definite to
/// working precision has no inverse here.
template <class T>
void complete(int n, int info, std::vector<T>& a) {
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < j; ++i) {
      const T below = a[static_cast<std::size_t>(j + i * n)];
      if constexpr (blockjacobi::is_complex<T>)
        a[static_cast<std::size_t>(i + j * n)] = std::conj(below);
      else
        a[static_cast<std::size_t>(i + j * n)] = below;
    }
  if (info != 0) a.assign(a.size(), std::numeric_limits<blockjacobi::real_t<T>>::quiet_NaN());
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
    complete<T>(n, info, a);
    return a;
  }

 private:
  using Getrf = void(const int*, const int*, T*, const int*, int*, int*);
  using Getri = void(const int*, T*, const int*, const int*, T*, const int*, int*);
  using Potrf = void(const char*, const int*, T*, const int*, int*, std::size_t);

  template <class F>
  static F* find(const bench::LapackLibrary& library, const char* name) {
    const std::string full = scalar_name<T>().first + std::string(name);
    F* const found = library.function<F>(full);
    if (found == nullptr) throw std::runtime_error(library.description() + " has no " + full);
    return found;
  }

  Getrf* getrf_;
  Getri* getri_;
  Potrf* potrf_;
  Potrf* potri_;
};

/// Matrices back to back in the memory of a backend.
template <class T>
class Batch {
 public:
  Batch(const Backend& backend, index_t n, const Matrices<T>& matrices)
      : n_(n), count_(static_cast<index_t>(matrices.size())), values_(backend, together(matrices)) {}

  blockjacobi::MatrixBatchView<T> view() {
    return blockjacobi::MatrixBatchView<T>::strided(values_.data(), n_, n_, n_, blockjacobi::offset_t{n_} * n_, count_,
                                                    values_.backend().memory_space());
  }

  Matrices<T> to_host() const {
    const std::vector<T> all = values_.to_host();
    const auto size = static_cast<std::ptrdiff_t>(n_) * n_;
    Matrices<T> result;
    for (auto first = all.begin(); first != all.end(); first += size) result.emplace_back(first, first + size);
    return result;
  }

 private:
  static std::vector<T> together(const Matrices<T>& matrices) {
    std::vector<T> all;
    for (const auto& matrix : matrices) all.insert(all.end(), matrix.begin(), matrix.end());
    return all;
  }

  index_t n_, count_;
  Array<T> values_;
};

/// The inverses of a BlockJacobi as it applies them; none if a block is singular by its verdict.
template <class T>
Matrices<T> stored(const Backend& backend, const Case<T>& given, Storage storage) {
  blockjacobi::BlockJacobiOptions options;
  options.storage = storage;
  options.singular = blockjacobi::SingularPolicy::identity;
  const blockjacobi::BlockJacobi<T> M(backend, given.system,
                                      blockjacobi::BlockPartition::uniform(given.system.rows(), given.n), options);
  Matrices<T> inverses;
  if (M.defects() > 0) return inverses;
  for (index_t block = 0; block < M.partition().blocks(); ++block) inverses.push_back(M.inverse_block(block));
  return inverses;
}

/// One way to invert the blocks of a case; no inverses where it refuses them.
template <class T>
struct Way {
  std::string name;
  bool definite;
  std::function<Matrices<T>(const Case<T>&)> invert;
};

/// By one function of LAPACK's for a matrix after the other.
template <class T, class F>
Way<T> lapack_way(const char* name, bool definite, F invert) {
  return {name, definite, [=](const Case<T>& given) {
            Matrices<T> result;
            for (const auto& block : given.blocks) result.push_back(invert(given.n, block));
            return result;
          }};
}

/// By invert(backend, batch, integers), in place; `integers` has room for the pivots of all matrices.
template <class T, class F>
Way<T> batched_way(const Backend& backend, const char* name, bool definite, F invert) {
  return {name, definite, [=](const Case<T>& given) {
            Batch<T> batch(backend, given.n, given.blocks);
            Array<index_t> pivots(backend, given.blocks.size() * static_cast<std::size_t>(given.n));
            Array<int> info(backend, given.blocks.size());
            invert(backend, batch.view(), pivots.data(), info.data());
            return batch.to_host();
          }};
}

template <class T>
Matrices<T> by_potrf_and_potri(const Backend& backend, const Case<T>& given) {
  namespace batched = blockjacobi::batched;
  Batch<T> batch(backend, given.n, given.blocks);
  Array<int> info(backend, given.blocks.size());
  batched::potrf(backend, batched::Triangle::lower, batch.view(), info.data());
  const std::vector<int> outcomes = info.to_host();
  batched::potri(backend, batched::Triangle::lower, batch.view(), info.data());
  Matrices<T> inverses = batch.to_host();
  for (std::size_t k = 0; k < inverses.size(); ++k) complete<T>(given.n, outcomes[k], inverses[k]);
  return inverses;
}

template <class T>
std::vector<Way<T>> ways(const Backend& backend, const std::optional<bench::LapackLibrary>& lapack) {
  namespace batched = blockjacobi::batched;
  using View = blockjacobi::MatrixBatchView<T>;
  std::vector<Way<T>> result;
  if (lapack) {
    const LapackInverse<T> reference(*lapack);
    result.push_back(
        lapack_way<T>("LAPACK getrf, getri", false, [=](index_t n, const auto& a) { return reference.general(n, a); }));
  }
  result.push_back(
      batched_way<T>(backend, "batched getrf, getri", false, [](const Backend& on, View a, index_t* pivots, int* info) {
        batched::getrf(on, a, pivots, info);
        batched::getri<T>(on, a, pivots, a, info);
      }));
  result.push_back(
      batched_way<T>(backend, "batched inverse", false,
                     [](const Backend& on, View a, index_t*, int* info) { batched::inverse<T>(on, a, a, info); }));
  result.push_back(batched_way<T>(
      backend, "batched pseudo_inverse", false,
      [](const Backend& on, View a, index_t* rank, int*) { batched::pseudo_inverse<T>(on, a, a, 0.0, rank); }));
  result.push_back({"BlockJacobi", false, [=](const Case<T>& given) { return stored(backend, given, Storage::full); }});
  if (lapack) {
    const LapackInverse<T> reference(*lapack);
    result.push_back(
        lapack_way<T>("LAPACK potrf, potri", true, [=](index_t n, const auto& a) { return reference.definite(n, a); }));
  }
  result.push_back(
      {"batched potrf, potri", true, [=](const Case<T>& given) { return by_potrf_and_potri(backend, given); }});
  result.push_back(
      batched_way<T>(backend, "batched spd_inverse", true, [](const Backend& on, View a, index_t*, int* info) {
        batched::spd_inverse<T>(on, batched::Triangle::lower, a, a, batched::SpdStorage::full, info);
      }));
  result.push_back(
      {"BlockJacobi, definite", true, [=](const Case<T>& given) { return stored(backend, given, Storage::full); }});
  return result;
}

template <class T>
double scaled_error(index_t n, const std::vector<T>& a, const std::vector<T>& x) {
  return bench::inverse_error(bench::WideMatrix<T>(a.data(), n), bench::WideMatrix<T>(x.data(), n));
}

/// ||I - A X||, of the better side.
template <class T>
double residual(index_t n, const std::vector<T>& a, const std::vector<T>& x) {
  const bench::WideMatrix<T> wide_a(a.data(), n), wide_x(x.data(), n);
  const double unit = n * static_cast<double>(std::numeric_limits<blockjacobi::real_t<T>>::epsilon());
  return bench::inverse_error(wide_a, wide_x) * unit * static_cast<double>(wide_a.infinity_norm()) *
         static_cast<double>(wide_x.infinity_norm());
}

/// The largest error(n, a, x) of all blocks; on all processors.
template <class T>
double worst_of(const Case<T>& given, const Matrices<T>& inverses,
                double (*error)(index_t, const std::vector<T>&, const std::vector<T>&)) {
  std::vector<double> errors(given.blocks.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t k = next++; k < errors.size(); k = next++)
      errors[k] = error(given.n, given.blocks[k], inverses[k]);
  };
  {
    std::vector<std::jthread> pool;
    for (unsigned t = 0; t < std::max(1U, std::thread::hardware_concurrency()); ++t) pool.emplace_back(work);
  }
  double worst = 0.0;
  for (const double e : errors) worst = bench::worse_error(worst, e);
  return worst;
}

void print_head(const char* title, const char* scalar, const std::vector<index_t>& orders) {
  std::printf("\n## %s, %s\n\n| condition | way |", title, scalar);
  for (const index_t n : orders) std::printf(" %d |", n);
  std::printf("\n| --: | --- |");
  for (std::size_t k = 0; k < orders.size(); ++k) std::printf(" --: |");
  std::printf("\n");
}

/// What the worst of the blocks has, "singular" without inverses.
template <class T>
void print_cell(const Case<T>& given, const Matrices<T>& inverses,
                double (*error)(index_t, const std::vector<T>&, const std::vector<T>&)) {
  if (inverses.empty()) {
    std::printf(" singular |");
    return;
  }
  const double worst = worst_of(given, inverses, error);
  if (std::isfinite(worst))
    std::printf(" %.2g |", worst);
  else
    std::printf(" - |");
}

template <class T>
void print_inverses(const Backend& backend, const std::vector<index_t>& orders, const std::vector<double>& conditions,
                    const std::optional<bench::LapackLibrary>& lapack) {
  using blockjacobi::matrices::BlockFamily;
  print_head("Inverses", scalar_name<T>().second, orders);
  for (const double condition : conditions)
    for (const Way<T>& way : ways<T>(backend, lapack)) {
      std::printf("| %.0e | %s |", condition, way.name.c_str());
      for (const index_t n : orders) {
        const auto given = make_case<T>(way.definite ? BlockFamily::spd : BlockFamily::random, n, condition);
        print_cell<T>(given, way.invert(given), scaled_error<T>);
      }
      std::printf("\n");
    }
}

template <class T>
void print_storages(const Backend& backend, const std::vector<index_t>& orders, const std::vector<double>& conditions) {
  print_head("Stored inverses", scalar_name<T>().second, orders);
  for (const double condition : conditions)
    for (const Storage storage :
         {Storage::full, Storage::packed, Storage::fp32, Storage::fp16, Storage::bf16, Storage::adaptive}) {
      // The working precision.
      if (storage == Storage::fp32 && sizeof(blockjacobi::real_t<T>) == 4) continue;
      std::printf("| %.0e | %s |", condition, to_string(storage));
      for (const index_t n : orders) {
        const auto given = make_case<T>(blockjacobi::matrices::BlockFamily::spd, n, condition);
        print_cell<T>(given, stored(backend, given, storage), residual<T>);
      }
      std::printf("\n");
    }
}

template <class T>
void print_tables(const Backend& backend, const std::optional<bench::LapackLibrary>& lapack) {
  constexpr bool is_single = sizeof(blockjacobi::real_t<T>) == 4;
  const std::vector<index_t> of_storages{4, 8, 16, 32, 64, 128};
  std::vector<index_t> of_inverses = of_storages;
  if (!blockjacobi::is_complex<T>) of_inverses.insert(of_inverses.end(), {256, 512});
  print_inverses<T>(backend, of_inverses, is_single ? std::vector{1e1, 1e2, 1e4} : std::vector{1e1, 1e4, 1e8, 1e12},
                    lapack);
  print_storages<T>(backend, of_storages,
                    is_single ? std::vector{1e1, 1e2, 1e4} : std::vector{1e1, 1e2, 1e4, 1e8, 1e12});
}

}  // namespace

int main(int argc, char** argv) {
  std::string backend_name = "host", lapack_name, scalars = "dszc";
  CLI::App app("Prints how accurate inverses are.", "accuracy");
  app.add_option("--backend", backend_name, "host or cuda")
      ->check(CLI::IsMember({"host", "cuda"}))
      ->capture_default_str();
  app.add_option("--lapack", lapack_name, "the library to compare with; without, one of this machine");
  app.add_option("--scalars", scalars, "out of s, d, c and z")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    const Backend backend = backend_name == "cuda" ? Backend::cuda() : Backend::host();
    const auto lapack =
        bench::LapackLibrary::open(lapack_name.empty() ? std::vector<std::string>{"libopenblas.so.0", "liblapack.so.3"}
                                                       : std::vector{lapack_name});
    if (!lapack && !lapack_name.empty()) throw std::runtime_error("cannot open " + lapack_name);
    std::printf(
        "# Accuracy of inverses on %s\n\nWritten by `benchmarks/accuracy`, blockjacobi %s, %s backend; LAPACK: %s.\n",
        backend_name == "cuda" ? "the GPU" : "the host", blockjacobi::version, backend_name.c_str(),
        lapack ? lapack->description().c_str() : "none found");
    for (const char scalar : scalars) {
      if (scalar == 'd') print_tables<double>(backend, lapack);
      if (scalar == 's') print_tables<float>(backend, lapack);
      if (scalar == 'z') print_tables<std::complex<double>>(backend, lapack);
      if (scalar == 'c') print_tables<std::complex<float>>(backend, lapack);
      std::fflush(stdout);
    }
  } catch (const std::exception& error) {
    std::cerr << "accuracy: " << error.what() << '\n';
    return 1;
  }
}
