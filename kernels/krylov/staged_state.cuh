#pragma once

namespace blockjacobi::kernels {

/// The state of a solver in shared memory while one thread runs its scalar step: the thread block brings it there and
/// back at once, where that thread alone would wait for one element after the other.
template <class State>
class StagedState {
 public:
  static_assert(sizeof(State) % sizeof(int) == 0);

  /// Called by the whole thread block, as store() is.
  __device__ State& load(const State* state) {
    const int* const words = reinterpret_cast<const int*>(state);
    for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x))
      words_[i] = __ldcg(words + i);
    __syncthreads();
    return *reinterpret_cast<State*>(words_);
  }
  __device__ void store(State* state) const {
    __syncthreads();
    int* const words = reinterpret_cast<int*>(state);
    for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) words[i] = words_[i];
  }

 private:
  static constexpr int count = sizeof(State) / sizeof(int);
  alignas(16) int words_[count];
};

}  // namespace blockjacobi::kernels
