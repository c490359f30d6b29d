#pragma once

#include <dlfcn.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

/// A LAPACK of the machine, looked up at run time: it is compared with, not needed.
class LapackLibrary {
 public:
  /// The first of `names` that can be opened; empty if none.
  static std::optional<LapackLibrary> open(const std::vector<std::string>& names) {
    for (const std::string& name : names)
      if (void* const library = dlopen(name.c_str(), RTLD_NOW)) return LapackLibrary(library, name);
    return std::nullopt;
  }

  /// Null where there is none. Threads of a library live as long as the program, so that it is never closed.
  template <class F>
  F* function(const std::string& name) const {
    return reinterpret_cast<F*>(dlsym(library_, name.c_str()));
  }

  /// Threads of one call from now on; false if the library has no way to set them.
  bool set_threads(int threads) const {
    for (const char* const name : {"openblas_set_num_threads", "MKL_Set_Num_Threads"})
      if (const auto set = function<void(int)>(name)) {
        set(threads);
        return true;
      }
    return false;
  }

  /// Its name, and its version where it tells.
  std::string description() const {
    const auto config = function<char*()>("openblas_get_config"), core = function<char*()>("openblas_get_corename");
    return config == nullptr || core == nullptr ? name_ : std::string(config()) + ' ' + core();
  }

 private:
  LapackLibrary(void* library, std::string name) : library_(library), name_(std::move(name)) {}

  void* library_;
  std::string name_;
};

/// Its factorizations in one scalar, of matrices of order n whose columns stand back to back.
template <class T>
class Lapack {
 public:
  explicit Lapack(const LapackLibrary& library)
      : getrf_(find<Getrf>(library, "getrf_")),
        potrf_(find<Potrf>(library, "potrf_")),
        geqrf_(find<Geqrf>(library, "geqrf_")) {}

  /// "lu", "cholesky" (of the lower triangle) or "qr"; ipiv and tau where the operation has them.
  void factorize(const std::string& operation, int n, T* a, int* ipiv, T* tau, int* info) const {
    if (operation == "lu")
      getrf_(&n, &n, a, &n, ipiv, info);
    else if (operation == "cholesky")
      potrf_("L", &n, a, &n, info, 1);
    else
      factorize_qr(n, a, tau, info);
  }

 private:
  using Getrf = void(const int* m, const int* n, T* a, const int* lda, int* ipiv, int* info);
  using Potrf = void(const char* uplo, const int* n, T* a, const int* lda, int* info, std::size_t length_of_uplo);
  using Geqrf = void(const int* m, const int* n, T* a, const int* lda, T* tau, T* work, const int* lwork, int* info);

  template <class F>
  static F* find(const LapackLibrary& library, const char* name) {
    const std::string full = (sizeof(T) == 4 ? 's' : 'd') + std::string(name);
    F* const found = library.function<F>(full);
    if (found == nullptr) throw std::runtime_error(library.description() + " has no " + full);
    return found;
  }

  void factorize_qr(int n, T* a, T* tau, int* info) const {
    thread_local std::vector<T> work;
    const int length = 64 * n;  // for blocks of up to 64 columns
    work.resize(static_cast<std::size_t>(length));
    geqrf_(&n, &n, a, &n, tau, work.data(), &length, info);
  }

  Getrf* getrf_;
  Potrf* potrf_;
  Geqrf* geqrf_;
};

}  // namespace bench
