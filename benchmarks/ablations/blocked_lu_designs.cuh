#pragma once

#include "ablations/blocked_launches.cuh"
#include "ablations/blocked_recursive.cuh"

namespace bench {

/// The designs that fit one order.
template <class T>
class BlockedLuTrials {
 public:
  explicit BlockedLuTrials(int n) : n_(n) {}

  template <class Algorithm>
  void add(const std::string& name) {
    const std::size_t bytes = Algorithm::shared_bytes(n_);
    cudaFuncAttributes kernel;
    blockjacobi::kernels::check(cudaFuncGetAttributes(&kernel, lu_blocked<T, Algorithm>), "cudaFuncGetAttributes");
    if (n_ > most_panel_threads<T>(Algorithm::width) || bytes + kernel.sharedSizeBytes > most_shared_bytes) return;
    const LaunchShape<T> shape{n_, bytes};
    trials_.push_back(
        {"lu", name,
         [shape](const AblationBatch<T>& b) { shape(lu_blocked<T, Algorithm>, b.count, 1, b.a, b.ipiv, b.info, b.n); },
         0, Algorithm::width});
  }
  /// With panels of NB columns.
  template <int NB>
  void add_width() {
    add<LeftLooking<T, NB, GroupedSwap>>("left_grouped");
    add<LeftLooking<T, NB, DelayedSwap>>("left_delayed");
    add<RightLooking<T, NB, GroupedSwap, RegisterPanel>>("right_grouped");
    add<RightLooking<T, NB, DelayedSwap, RegisterPanel>>("right_delayed");
  }
  /// With panels of NB columns, what is not studied at all of them.
  template <int NB>
  void add_others() {
    add<LeftLooking<T, NB, ImmediateSwap>>("left_immediate");
    add<RightLooking<T, NB, ImmediateSwap, RegisterPanel>>("right_immediate");
    using Right = RightLooking<T, NB, DelayedSwap, RegisterPanel>;
    add("right_delayed_unblocked", NB, run_panel_by_launches<T, Right>);
    add<RightLooking<T, NB, DelayedSwap, ColumnPanel>>("right_delayed_column");
    add<OnChip<T, Right>>("right_delayed_matrix");
  }
  /// The panel by halves, beside add_width<NB>().
  template <int NB>
  void add_recursive() {
    add<RightLooking<T, NB, DelayedSwap, RecursivePanel>>("right_delayed_recursive");
  }
  std::vector<Trial<T>> all() const { return trials_; }

 private:
  void add(const std::string& name, int width, std::function<void(const AblationBatch<T>&)> run) {
    trials_.push_back({"lu", name, std::move(run), 0, width});
  }

  int n_;
  std::vector<Trial<T>> trials_;
};

template <class T>
std::vector<Trial<T>> blocked_lu_trials(int n) {
  BlockedLuTrials<T> trials(n);
  trials.template add_width<8>();
  trials.template add_width<16>();
  trials.template add_width<32>();
  trials.template add_width<64>();
  trials.template add_others<16>();
  trials.template add_recursive<16>();
  trials.template add_recursive<32>();
  trials.template add_recursive<64>();
  return trials.all();
}

}  // namespace bench
