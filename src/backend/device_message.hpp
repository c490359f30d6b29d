#pragma once

#include "core/message.hpp"

#include <string>

namespace blockjacobi::detail {

/// A CUDA device as messages name it.
struct DeviceName {
  int number = 0;
  std::string name;  ///< empty if it cannot be asked
  int major = 0;     ///< compute capability
  int minor = 0;
};

/// Why a device cannot run the kernels; `architectures` is what they were compiled for, `no_image` whether that is what
/// is wrong.
inline std::string unusable_device(const DeviceName& device, const std::string& architectures, bool no_image,
                                   const std::string& reason) {
  const std::string name =
      device.name.empty() ? "" : message(" ({}, compute capability {}.{})", device.name, device.major, device.minor);
  const std::string option =
      no_image ? message("; configure with -DCMAKE_CUDA_ARCHITECTURES={}{}", device.major, device.minor) : "";
  return message("Backend::cuda: device {}{} cannot run this build's kernels, which were compiled for {}{}: {}",
                 device.number, name, architectures, option, reason);
}

}  // namespace blockjacobi::detail
