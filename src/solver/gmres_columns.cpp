#include "solver/columns_session.hpp"
#include "solver/gmres_parts.hpp"

namespace blockjacobi {

namespace detail {

namespace {

/// One solve by GMRES(m) of several columns, whose cycles begin together: products and preconditioner of all of them in
/// bundles, bases and orthogonalization of each for itself.
template <Scalar T>
class GmresColumns {
  using C = compute_t<T>;

 public:
  GmresColumns(ColumnsSession<T>& session, const SolverParts<T>& parts)
      : session_(session),
        parts_(parts),
        ops_(parts.ops.columns()),
        shape_(session.shape()),
        n_(parts.size()),
        low_(parts.options.basis == BasisPrecision::single && sizeof(real_t<T>) > sizeof(float)),
        restart_(gmres_restart(parts.options, parts.rows())),
        own_b_(contiguous(session.b())),
        own_x_(contiguous(session.x())),
        basis_(parts.backend, low_ ? 0 : count() * (m() + 1) * n_),
        low_basis_(parts.backend, low_ ? count() * (m() + 1) * n_ : 0),
        u_(parts.backend, count() * n_),
        v_(parts.backend, low_ ? count() * n_ : 0),
        in_(bundles()),
        preconditioned_(bundles(parts.M != nullptr)),
        out_(bundles()),
        spare_(parts.backend, ops_.spare_size(shape_)),
        norms_(parts.backend, static_cast<std::size_t>(shape_.padded_columns())),
        small_(parts.backend, count() * gmres_small_size(m())),
        cosines_(parts.backend, count() * m()),
        found_(count(), gmres_initial_state(0.0, parts.options.max_iterations, low_ ? gmres_low_reduction : 0.0)),
        states_(parts.backend, found_) {}

  std::vector<SolveReport> operator()() {
    if (!begin()) return finish();
    divide();
    begin_cycles();
    for (;;) {
      const bool goes_on = look();
      end_stopped();
      if (!goes_on || have_all_ended()) return finish();
      const bool to_the_end = iterate();
      finish_->replay();
      if (!to_the_end) return finish();
      begin_->replay();
    }
  }

 private:
  std::size_t count() const { return static_cast<std::size_t>(shape_.columns); }
  std::size_t m() const { return static_cast<std::size_t>(restart_); }

  Array<C> bundles(bool wanted = true) const {
    Array<C> v(parts_.backend, wanted ? static_cast<std::size_t>(shape_.elements()) : 0);
    v.zero();
    return v;
  }
  /// A place for the columns one behind the other, unless each of them is contiguous where it is.
  template <class U>
  Array<C> contiguous(const ColumnsView<U>& columns) const {
    return Array<C>(parts_.backend, columns.row_stride == 1 ? 0 : count() * n_);
  }
  ColumnsView<const C> b() const {
    if (own_b_.size() == 0) return session_.b();
    return {own_b_.data(), 1, shape_.n, shape_.columns};
  }
  ColumnsView<C> x() const {
    if (own_x_.size() == 0) return session_.x();
    return {own_x_.data(), 1, shape_.n, shape_.columns};
  }
  C* column(const ColumnsView<C>& v, index_t c) const { return v.data + c * v.column_stride; }

  /// Column j of all bases.
  ColumnsView<C> basis(int j) const {
    return {basis_.data() + static_cast<std::size_t>(j) * n_, 1, static_cast<offset_t>((m() + 1) * n_), shape_.columns};
  }
  ColumnsView<C> side_by_side(const Array<C>& v) const { return {v.data(), 1, shape_.n, shape_.columns}; }
  /// Where b - A x is expected at the beginning of the cycles.
  ColumnsView<C> first() const { return low_ ? side_by_side(u_) : basis(0); }

  GmresVectors<T> vectors(index_t c) const {
    const auto k = static_cast<std::size_t>(c);
    GmresVectors<T> v;
    v.n = shape_.n;
    v.u = u_.data() + k * n_;
    if (low_) {
      v.low_basis = low_basis_.data() + k * (m() + 1) * n_;
      v.w = v.u;  // u is only there between the cycles
      v.v = v_.data() + k * n_;
    } else {
      v.basis = basis_.data() + k * (m() + 1) * n_;
    }
    return v;
  }
  GmresSmall<C> small(index_t c) const {
    C* const h = small_.data() + static_cast<std::size_t>(c) * gmres_small_size(m());
    return gmres_divide(h, cosines_.data() + static_cast<std::size_t>(c) * m(), restart_);
  }
  GmresState* state(index_t c) const { return states_.data() + c; }
  /// The state, if it can be seen without waiting.
  const GmresState* seen(index_t c) const { return static_cast<const GmresState*>(parts_.ops.visible(state(c))); }

  void to_bundles(const ColumnsView<C>& from, const Array<C>& to) {
    ops_.to_bundles(shape_, {from.data, from.row_stride, from.column_stride, from.count}, 0, to.data());
  }
  void residuals() {
    to_bundles(x(), in_);
    ops_.residual(parts_.A, shape_, session_.b(), in_.data(), out_.data(), spare_.data());
  }

  bool begin() {
    if (own_b_.size() > 0) {
      ops_.to_bundles(shape_, session_.b(), 0, in_.data());
      ops_.from_bundles(shape_, in_.data(), 0, side_by_side(own_b_));
    }
    if (own_x_.size() > 0) {
      to_bundles(session_.x(), in_);
      ops_.from_bundles(shape_, in_.data(), 0, side_by_side(own_x_));
    }
    residuals();
    ops_.from_bundles(shape_, out_.data(), 0, first());
    for (index_t c = 0; c < shape_.columns; ++c)
      parts_.ops.begin_solve(shape_.n, b().data + c * b().column_stride, column(first(), c), column(x(), c),
                             stopping_rule(parts_.options), parts_.M != nullptr ? parts_.M->failure() : nullptr,
                             state(c));
    found_ = states_.to_host();
    for (index_t c = 0; c < shape_.columns; ++c) session_.begin(c, found_[static_cast<std::size_t>(c)]);
    return !have_all_ended();
  }
  void begin_cycles() {
    for (index_t c = 0; c < shape_.columns; ++c) parts_.ops.gmres_begin(vectors(c), small(c), state(c));
  }

  /// Inner iteration j of all columns.
  void step(int j) {
    if (are_idle()) return;
    to_bundles(low_ ? side_by_side(v_) : basis(j), in_);
    const C* directions = in_.data();
    if (parts_.M != nullptr) {
      ops_.precondition(*parts_.M, shape_, in_.data(), preconditioned_.data(), spare_.data());
      directions = preconditioned_.data();
    }
    ops_.product(parts_.A, shape_, directions, out_.data(), spare_.data());
    ops_.from_bundles(shape_, out_.data(), 0, low_ ? side_by_side(u_) : basis(j + 1));
    for (index_t c = 0; c < shape_.columns; ++c) parts_.ops.gmres_orthogonalize(vectors(c), small(c), j, state(c));
  }
  /// Whether it is known, without waiting, that no column has anything to do.
  bool are_idle() const {
    for (index_t c = 0; c < shape_.columns; ++c)
      if (seen(c) == nullptr || !gmres_is_idle(*seen(c))) return false;
    return true;
  }

  /// x += M^-1 V y in every column, unless that is not finite.
  void correct() {
    for (index_t c = 0; c < shape_.columns; ++c) parts_.ops.gmres_combine(vectors(c), small(c), state(c));
    if (parts_.M != nullptr) {
      to_bundles(side_by_side(u_), in_);
      ops_.precondition(*parts_.M, shape_, in_.data(), preconditioned_.data(), spare_.data());
      ops_.from_bundles(shape_, preconditioned_.data(), 0, side_by_side(u_));
    }
    for (index_t c = 0; c < shape_.columns; ++c) {
      const C* const u = column(side_by_side(u_), c);
      parts_.ops.gmres_check(shape_.n, u, state(c));
      parts_.ops.add(shape_.n, u, column(x(), c), &state(c)->columns);
    }
  }

  /// A cycle into begin, batches of inner iterations, correction of x.
  void divide() {
    BackendImpl& impl = parts_.backend.impl();
    const bool capturable = parts_.A.capturable() && (parts_.M == nullptr || parts_.M->capturable());
    const int batch = parts_.ops.batch();
    for (int from = 0; from < restart_; from += batch) {
      const int to = std::min(from + batch, restart_);
      steps_.push_back(impl.record(
          [this, from, to] {
            for (int j = from; j < to; ++j) step(j);
          },
          capturable));
    }
    finish_ = impl.record([this] { correct(); }, capturable);
    begin_ = impl.record(
        [this] {
          residuals();
          ops_.from_bundles(shape_, out_.data(), 0, first());
          begin_cycles();
        },
        capturable);
  }

  /// The inner iterations; false if clock or callback end the solve.
  bool iterate() {
    const Range range("iterations");
    for (const auto& batch : steps_) {
      batch->replay();
      if (!look()) return false;
      if (std::all_of(found_.begin(), found_.end(), gmres_is_idle)) break;
    }
    return true;
  }

  /// Reads the states and takes their histories.
  bool look() {
    found_ = states_.to_host();
    for (index_t c = 0; c < shape_.columns; ++c)
      if (!session_.has_ended(c)) session_.collect(c, found_[static_cast<std::size_t>(c)]);
    states_.copy_from_host(found_.data());
    return session_.goes_on(found_);
  }
  /// Columns stop as a cycle begins, with ||b - A x|| in beta.
  void end_stopped() {
    for (index_t c = 0; c < shape_.columns; ++c) {
      const GmresState& found = found_[static_cast<std::size_t>(c)];
      if (!session_.has_ended(c) && found.stop != 0) session_.end(c, static_cast<StopReason>(found.stop), found.beta);
    }
  }
  bool have_all_ended() const {
    for (index_t c = 0; c < shape_.columns; ++c)
      if (!session_.has_ended(c)) return false;
    return true;
  }

  std::vector<SolveReport> finish() {
    std::vector<double> norms;
    if (session_.lacks_residuals()) {
      residuals();
      ops_.norms(shape_, out_.data(), norms_.data());
      norms = norms_.to_host();
    }
    if (own_x_.size() > 0) {
      to_bundles(x(), in_);
      ops_.from_bundles(shape_, in_.data(), 0, session_.x());
    }
    return session_.finish(norms);
  }

  ColumnsSession<T>& session_;
  const SolverParts<T>& parts_;
  ColumnsOps<T>& ops_;
  Bundles shape_;
  std::size_t n_;
  bool low_;
  int restart_;
  Array<C> own_b_, own_x_;
  Array<C> basis_;
  Array<compute_t<single_t<T>>> low_basis_;
  Array<C> u_, v_;
  Array<C> in_, preconditioned_, out_, spare_;
  Array<double> norms_;
  Array<C> small_;
  Array<double> cosines_;
  std::vector<GmresState> found_;  ///< as they were at the last look
  Array<GmresState> states_;
  std::vector<std::unique_ptr<Recording>> steps_;
  std::unique_ptr<Recording> finish_, begin_;
};

}  // namespace

}  // namespace detail

template <Scalar T>
std::vector<SolveReport> gmres_columns(const LinearOperator<T>& A, const std::type_identity_t<Preconditioner<T>>& M,
                                       std::type_identity_t<MultiVectorView<const T>> B,
                                       std::type_identity_t<MultiVectorView<T>> X, const SolveOptions& options) {
  detail::require_restart("gmres_columns", options);
  return detail::solve_columns<detail::GmresColumns>(
      "gmres_columns", A, M, B, X, options,
      [&](VectorView<const T> b, VectorView<T> x) { return gmres(A, M, b, x, options); });
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                                    \
  template std::vector<SolveReport> gmres_columns(const LinearOperator<T>&, const Preconditioner<T>&, \
                                                  MultiVectorView<const T>, MultiVectorView<T>, const SolveOptions&)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi
