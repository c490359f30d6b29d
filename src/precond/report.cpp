#include <blockjacobi/block_jacobi.hpp>

#include <fmt/format.h>

namespace blockjacobi {

namespace {

constexpr std::size_t defects_in_text = 10;

std::string histogram(const std::vector<std::pair<index_t, index_t>>& sizes) {
  std::string text;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i == 8 && sizes.size() > 9) {  // keep the ends of a long list
      text += ", ...";
      i = sizes.size() - 1;
    }
    text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", sizes[i].second, sizes[i].first);
  }
  return text.empty() ? "none" : text;
}

}  // namespace

const char* to_string(SingularPolicy policy) noexcept {
  switch (policy) {
    case SingularPolicy::fail: return "fail";
    case SingularPolicy::identity: return "identity";
    case SingularPolicy::scalar_jacobi: return "scalar_jacobi";
  }
  return "unknown";
}

std::string describe(const BlockDefect& d) {
  const std::string where = fmt::format("block {} (rows {}..{})", d.block, d.first_row, d.first_row + d.size - 1);
  if (d.info < 0) {
    const index_t element = -d.info - 1;
    return fmt::format("{}: element ({}, {}) of the matrix is NaN or Inf", where, d.first_row + element % d.size,
                       d.first_row + element / d.size);
  }
  if (d.info <= d.size) return fmt::format("{}: pivot {} is exactly zero", where, d.info);
  return fmt::format("{}: singular to working precision, reciprocal condition {:.2e}", where, d.rcond);
}

std::string to_text(const BlockJacobiReport& r) {
  std::string text = fmt::format(
      "block-Jacobi ({}): {} rows in {} blocks, {:.1f} % of the entries inside, {:.2f} MB\n"
      "  blocks x order: {}\n",
      to_char(r.scalar), r.rows, r.blocks, 100.0 * r.captured, static_cast<double>(r.bytes) * 1e-6, histogram(r.sizes));
  if (r.min_rcond_block >= 0)
    text += fmt::format("  smallest reciprocal condition {:.2e} (block {})\n", r.min_rcond, r.min_rcond_block);
  if (r.defects.empty()) return text;
  text += fmt::format("  {} singular, {} with NaN or Inf; policy {}\n", r.singular_blocks, r.non_finite_blocks,
                      to_string(r.policy));
  for (std::size_t i = 0; i < std::min(r.defects.size(), defects_in_text); ++i)
    text += "    " + describe(r.defects[i]) + "\n";
  if (r.defects.size() > defects_in_text) text += fmt::format("    and {} more\n", r.defects.size() - defects_in_text);
  return text;
}

}  // namespace blockjacobi
