#pragma once

namespace blockjacobi::test {

/// cudaFuncGetAttributes() of a program that links without_image.cpp with --wrap: while an object of this lives no
/// kernel was compiled for the device.
class WithoutImage {
 public:
  WithoutImage();
  ~WithoutImage();
  WithoutImage(const WithoutImage&) = delete;
  WithoutImage& operator=(const WithoutImage&) = delete;
};

}  // namespace blockjacobi::test
