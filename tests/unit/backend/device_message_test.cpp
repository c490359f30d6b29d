#include "backend/device_message.hpp"

#include <gtest/gtest.h>

namespace blockjacobi::detail {
namespace {

TEST(DeviceMessage, NamesTheDeviceWhatWasBuiltAndTheOption) {
  EXPECT_EQ(unusable_device({1, "NVIDIA A100", 8, 0}, "90, 100", true, "no kernel image"),
            "Backend::cuda: device 1 (NVIDIA A100, compute capability 8.0) cannot run this build's kernels, which were "
            "compiled for 90, 100; configure with -DCMAKE_CUDA_ARCHITECTURES=80: no kernel image");
  EXPECT_EQ(unusable_device({0, "NVIDIA H200", 9, 0}, "90", false, "out of memory"),
            "Backend::cuda: device 0 (NVIDIA H200, compute capability 9.0) cannot run this build's kernels, which were "
            "compiled for 90: out of memory");
  EXPECT_EQ(unusable_device({2, "", 0, 0}, "90", false, "unknown error"),
            "Backend::cuda: device 2 cannot run this build's kernels, which were compiled for 90: unknown error");
}

}  // namespace
}  // namespace blockjacobi::detail
