// Calls of the C interface with arguments that are right, wrong or null, on objects that exist or not: every call
// returns a status that the header names, with a message where it is not success, and BJ_INTERNAL_ERROR never.
#include "csr_input.hpp"
#include "expect.hpp"

#include <blockjacobi/blockjacobi.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <variant>

using namespace blockjacobi;
using fuzz::Input;

namespace {

constexpr index_t longest = 16;                // of vectors and matrices
constexpr index_t most_history = 8;            // norms of a column
constexpr index_t most_rows_copied = 1 << 20;  // a uniform partition may have billions, and memory is bounded

void check(bj_status status) {
  FUZZ_EXPECT(status >= BJ_SUCCESS && status < BJ_INTERNAL_ERROR);
  FUZZ_EXPECT(std::strcmp(bj_status_name(status), "unknown status") != 0);
  if (status != BJ_SUCCESS) FUZZ_EXPECT(*bj_last_error() != '\0');
}

/// A matrix in one of the scalars and widths of offsets.
template <Scalar T>
using Matrix = std::variant<fuzz::CsrInput<T, std::int32_t>, fuzz::CsrInput<T, std::int64_t>>;

template <Scalar T>
Matrix<T> make_matrix(Input& input) {
  if (input.flag()) return fuzz::CsrInput<T, std::int32_t>(input);
  return fuzz::CsrInput<T, std::int64_t>(input);
}

/// The objects of one run, each null until its create succeeded. All are of one scalar, in which the buffers are: no
/// function can see the length of an array whose scalar it is told wrongly.
template <Scalar T>
class Session {
 public:
  explicit Session(Input& input) : input_(input), matrix_(make_matrix<T>(input)) {
    const auto fill = [&](std::vector<T>& v) {
      v.resize(longest * longest);
      for (index_t k = 0; k < longest; ++k) v[static_cast<std::size_t>(k)] = input.scalar<T>();
    };
    fill(b_);
    fill(x_);
    std::visit([&](const auto& m) { csr_ = csr_of(m.view()); }, matrix_);
    if (!input.flag()) check(bj_backend_create_host(1, &backend_));
    if (backend_ != nullptr && !input.flag()) build();
  }

  ~Session() {
    check(bj_workspace_destroy(workspace_));
    check(bj_operator_destroy(A_));
    check(bj_block_jacobi_destroy(M_));
    check(bj_partition_destroy(partition_));
    check(bj_backend_destroy(backend_));
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void step() {
    switch (input_.index(0, 13)) {
      case 13: return solve_columns();
      case 12: return create_multigrid();
      case 10: return create_two_level();
      case 11: return suggest();
      case 0: return create_partition();
      case 1: return create_block_jacobi();
      case 2: return create_operator();
      case 3: return refresh();
      case 4: return apply();
      case 5: return ask_block_jacobi();
      case 6: return solve();
      case 7: return enqueue();
      case 8: return texts();
      default: return others();
    }
  }

 private:
  template <Offset O>
  static bj_csr csr_of(const CsrView<T, O>& v) {
    return {v.rows,
            v.cols,
            v.nnz,
            v.row_offsets,
            v.columns,
            v.values,
            static_cast<std::int32_t>(8 * sizeof(O)),
            static_cast<std::int32_t>(v.base),
            static_cast<bj_scalar>(scalar_type<T>),
            v.space == MemorySpace::host ? BJ_HOST : BJ_DEVICE};
  }

  /// The matrix, null, or the matrix with an enumerator that there is not.
  const bj_csr* matrix() {
    wrong_ = csr_;
    switch (input_.index(0, 15)) {
      case 10: return nullptr;
      case 11: wrong_.offset_bits = 33; break;
      case 12: wrong_.base = input_.wild(-1, 2) == 1 ? 2 : -1; break;
      case 13: wrong_.scalar = input_.flag() ? 4 : -1; break;
      case 14: wrong_.space = input_.flag() ? 2 : -1; break;
      case 15: wrong_.rows = -1; break;
      default: return &csr_;
    }
    return &wrong_;
  }

  /// `pointer`, or null now and then.
  template <class P>
  P* maybe(P* pointer) {
    return input_.index(0, 15) == 15 ? nullptr : pointer;
  }
  bj_space space() { return input_.index(0, 15) == 15 ? input_.wild(-1, 2) : BJ_HOST; }
  bj_singular policy() { return input_.index(0, 7) == 7 ? input_.wild(-1, 5) : 4 - input_.index(0, 4); }
  index_t length() { return input_.index(0, 7) == 7 ? input_.index(-1, longest) : csr_.rows; }
  offset_t entries() { return input_.index(0, 7) == 7 ? input_.index(-1, 4) : csr_.nnz; }
  /// At most as many values as there are.
  const void* values() { return maybe(csr_.values); }

  void build() {
    csr_status(bj_partition_create_uniform(csr_.rows, input_.index(1, 8), &partition_));
    if (partition_ != nullptr) create_block_jacobi();
    create_operator();
  }

  /// Whatever a call found of the matrix.
  void csr_status(bj_status status) { check(status); }

  void create_partition() {
    check(bj_partition_destroy(std::exchange(partition_, nullptr)));
    const auto offsets = input_.indices(longest, -1, longest);
    const auto blocks = static_cast<index_t>(offsets.size()) - 1;
    bj_partition* nodes = nullptr;
    switch (input_.index(0, 4)) {
      case 3: check(bj_partition_create_labels(maybe(offsets.data()), blocks + 1, maybe(&partition_))); break;
      case 4:
        check(bj_partition_create_uniform(csr_.rows, input_.index(1, 3), &nodes));
        check(bj_partition_create_clusters(matrix(), maybe(nodes), input_.wild(-1, 513), maybe(&partition_)));
        check(bj_partition_destroy(nodes));
        break;
      case 0:
        check(bj_partition_create_uniform(input_.wild(-1, longest), input_.wild(-1, 513), maybe(&partition_)));
        break;
      case 1: check(bj_partition_create_offsets(maybe(offsets.data()), blocks, maybe(&partition_))); break;
      default:
        check(bj_partition_create_detect(maybe(backend_), matrix(), input_.wild(-1, 513), maybe(&partition_)));
        break;
    }
    index_t rows = 0, count = 0;
    check(bj_partition_size(maybe(partition_), maybe(&rows), maybe(&count)));
    if (partition_ == nullptr) return;
    check(bj_partition_size(partition_, &rows, &count));
    if (rows > most_rows_copied) return;
    std::vector<index_t> copy(static_cast<std::size_t>(count) + 1);
    check(bj_partition_offsets(maybe(partition_), maybe(copy.data())));
    copy.resize(static_cast<std::size_t>(rows) + 1);
    check(bj_partition_order(maybe(partition_), maybe(copy.data())));
  }

  void create_block_jacobi() {
    check(bj_workspace_destroy(std::exchange(workspace_, nullptr)));
    check(bj_block_jacobi_destroy(std::exchange(M_, nullptr)));
    bj_block_jacobi_options options;
    check(bj_block_jacobi_options_init(&options));
    if (input_.flag()) {
      check(bj_block_jacobi_create(maybe(backend_), matrix(), maybe(partition_), policy(), maybe(&M_)));
    } else {
      options.accuracy = input_.real();
      options.singular = policy();
      options.storage = input_.index(0, 7) == 7 ? input_.wild(-1, 6) : input_.index(0, 5);
      options.l1 = input_.index(0, 7) == 7 ? input_.wild(-1, 2) : input_.index(0, 1);
      check(bj_block_jacobi_create_with(maybe(backend_), matrix(), maybe(partition_), maybe(&options), maybe(&M_)));
    }
    std::size_t bytes = 0;
    check(bj_block_jacobi_bytes(matrix(), maybe(partition_), maybe(&bytes)));
  }

  void create_two_level() {
    check(bj_workspace_destroy(std::exchange(workspace_, nullptr)));
    check(bj_block_jacobi_destroy(std::exchange(M_, nullptr)));
    bj_block_jacobi_options blocks;
    bj_two_level_options coarse;
    check(bj_block_jacobi_options_init(&blocks));
    check(bj_two_level_options_init(&coarse));
    blocks.singular = policy();
    coarse.mode = input_.index(0, 7) == 7 ? input_.wild(-1, 4) : input_.index(0, 3);
    coarse.size = input_.wild(-1, longest);
    coarse.relaxed = input_.index(0, 3) == 3 ? input_.wild(-1, 513) : 0;
    coarse.unknowns = input_.index(0, 3) == 3 ? input_.wild(-1, longest) : 1;
    if (input_.flag()) {
      coarse.vectors = b_.data();
      coarse.vector_count = input_.index(-1, longest);
      coarse.ld = input_.index(-1, longest);
    }
    check(
        bj_two_level_create(maybe(backend_), matrix(), maybe(partition_), maybe(&blocks), maybe(&coarse), maybe(&M_)));
    bj_two_level_report report;
    check(bj_two_level_get_report(maybe(M_), maybe(&report)));
    check(bj_two_level_correct(maybe(M_), maybe(b_.data()), maybe(x_.data()), length(), space()));
  }

  void create_multigrid() {
    check(bj_workspace_destroy(std::exchange(workspace_, nullptr)));
    check(bj_block_jacobi_destroy(std::exchange(M_, nullptr)));
    bj_block_jacobi_options blocks;
    bj_multigrid_options options;
    check(bj_block_jacobi_options_init(&blocks));
    check(bj_multigrid_options_init(&options));
    blocks.singular = policy();
    options.coarsest = input_.index(0, 7) == 7 ? input_.wild(-1, 513) : input_.index(1, 4);
    options.relaxed = input_.index(0, 3) == 3 ? input_.wild(-1, 513) : 0;
    options.unknowns = input_.index(0, 3) == 3 ? input_.wild(-1, longest) : 1;
    // Hardly any matrix of such an input is symmetric.
    options.symmetry_tolerance = input_.index(0, 3) == 3 ? input_.real() : std::numeric_limits<double>::infinity();
    if (input_.flag()) {
      options.vectors = b_.data();
      options.vector_count = input_.index(-1, longest);
      options.ld = input_.index(-1, longest);
    }
    check(
        bj_multigrid_create(maybe(backend_), matrix(), maybe(partition_), maybe(&blocks), maybe(&options), maybe(&M_)));
    bj_multigrid_report report;
    check(bj_multigrid_get_report(maybe(M_), maybe(&report)));
    if (bj_multigrid_get_report(M_, &report) != BJ_SUCCESS) return;
    std::vector<bj_multigrid_level> levels(static_cast<std::size_t>(report.levels));
    check(bj_multigrid_levels(M_, maybe(levels.data())));
  }

  void suggest() {
    bj_suggest_options options;
    bj_suggestion* suggestion = nullptr;
    check(bj_suggest_options_init(&options));
    options.method = input_.wild(-1, 2);
    options.rtol = input_.real();
    options.probe_share = input_.real();
    options.restart = input_.wild(-1, 30);
    options.unknowns = input_.index(0, 3) == 3 ? input_.wild(-1, longest) : 1;
    check(bj_suggest(maybe(backend_), matrix(), maybe(&options), maybe(&suggestion)));
    index_t candidates = 0, recommended = 0;
    check(bj_suggestion_size(maybe(suggestion), maybe(&candidates), maybe(&recommended)));
    for (const auto function : {bj_suggestion_text, bj_suggestion_json})
      write_text([&](char* text, std::size_t size, std::size_t* needed) {
        return function(maybe(suggestion), text, size, maybe(needed));
      });
    check(bj_workspace_destroy(std::exchange(workspace_, nullptr)));
    check(bj_block_jacobi_destroy(std::exchange(M_, nullptr)));
    check(bj_operator_destroy(std::exchange(A_, nullptr)));
    check(
        bj_suggestion_make(suggestion, input_.wild(-1, 6), maybe(backend_), matrix(), nullptr, maybe(&A_), maybe(&M_)));
    check(bj_suggestion_destroy(suggestion));
  }

  void create_operator() {
    check(bj_workspace_destroy(std::exchange(workspace_, nullptr)));
    check(bj_operator_destroy(std::exchange(A_, nullptr)));
    const auto product = [](void* context, const void* x, void* y) -> std::int32_t {
      auto* const session = static_cast<Session*>(context);
      std::copy_n(static_cast<const T*>(x), session->csr_.rows, static_cast<T*>(y));
      return session->fails_ ? 1 : 0;
    };
    fails_ = input_.index(0, 7) == 7;
    switch (input_.index(0, 3)) {
      case 3: check(bj_operator_create_numbered(maybe(backend_), matrix(), maybe(partition_), maybe(&A_))); break;
      case 0: check(bj_operator_create_csr(maybe(backend_), matrix(), maybe(&A_))); break;
      case 1: check(bj_operator_create_bsr(maybe(backend_), matrix(), input_.wild(-1, 8), maybe(&A_))); break;
      default:
        check(bj_operator_create_function(maybe(backend_), csr_.rows, static_cast<bj_scalar>(scalar_type<T>),
                                          input_.index(0, 15) == 15 ? nullptr : +product, this, maybe(&A_)));
        break;
    }
  }

  void refresh() {
    switch (input_.index(0, 3)) {
      case 0: check(bj_block_jacobi_refresh(maybe(M_), values(), entries(), space())); break;
      case 1: check(bj_block_jacobi_rebuild(maybe(M_), values(), entries(), space())); break;
      case 2: check(bj_block_jacobi_refresh_matrix(maybe(M_), matrix())); break;
      default: check(bj_operator_refresh(maybe(A_), values(), entries(), space())); break;
    }
  }

  void apply() {
    const bj_op op = input_.index(0, 7) == 7 ? input_.wild(-1, 3) : input_.index(0, 2);
    T alpha = input_.scalar<T>(), beta = input_.scalar<T>();
    switch (input_.index(0, 2)) {
      case 0: check(bj_block_jacobi_apply(maybe(M_), op, maybe(b_.data()), maybe(x_.data()), length(), space())); break;
      case 1: check(bj_operator_apply(maybe(A_), maybe(b_.data()), maybe(x_.data()), length(), space())); break;
      default:
        check(bj_block_jacobi_apply_columns(maybe(M_), op, maybe(&alpha), maybe(b_.data()), input_.index(-1, longest),
                                            maybe(&beta), maybe(x_.data()), input_.index(-1, longest), length(),
                                            input_.index(-1, longest), input_.wild(-1, 2), space()));
        break;
    }
  }

  void ask_block_jacobi() {
    std::vector<std::int32_t> info(longest);
    std::vector<double> numbers(longest);  // large enough for either precision
    const std::int32_t* info_view = nullptr;
    const void* rcond_view = nullptr;
    bj_block_jacobi_report report;
    switch (input_.index(0, 6)) {
      case 0: check(bj_block_jacobi_info(maybe(M_), maybe(info.data()))); break;
      case 1: check(bj_block_jacobi_rcond(maybe(M_), maybe(numbers.data()))); break;
      case 2: check(bj_block_jacobi_info_view(maybe(M_), maybe(&info_view))); break;
      case 3: check(bj_block_jacobi_rcond_view(maybe(M_), maybe(&rcond_view))); break;
      case 4:
        check(bj_block_jacobi_pivot_growth(maybe(M_), values(), entries(), space(), maybe(numbers.data())));
        break;
      case 5: check(bj_block_jacobi_get_report(maybe(M_), maybe(&report))); break;
      default: check(bj_block_jacobi_get_report_with(maybe(M_), matrix(), maybe(&report))); break;
    }
  }

  bj_solve_options solve_options() {
    bj_solve_options options;
    check(bj_solve_options_init(&options));
    options.max_iterations = input_.index(0, 15) == 15 ? -1 : input_.index(0, 40);
    if (!input_.flag()) return options;
    options.rtol = input_.real();
    options.atol = input_.real();
    options.max_seconds = input_.real();
    options.relaxation = input_.real();
    options.history = maybe(history_.data());
    options.history_capacity = input_.index(-1, most_history);
    options.restart = input_.wild(-1, 30);
    options.relative_to = input_.wild(-1, 2);
    options.basis = input_.wild(-1, 2);
    options.resident = input_.wild(-1, 2);
    if (input_.flag())
      options.progress = [](void* context, std::int32_t iteration, double, double) -> std::int32_t {
        return *static_cast<index_t*>(context) == iteration ? 1 : 0;
      };
    options.context = &stop_at_;
    stop_at_ = input_.index(0, 4);
    return options;
  }

  void solve() {
    static constexpr std::array functions{bj_cg, bj_fcg, bj_gmres, bj_fgmres, bj_bicgstab, bj_richardson, bj_minres};
    auto options = solve_options();
    bj_solve_report report;
    const auto function = functions[static_cast<std::size_t>(input_.index(0, 6))];
    const bj_status status = function(maybe(A_), maybe(M_), maybe(b_.data()), maybe(x_.data()), length(), space(),
                                      maybe(&options), maybe(&report));
    check(status);
  }

  void solve_columns() {
    auto options = solve_options();
    std::array<bj_solve_report, longest> reports;
    const auto function = input_.flag() ? bj_cg_columns : bj_gmres_columns;
    const index_t columns = input_.index(0, 7) == 7 ? input_.index(-1, longest) : input_.index(1, 4);
    check(function(maybe(A_), maybe(M_), maybe(b_.data()), input_.index(-1, longest), maybe(x_.data()),
                   input_.index(-1, longest), length(), columns, input_.wild(-1, 2), space(), maybe(&options),
                   maybe(reports.data())));
  }

  void enqueue() {
    auto options = solve_options();
    bj_solve_status outcome;
    check(bj_workspace_destroy(std::exchange(workspace_, nullptr)));
    if (input_.flag())
      check(bj_workspace_create_cg(maybe(A_), maybe(M_), maybe(&options), maybe(&workspace_)));
    else
      check(bj_workspace_create_gmres(maybe(A_), maybe(M_), maybe(&options), maybe(&workspace_)));
    check(bj_enqueue(maybe(workspace_), maybe(b_.data()), maybe(x_.data()), length(), space(), maybe(&outcome)));
  }

  /// write(text, size, &needed) into a buffer, or none, past whose size nothing is written.
  template <class Write>
  void write_text(const Write& write) {
    std::string buffer(300, '#');
    const auto size = static_cast<std::size_t>(input_.index(0, 299));
    char* const text = size == 0 ? nullptr : maybe(buffer.data());
    std::size_t needed = 0;
    check(write(text, size, &needed));
    FUZZ_EXPECT(
        std::all_of(buffer.begin() + static_cast<std::ptrdiff_t>(size), buffer.end(), [](char c) { return c == '#'; }));
  }

  void texts() {
    write_text([&](char* text, std::size_t size, std::size_t* needed) {
      switch (input_.index(0, 6)) {
        case 6: return bj_multigrid_text(maybe(M_), text, size, maybe(needed));
        case 5: return bj_two_level_text(maybe(M_), text, size, maybe(needed));
        case 0: return bj_backend_text(maybe(backend_), text, size, maybe(needed));
        case 1: return bj_block_jacobi_json(maybe(M_), text, size, maybe(needed));
        case 2: return bj_block_jacobi_text(maybe(M_), text, size, maybe(needed));
        case 3: return bj_block_jacobi_json_with(maybe(M_), matrix(), text, size, maybe(needed));
        default: return bj_block_jacobi_text_with(maybe(M_), matrix(), text, size, maybe(needed));
      }
    });
  }

  void others() {
    bj_backend* other = nullptr;
    const index_t threads = input_.flag() ? input_.index(0, 2) : (input_.flag() ? -1 : 1025);
    check(bj_backend_create_host(threads, maybe(&other)));
    check(bj_backend_destroy(other));
    other = nullptr;
    check(bj_backend_create_cuda(input_.wild(-1, 1), maybe(&other)));
    check(bj_backend_destroy(other));
    bj_space where = BJ_HOST;
    check(bj_backend_space(maybe(backend_), maybe(&where)));
    check(bj_backend_synchronize(maybe(backend_)));
    FUZZ_EXPECT(*bj_status_name(input_.wild(-1, 9)) != '\0');
    FUZZ_EXPECT(*bj_stop_reason_name(input_.wild(-1, 12)) != '\0');
    index_t available = -1;
    check(bj_cuda_available(maybe(&available)));
  }

  Input& input_;
  Matrix<T> matrix_;
  bj_csr csr_{}, wrong_{};
  bool fails_ = false;
  index_t stop_at_ = 0;
  std::vector<T> b_, x_;
  std::array<double, most_history * longest> history_{};
  bj_backend* backend_ = nullptr;
  bj_partition* partition_ = nullptr;
  bj_block_jacobi* M_ = nullptr;
  bj_operator* A_ = nullptr;
  bj_workspace* workspace_ = nullptr;
};

template <Scalar T>
void run(Input& input) {
  Session<T> session(input);
  for (int k = 0; k < 8; ++k) session.step();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  Input input(data, size);
  switch (input.index(0, 3)) {
    case 0: run<float>(input); break;
    case 1: run<double>(input); break;
    case 2: run<std::complex<float>>(input); break;
    default: run<std::complex<double>>(input); break;
  }
  return 0;
}
