#include <blockjacobi/block_jacobi.hpp>

#include "core/message.hpp"

#include <algorithm>
#include <cmath>

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
    text += detail::message("{}{} x {}", text.empty() ? "" : ", ", sizes[i].second, sizes[i].first);
  }
  return text.empty() ? "none" : text;
}

const char* why_unsuited(Storage storage) {
  if (storage == Storage::packed) return "not Hermitian";
  return storage == Storage::adaptive ? "beyond the accuracy" : "with a row or column stored as zeros";
}

/// "  storage adaptive: 12 fp16, 3 full, 0.01 MB; 2 blocks beyond the accuracy (first: block 5)".
std::string storage_line(const BlockJacobiReport& r) {
  std::string text = detail::message("  storage {}: ", to_string(r.storage));
  for (const auto& [format, count] : r.formats) text += detail::message("{} {}, ", count, to_string(format));
  text += detail::message("{:.2f} MB", static_cast<double>(r.inverse_bytes) * 1e-6);
  if (r.unsuited_blocks > 0)
    text += detail::message("; {} block{} {} (first: block {})", r.unsuited_blocks, r.unsuited_blocks == 1 ? "" : "s",
                            why_unsuited(r.storage), r.first_unsuited);
  return text + "\n";
}

/// A number as JSON has it.
std::string json_number(double value) { return std::isfinite(value) ? detail::message("{}", value) : "null"; }

std::string json_number(const std::optional<double>& value) { return value ? json_number(*value) : "null"; }

/// "[a, b]" of the texts of the elements.
template <class Elements, class Text>
std::string json_array(const Elements& elements, Text text) {
  std::string array;
  for (const auto& element : elements) array += (array.empty() ? "" : ", ") + text(element);
  return "[" + array + "]";
}

index_t row_number(const BlockDefect& d, index_t row) {
  return d.original_rows.empty() ? d.first_row + row : d.original_rows[static_cast<std::size_t>(row)];
}

/// "4..7", or of rows that do not follow each other the first eight.
std::string rows_of(const BlockDefect& d) {
  if (d.original_rows.empty()) return detail::message("{}..{}", d.first_row, d.first_row + d.size - 1);
  constexpr index_t most = 8;
  std::string text;
  for (index_t i = 0; i < std::min(d.size, most); ++i) text += (i > 0 ? ", " : "") + std::to_string(row_number(d, i));
  return d.size > most ? text + detail::message(" and {} more", d.size - most) : text;
}

}  // namespace

const char* to_string(SingularPolicy policy) noexcept {
  switch (policy) {
    case SingularPolicy::fail: return "fail";
    case SingularPolicy::identity: return "identity";
    case SingularPolicy::scalar_jacobi: return "scalar_jacobi";
    case SingularPolicy::shift: return "shift";
    case SingularPolicy::pseudo_inverse: return "pseudo_inverse";
  }
  return "unknown";
}

const char* to_string(Storage storage) noexcept {
  switch (storage) {
    case Storage::full: return "full";
    case Storage::packed: return "packed";
    case Storage::fp32: return "fp32";
    case Storage::bf16: return "bf16";
    case Storage::fp16: return "fp16";
    case Storage::adaptive: return "adaptive";
  }
  return "unknown";
}

BlockJacobiReport in_original_rows(BlockJacobiReport report, const Permutation& permutation) {
  if (permutation.size() != report.rows)
    throw InvalidArgument(detail::message("in_original_rows: a permutation of {} numbers, a report of {} rows",
                                          permutation.size(), report.rows));
  if (std::ranges::any_of(report.defects, [](const BlockDefect& d) { return !d.original_rows.empty(); }))
    throw InvalidArgument("in_original_rows: the report names the original rows already");
  const auto original = permutation.order();
  for (BlockDefect& d : report.defects) {
    const auto own = original.subspan(static_cast<std::size_t>(d.first_row), static_cast<std::size_t>(d.size));
    d.original_rows.assign(own.begin(), own.end());
    if (d.outside >= 0) d.outside = original[static_cast<std::size_t>(d.outside)];
  }
  return report;
}

std::string describe(const BlockDefect& d) {
  const std::string where = detail::message("block {} (rows {})", d.block, rows_of(d));
  if (d.info < 0) {
    const index_t element = -d.info - 1;
    const index_t column = d.outside >= 0 ? d.outside : row_number(d, element / d.size);
    return detail::message("{}: element ({}, {}) of the matrix is NaN or Inf", where, row_number(d, element % d.size),
                           column);
  }
  if (d.info <= d.size) return detail::message("{}: pivot {} is exactly zero", where, d.info);
  if (d.overflows) return detail::message("{}: its inverse overflows, reciprocal condition {:.2e}", where, d.rcond);
  return detail::message("{}: singular to working precision, reciprocal condition {:.2e}", where, d.rcond);
}

std::string to_text(const BlockJacobiReport& r) {
  std::string text = detail::message(
      "block-Jacobi ({}): {} row{} in {} block{}, {:.1f} % of the entries inside, {:.2f} MB\n"
      "  blocks x order: {}\n",
      to_char(r.scalar), r.rows, r.rows == 1 ? "" : "s", r.blocks, r.blocks == 1 ? "" : "s", 100.0 * r.entries_inside,
      static_cast<double>(r.bytes) * 1e-6, histogram(r.sizes));
  if (r.min_rcond_block >= 0)
    text += detail::message("  smallest reciprocal condition {:.2e} (block {})\n", r.min_rcond, r.min_rcond_block);
  if (r.captured) text += detail::message("  captured weight {:.1f} %\n", 100.0 * *r.captured);
  if (r.max_growth)
    text += detail::message("  largest pivot growth {:.2e} (block {})\n", *r.max_growth, r.max_growth_block);
  if (r.storage != Storage::full) text += storage_line(r);
  if (r.times)
    text += detail::message("  analysis {:.2f} ms, inversion {:.2f} ms, repair {:.2f} ms, storage {:.2f} ms\n",
                            1e3 * r.times->analysis, 1e3 * r.times->inversion, 1e3 * r.times->repair,
                            1e3 * r.times->storage);
  if (r.defects.empty()) return text;
  text += detail::message("  {} singular, {} with NaN or Inf; policy {}\n", r.singular_blocks, r.non_finite_blocks,
                          to_string(r.policy));
  for (std::size_t i = 0; i < std::min(r.defects.size(), defects_in_text); ++i)
    text += "    " + describe(r.defects[i]) + "\n";
  if (r.defects.size() > defects_in_text)
    text += detail::message("    and {} more\n", r.defects.size() - defects_in_text);
  return text;
}

std::string to_json(const BlockJacobiReport& r) {
  const std::string sizes = json_array(r.sizes, [](const auto& size) {
    return detail::message(R"({{"rows": {}, "count": {}}})", size.first, size.second);
  });
  const std::string formats = json_array(r.formats, [](const auto& format) {
    return detail::message(R"({{"storage": "{}", "count": {}}})", to_string(format.first), format.second);
  });
  const std::string times =
      r.times ? detail::message(R"({{"analysis": {}, "inversion": {}, "repair": {}, "storage": {}}})",
                                r.times->analysis, r.times->inversion, r.times->repair, r.times->storage)
              : "null";
  const std::string defects = json_array(r.defects, [](const BlockDefect& d) {
    const std::string outside = d.outside >= 0 ? detail::message(R"(, "outside": {})", d.outside) : "";
    const std::string original =
        d.original_rows.empty()
            ? ""
            : R"(, "original_rows": )" + json_array(d.original_rows, [](index_t row) { return std::to_string(row); });
    const std::string overflows = d.overflows ? R"(, "overflows": true)" : "";
    return detail::message(R"({{"block": {}, "first_row": {}, "rows": {}, "info": {}, "rcond": {}{}{}{}}})", d.block,
                           d.first_row, d.size, d.info, json_number(d.rcond), outside, original, overflows);
  });
  return detail::message(
      R"({{"scalar": "{}", "rows": {}, "blocks": {}, "sizes": {}, "entries_inside": {}, "bytes": {}, "storage": "{}", )"
      R"("formats": {}, "inverse_bytes": {}, "unsuited_blocks": {}, "first_unsuited": {}, "singular_policy": "{}", )"
      R"("singular_blocks": {}, "non_finite_blocks": {}, "min_rcond": {}, "min_rcond_block": {}, "defects": {}, )"
      R"("captured": {}, "max_growth": {}, "max_growth_block": {}, "times": {}}})",
      to_char(r.scalar), r.rows, r.blocks, sizes, json_number(r.entries_inside), r.bytes, to_string(r.storage), formats,
      r.inverse_bytes, r.unsuited_blocks, r.first_unsuited, to_string(r.policy), r.singular_blocks, r.non_finite_blocks,
      json_number(r.min_rcond), r.min_rcond_block, defects, json_number(r.captured), json_number(r.max_growth),
      r.max_growth_block, times);
}

}  // namespace blockjacobi
