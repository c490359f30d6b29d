#pragma once

namespace blockjacobi::test {

/// While an object of this lives, the library believes that thread blocks have no more shared memory than this, in
/// threads in which it has not asked yet. See less_shared_memory.cpp.
class LessSharedMemory {
 public:
  explicit LessSharedMemory(int kilobytes);
  ~LessSharedMemory();
  LessSharedMemory(const LessSharedMemory&) = delete;
  LessSharedMemory& operator=(const LessSharedMemory&) = delete;

 private:
  int before_;
};

}  // namespace blockjacobi::test
