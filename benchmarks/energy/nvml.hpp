#pragma once

#include "batched/timer.hpp"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace bench {

/// The first GPU, as NVML knows it. The driver's library is looked up at run time, so that neither its header nor its
/// stub is needed.
class Nvml {
 public:
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW)) {
    if (library_ == nullptr) throw std::runtime_error("libnvidia-ml.so.1 cannot be opened");
    const auto init = function<int()>("nvmlInit_v2");
    const auto find = function<int(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
    char bus[32];
    bench::check(cudaDeviceGetPCIBusId(bus, sizeof(bus), 0));
    check(init());
    check(find(bus, &device_));
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml() {
    if (library_ != nullptr) dlclose(library_);
  }

  void* device() const { return device_; }

  template <class F>
  F* function(const char* name) const {
    void* const found = dlsym(library_, name);
    if (found == nullptr) throw std::runtime_error(std::string("NVML has no ") + name);
    return reinterpret_cast<F*>(found);
  }
  static void check(int status) {
    if (status != 0) throw std::runtime_error("NVML status " + std::to_string(status));
  }

 private:
  void* library_;
  void* device_ = nullptr;
};

}  // namespace bench
