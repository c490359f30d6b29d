#include "unit/kernels/designs_table.hpp"

#include "kernels/apply/policy.hpp"
#include "kernels/cholesky/policy.hpp"
#include "kernels/coarse/policy.hpp"
#include "kernels/inverse/policy.hpp"
#include "kernels/krylov/policy.hpp"
#include "kernels/lu/policy.hpp"
#include "kernels/qr/policy.hpp"
#include "kernels/setup/policy.hpp"
#include "kernels/triangular/policy.hpp"

#include <blockjacobi/two_level.hpp>

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace blockjacobi::test {
namespace {

using detail::Format;
using kernels::ApplyCase;
using kernels::Device;

struct NamedDevice {
  const char* name;
  Device device;
};
constexpr NamedDevice devices[] = {{"H200", kernels::h200}, {"A100", kernels::a100}, {"L40", kernels::l40}};
constexpr std::pair<ScalarType, char> scalars[] = {
    {ScalarType::s, 's'}, {ScalarType::d, 'd'}, {ScalarType::c, 'c'}, {ScalarType::z, 'z'}};

/// The numbers that are of concern to the design.
template <class Policy>
std::string numbers_of(const Policy& policy) {
  std::string text;
  for (const kernels::PolicyNumber& number : policy.numbers())
    if (number.value != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", number.name, number.value);
  return text;
}

/// A row for each run of orders `first`..`last` with one policy, those `step` apart; of other devices than the H200
/// where it is another one.
template <class PolicyOf>
std::string rows(const NamedDevice& where, ScalarType scalar, char letter, int first, int last, int step,
                 PolicyOf policy_of) {
  const auto is_shown = [&](int n) {
    return where.device == kernels::h200 ||
           !(policy_of(where.device, scalar, n) == policy_of(kernels::h200, scalar, n));
  };
  std::string text;
  for (int begin = first, end = 0; begin <= last; begin = end + step) {
    end = begin;
    if (!is_shown(begin)) continue;
    const auto policy = policy_of(where.device, scalar, begin);
    while (end + step <= last && policy_of(where.device, scalar, end + step) == policy && is_shown(end + step))
      end += step;
    const std::string orders = begin == end ? fmt::format("{}", begin) : fmt::format("{}-{}", begin, end);
    text += fmt::format("| {} | {} | {} | `{}` | {} |\n", where.name, letter, orders, name(policy.design),
                        numbers_of(policy));
  }
  return text;
}

template <class PolicyOf>
std::string section(const char* title, const char* about, int first, int last, int step, PolicyOf policy_of,
                    const char* of = "order") {
  std::string text =
      fmt::format("\n## {}\n\n{}\n\n| device | scalar | {} | design | numbers |\n| --- | --- | --- | --- | --- |\n",
                  title, about, of);
  for (const NamedDevice& where : devices)
    for (const auto& [scalar, letter] : scalars) text += rows(where, scalar, letter, first, last, step, policy_of);
  return text;
}

std::string apply_section(const char* title, const char* about, const ApplyCase& given) {
  return section(title, about, 1, kernels::largest_order, 1, [given](Device device, ScalarType scalar, int n) {
    return kernels::apply_policy(device, scalar, n, given);
  });
}

/// Orders 1 .. n, as many blocks of each, of which none follow each other.
std::string mixed_apply_section(const char* title, const char* about) {
  return section(title, about, 2, kernels::tiled_apply_largest, 1, [](Device device, ScalarType scalar, int n) {
    kernels::MixedBlocks blocks{n, n};
    for (int k = 1; k <= n; ++k) blocks.bytes += 4 * kernels::words(scalar) * k * k;
    return kernels::mixed_apply_policy(device, scalar, blocks);
  });
}

std::string cg_update_section(const char* title, const char* about, const kernels::CgUpdateCase& given) {
  return section(title, about, 1, kernels::largest_order, 1, [given](Device device, ScalarType scalar, int n) {
    return kernels::cg_update_policy(device, scalar, n, given);
  });
}

/// Orders up to which an H200 has shared memory for clusters: two thread blocks of 4 on a multiprocessor in s and d,
/// and in d up to 8, and 16, for one matrix.
struct ClusterRoom {
  int two_s, two_d, eight_d, sixteen_d;
  /// As few_inverse_policy() asks.
  int at_a_time(ScalarType scalar, int n, int ctas) const {
    if (scalar == ScalarType::d && n > (ctas > 8 ? sixteen_d : eight_d)) return 0;
    const int fit = n <= (scalar == ScalarType::s ? two_s : two_d) ? 2 : 1;
    return fit * kernels::h200.multiprocessors / ctas;
  }
};

/// Of the H200 alone; policy_of(scalar, n, count, at_a_time).
template <class PolicyOf>
std::string few_section(const std::string& title, int count, const ClusterRoom& room, PolicyOf policy_of) {
  return section(title.c_str(),
                 "On the H200, by its shared memory; where it runs fewer clusters at a time, the next of "
                 "`cluster_policies`, and at last as more of them.",
                 kernels::least_cluster_order, kernels::largest_order, 1,
                 [count, room, policy_of](Device, ScalarType scalar, int n) {
                   return policy_of(scalar, n, count, [&](int ctas) { return room.at_a_time(scalar, n, ctas); });
                 });
}

/// The numbers of matrices or blocks between which the design changes.
template <class PolicyOf>
std::string few_sections(const char* operation, const char* of_what, const ClusterRoom& room, PolicyOf policy_of) {
  std::string text;
  for (const auto& [how_many, count] : {std::pair{"up to 14", 14}, {"15 to 32", 32}, {"33 to 64", 64}})
    text += few_section(fmt::format("{}, {} {}", operation, how_many, of_what), count, room, policy_of);
  return text;
}

std::string iterations_section(const char* title, const char* about, kernels::ResidentSolver solver) {
  return section(title, about, 1, kernels::largest_order, 1, [solver](Device device, ScalarType scalar, int n) {
    return kernels::iteration_policy(device, scalar, n, {solver});
  });
}

/// The longest row, of those of up to `most` entries, with which the design stays.
offset_t longest_with(kernels::CsrProductDesign design, kernels::CsrProductCase given, offset_t most) {
  while (given.longest_row < most) {
    ++given.longest_row;
    if (kernels::csr_product_policy(given).design != design) return given.longest_row - 1;
  }
  return most;
}

/// A row for each run of mean lengths with one policy, in tenths of an entry.
std::string csr_section(const char* title, const char* about) {
  constexpr offset_t rows = 10, columns = 1 << 20, last = 2000;
  const auto with = [&](offset_t entries) { return kernels::CsrProductCase{rows, columns, entries}; };
  const auto length = [&](offset_t entries) { return static_cast<double>(entries) / static_cast<double>(rows); };
  std::string text = fmt::format(
      "\n## {}\n\n{}\n\n| mean length | longest row | design | numbers |\n| --- | --- | --- | --- |\n", title, about);
  for (offset_t begin = 1, end = 0; begin <= last; begin = end + 1) {
    const kernels::CsrProductPolicy policy = kernels::csr_product_policy(with(begin));
    for (end = begin; end < last && kernels::csr_product_policy(with(end + 1)) == policy;) ++end;
    const std::string up_to = end < last ? fmt::format("{:.1f}", length(end)) : "";
    text += fmt::format("| {:.1f}-{} | {}-{} | `{}` | {} |\n", length(begin), up_to,
                        longest_with(policy.design, with(begin), columns),
                        end < last ? fmt::format("{}", longest_with(policy.design, with(end), columns)) : "",
                        name(policy.design), numbers_of(policy));
  }
  return text + fmt::format("| any | longer | `{}` |  |\n",
                            name(kernels::csr_product_policy({rows, columns, rows, 0, columns}).design));
}

/// Any scalar; each device has rows of its own, by its multiprocessors.
std::string coarse_section(const char* title, const char* about) {
  std::string text = fmt::format("\n## {}\n\n{}\n\n| device | order | rows |\n| --- | --- | --- |\n", title, about);
  for (const NamedDevice& where : devices)
    for (int begin = 1, end = 0; begin <= max_coarse_size; begin = end + 1) {
      const int rows = kernels::coarse_solve_rows(where.device, begin);
      for (end = begin; end < max_coarse_size && kernels::coarse_solve_rows(where.device, end + 1) == rows;) ++end;
      text += fmt::format("| {} | {}-{} | {} |\n", where.name, begin, end, rows);
    }
  return text;
}

}  // namespace

std::string designs_table() {
  using namespace kernels;
  constexpr int tiny = largest_tiny_order, largest = largest_order;
  std::string text =
      "# Which design runs when\n\n"
      "Printed from the policies (`kernels/*/policy.hpp`) by the program `print_designs`; a test holds this page "
      "against\n"
      "them. The words are explained in docs/architecture.md, what each design does in the header of its name\n"
      "(`kernels/lu/team_rows.cuh`) and what a number is in its policy. Scalars go by LAPACK's letters. Other devices\n"
      "have rows where they differ from the H200: A100 stands for all with 163 KB of shared memory a thread block, "
      "L40\n"
      "for those with 99 KB. They have no clusters.\n";
  text += section("LU factorization", "`getrf` of contiguous matrices.", 1, largest, 1, lu_policy);
  text += section(
      "LU factorization, other batches",
      "`getrf` of matrices that are not contiguous, or of different orders: each goes to the next multiple of 4. Above "
      "32 as contiguous ones.",
      4, tiny, 4, lu_class_policy);
  text += section("Inverse", "`inverse` of contiguous matrices.", 1, largest, 1, inverse_policy);
  text += few_sections("Inverse", "matrices", {256, 152, 320, 512},
                       [](auto... x) { return few_inverse_policy(h200, x...); });
  text += section("Inverse, other batches", "As for LU.", 4, tiny, 4, inverse_class_policy);
  text += section(
      "Inverse of definite matrices",
      "`spd_inverse` of contiguous matrices with full results; `factorized` is by `potrf` and the inverse from it.", 1,
      largest, 1, spd_inverse_policy);
  text += section("Inverse of definite matrices, other batches", "Packed results too.", 1, largest, 1, definite_policy);
  text += section("Inverse from LU", "`getri`.", 1, largest, 1, inverse_from_lu_policy);
  text += section("Pseudo-inverse", "`pseudo_inverse`.", 1, largest, 1, pseudo_inverse_policy);
  text += section("Cholesky factorization", "`potrf` of contiguous matrices.", 1, largest, 1, cholesky_policy);
  text += section("Cholesky factorization, other batches", "As for LU.", 4, tiny, 4, cholesky_class_policy);
  text += section("Inverse from Cholesky", "`potri`, and `spd_inverse` after the factorization.", 1, largest, 1,
                  cholesky_inverse_policy);
  text += section(
      "QR factorization",
      "`geqrf` of contiguous square matrices. Rectangles of up to 32 rows and columns are factorized by groups of "
      "lanes in shared memory, larger ones as squares with their number of rows.",
      1, largest, 1, qr_policy);
  text += section("QR factorization, other batches", "As for LU.", 4, tiny, 4, qr_class_policy);
  for (const auto& [title, columns] : {std::pair{"Triangular solves, one right-hand side", 1},
                                       {"Triangular solves, 2 to 4 right-hand sides", 4},
                                       {"Triangular solves, 5 to 16 right-hand sides", 16},
                                       {"Triangular solves, more right-hand sides", 17}})
    text += section(
        title, "`getrs` and `potrs`.", 1, largest, 1,
        [columns = columns](Device device, ScalarType s, int n) { return triangular_policy(device, s, n, columns); });
  text += section(
      "Set-up",
      "`BlockJacobi`: extraction, equilibration and inversion. Where all blocks of a launch have one order, some "
      "orders have a kernel of their own; all others go to the next multiple of 4.",
      1, largest, 1, setup_policy);
  text +=
      section("Set-up, Hermitian matrices",
              "Blocks above 32, few or many; those that turn out not to be definite go as above, but not by clusters.",
              tiny + 1, largest, 1, definite_setup_policy);
  // Beside the scales.
  text += few_sections("Set-up", "blocks of one order", {256, 144, 312, 488},
                       [](auto... x) { return few_setup_policy(h200, x...); });
  text += apply_section("Apply", "`BlockJacobi::apply` to one vector, blocks in full.", {});
  text += mixed_apply_section("Apply, orders in random sequence",
                              "One vector, blocks in full of all orders up to this one, as many of each. With larger "
                              "ones each order as above.");
  text += apply_section("Apply, bf16 and fp16", "One vector, blocks in 16 bits, all of one order.",
                        {Format::bf16, 1, false, true});
  text += apply_section("Apply, packed", "One vector, packed triangles.", {Format::packed});
  text += apply_section("Apply, several columns", "Blocks in full.", {Format::full, 8});
  text +=
      csr_section("Product with a CSR matrix",
                  "On any device, for one vector: by the mean length of the rows, with none longer than that for the "
                  "ends of a run. `unlimited` for 2^31 entries or more than a matrix without duplicates has.");
  text +=
      cg_update_section("Update of CG", "Blocks in full, by the largest order; BiCGSTAB takes these along too.", {});
  text += cg_update_section("Update of CG, bf16 and fp16", "Blocks of one order; `apart` of several.",
                            {.format = Format::bf16});
  text += cg_update_section("Update of CG, fp32", "Blocks of one order; of several up to 32 `elements` in d and z.",
                            {.format = Format::fp32});
  text += cg_update_section("Update of CG, with a coarse level", "Blocks in full below it; `coarse_apart` of others.",
                            {.coarse = true});
  text += section("Update of CG, several columns", "Blocks in full; `apart` of others.", 1, largest, 1,
                  [](Device device, ScalarType scalar, int n) {
                    return cg_columns_update_policy(device, scalar, n, CgUpdateCase{});
                  });
  text += section("Orthogonalization of GMRES", "By the columns of the basis before the new one.", 1, 64, 1,
                  orthogonalization_policy, "columns");
  text += iterations_section("Iterations of CG",
                             "By the largest order, for blocks in full and systems of no more than these numbers; "
                             "`phases` for larger ones.",
                             ResidentSolver::cg);
  text +=
      iterations_section("Iterations of BiCGSTAB", "The same; `phases` with a coarse level.", ResidentSolver::bicgstab);
  text += iterations_section("Iterations of GMRES", "As for CG.", ResidentSolver::gmres);
  text += coarse_section("Product with the inverse of a coarse matrix", "Rows that a thread block has, in any scalar.");
  return text;
}

}  // namespace blockjacobi::test
