#include "unit/kernels/designs_table.hpp"

#include "kernels/apply/policy.hpp"
#include "kernels/cholesky/policy.hpp"
#include "kernels/coarse/policy.hpp"
#include "kernels/inverse/policy.hpp"
#include "kernels/krylov/policy.hpp"
#include "kernels/lu/policy.hpp"
#include "kernels/partition/policy.hpp"
#include "kernels/qr/policy.hpp"
#include "kernels/setup/policy.hpp"
#include "kernels/triangular/policy.hpp"

#include <blockjacobi/two_level.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

namespace blockjacobi::kernels {
namespace {

constexpr ScalarType scalars[] = {ScalarType::s, ScalarType::d, ScalarType::c, ScalarType::z};

TEST(Designs, PageSaysWhatThePoliciesSay) {
  std::ifstream file(BLOCKJACOBI_SOURCE_DIR "/docs/kernels/designs.md");
  ASSERT_TRUE(file) << "docs/kernels/designs.md is not there";
  std::stringstream page;
  page << file.rdbuf();
  std::istringstream lines(page.str()), expected_lines(test::designs_table());
  std::string line, expected;
  for (int number = 1; std::getline(expected_lines, expected); ++number) {
    ASSERT_TRUE(std::getline(lines, line)) << "the page ends before line " << number;
    ASSERT_EQ(line, expected) << "line " << number << ": print_designs > docs/kernels/designs.md";
  }
  EXPECT_FALSE(std::getline(lines, line)) << "the page goes on: " << line;
}

TEST(Designs, ThreadBlocksWorkOnLargeOrdersAlone) {
  for (const ScalarType scalar : scalars)
    for (int n = 1; n <= largest_order; ++n) {
      const bool large = n > largest_tiny_order;
      EXPECT_EQ(lu_policy(h200, scalar, n).design >= LuDesign::cta_shared, large) << n;
      EXPECT_EQ(inverse_policy(h200, scalar, n).design >= InverseDesign::cta_whole, large) << n;
      EXPECT_EQ(cholesky_policy(h200, scalar, n).design == CholeskyDesign::cta, large) << n;
      EXPECT_EQ(qr_policy(h200, scalar, n).design == QrDesign::cta, large) << n;
      EXPECT_EQ(setup_policy(h200, scalar, n).design >= SetupDesign::cta_whole, large) << n;
      EXPECT_EQ(triangular_policy(h200, scalar, n, 1).design != TriangularDesign::lanes, large) << n;
    }
}

TEST(Designs, TeamsHaveALaneForEachRow) {
  for (const ScalarType scalar : scalars)
    for (int n = 1; n <= largest_tiny_order; ++n) {
      const LuPolicy lu = lu_policy(h200, scalar, n);
      if (lu.design == LuDesign::team_rows) {
        EXPECT_GE(lu.lanes * lu.rows, n);
      }
      const InversePolicy inverse = inverse_policy(h200, scalar, n);
      if (inverse.design == InverseDesign::team_rows) {
        EXPECT_GE(inverse.lanes * inverse.rows, n);
      }
      const InversePolicy definite = spd_inverse_policy(h200, scalar, n);
      if (definite.design == InverseDesign::team_rows) {
        EXPECT_GE(definite.lanes * definite.rows, n);
      }
      const SetupPolicy setup = setup_policy(h200, scalar, n);
      if (setup.design == SetupDesign::team) {
        EXPECT_GE(setup.lanes * setup.rows, n);
      }
      EXPECT_LE(lu.lanes, 32);
    }
}

TEST(Designs, WarpsHaveAThreadForEachRow) {
  for (const ScalarType scalar : scalars)
    for (int n = largest_tiny_order + 1; n <= largest_order; ++n) {
      const InversePolicy inverse = inverse_policy(h200, scalar, n);
      EXPECT_GE(32 * inverse.warps, n);
      EXPECT_GE(32 * inverse_from_lu_policy(h200, scalar, n).warps, n);
      const LuPolicy lu = lu_policy(h200, scalar, n);
      EXPECT_GE(32 * lu.warps * (lu.design == LuDesign::cta_shared ? lu.rows : 1), n);
      for (const int columns : {1, 4, 16, 17}) EXPECT_GE(32 * triangular_policy(h200, scalar, n, columns).warps, n);
    }
}

TEST(Designs, FewMatricesGoToClusters) {
  const auto ctas = [](ScalarType scalar, int n, int count, int at_a_time) {
    const auto policy = few_inverse_policy(h200, scalar, n, count, [at_a_time](int) { return at_a_time; });
    const bool by_clusters = policy.design == InverseDesign::clusters;
    EXPECT_TRUE(by_clusters || policy == inverse_policy(h200, scalar, n));
    return by_clusters ? policy.ctas : 0;
  };
  EXPECT_EQ(ctas(ScalarType::d, least_cluster_order, 1, 16), 4) << "as many as panels";
  EXPECT_EQ(ctas(ScalarType::d, least_cluster_order - 1, 1, 16), 0);
  EXPECT_EQ(ctas(ScalarType::z, 256, 1, 16), 0);
  EXPECT_EQ(ctas(ScalarType::d, 256, 14, 14), 8);
  EXPECT_EQ(ctas(ScalarType::d, 256, 15, 15), 4);
  EXPECT_EQ(ctas(ScalarType::d, 256, 65, 65), 0);
  EXPECT_EQ(ctas(ScalarType::d, 256, 15, 14), 0) << "a second turn costs more than it saves";
  EXPECT_EQ(ctas(ScalarType::s, 301, 15, 8), 4) << "in two turns";
  EXPECT_EQ(ctas(ScalarType::d, 512, 14, 14), 16) << "8 have no room";
  EXPECT_EQ(ctas(ScalarType::d, 512, 1, 0), 0) << "the device has none";
}

TEST(Designs, FewBlocksAreSetUpByClusters) {
  const auto ctas = [](const Device& device, ScalarType scalar, int n, int count, auto at_a_time) {
    const SetupPolicy policy = few_setup_policy(device, scalar, n, count, at_a_time);
    const bool by_clusters = policy.design == SetupDesign::clusters;
    EXPECT_TRUE(by_clusters || policy == setup_policy(device, scalar, n));
    return by_clusters ? policy.ctas : 0;
  };
  const auto always = [](int number) { return [number](int) { return number; }; };
  EXPECT_EQ(ctas(h200, ScalarType::d, least_cluster_order, 1, always(16)), 4) << "as many as panels";
  EXPECT_EQ(ctas(h200, ScalarType::d, least_cluster_order - 1, 1, always(16)), 0);
  EXPECT_EQ(ctas(h200, ScalarType::c, 256, 1, always(16)), 0);
  EXPECT_EQ(ctas(h200, ScalarType::d, 256, 14, always(14)), 8);
  EXPECT_EQ(ctas(h200, ScalarType::d, 256, 15, always(15)), 4);
  EXPECT_EQ(ctas(h200, ScalarType::s, 256, 64, always(64)), 4);
  EXPECT_EQ(ctas(h200, ScalarType::s, 256, 65, always(65)), 0);
  EXPECT_EQ(ctas(h200, ScalarType::s, 301, 15, always(8)), 4) << "in two turns";
  const auto more_than_8 = [](int number) { return number > 8 ? 8 : 0; };
  EXPECT_EQ(ctas(h200, ScalarType::d, 320, 14, more_than_8), 10) << "8 have no room beside the scales";
  EXPECT_EQ(ctas(h200, ScalarType::d, 512, 1, always(0)), 0) << "nor 16";
  // Between what the inverse has room for, and the inverse beside the scales.
  EXPECT_EQ(inverse_policy(l40, ScalarType::d, 352).design, InverseDesign::cta_streamed);
  EXPECT_EQ(few_setup_policy(l40, ScalarType::d, 352, 1, always(0)).design, SetupDesign::cta_plain);
}

TEST(Designs, OrdersInRandomSequenceAreAppliedByTiles) {
  const auto is_tiled = [](ScalarType scalar, const MixedBlocks& blocks) {
    const ApplyPolicy policy = mixed_apply_policy(h200, scalar, blocks);
    const bool by_tiles = policy.design == ApplyDesign::tiled;
    EXPECT_TRUE(by_tiles || policy == apply_policy(h200, scalar, blocks.largest, {}));
    return by_tiles;
  };
  constexpr offset_t count = 10, least = count * tiled_apply_least_mean_bytes;
  for (const ScalarType scalar : scalars)
    EXPECT_EQ(is_tiled(scalar, {tiled_apply_largest, count, least}), scalar == ScalarType::s);
  constexpr ScalarType s = ScalarType::s;
  EXPECT_FALSE(is_tiled(s, {tiled_apply_largest + 1, count, least}));
  EXPECT_FALSE(is_tiled(s, {tiled_apply_largest, count, least - 1})) << "blocks too small";
  EXPECT_TRUE(is_tiled(s, {tiled_apply_largest, count, least, least / 2}));
  EXPECT_FALSE(is_tiled(s, {tiled_apply_largest, count, least, least / 2 + 1})) << "orders one after the other";
  EXPECT_FALSE(is_tiled(s, {})) << "no blocks";
}

TEST(Designs, LessSharedMemoryChangesDesignsAtMultiplesOf32) {
  const auto check = [](auto policy_of) {
    for (const ScalarType scalar : scalars)
      for (const Device& device : {a100, l40})
        for (int n = largest_tiny_order + 1; n <= largest_order; ++n) {
          const auto policy = policy_of(device, scalar, n);
          EXPECT_TRUE(policy == policy_of(h200, scalar, n) || policy == policy_of(device, scalar, (n + 31) / 32 * 32))
              << n;
        }
  };
  check(lu_policy);
  check(inverse_policy);
  check(inverse_from_lu_policy);
  check(cholesky_inverse_policy);
  check(qr_policy);
  check(setup_policy);
  for (const int columns : {1, 4, 16, 17})
    check([columns](Device device, ScalarType scalar, int n) { return triangular_policy(device, scalar, n, columns); });
}

TEST(Designs, ProductsGoByTheLengthsOfTheRows) {
  using enum CsrProductDesign;
  const auto design = [](const CsrProductCase& given) { return csr_product_policy(given).design; };
  const auto shape = [](offset_t rows, offset_t entries) {
    const CsrProductPolicy policy = csr_product_policy({rows, 1 << 20, entries});
    EXPECT_EQ(policy.shape, csr_shape(rows, entries));
    return policy.shape;
  };
  EXPECT_EQ(design({.rows = 0, .columns = 0, .entries = 0}), zero);
  EXPECT_EQ(csr_shape(0, 0), csr_shapes[0]) << "phases of solvers run without rows, too";
  EXPECT_EQ(design({.rows = 10, .columns = 100, .entries = 120}), streamed);
  EXPECT_EQ(design({.rows = 10, .columns = 100, .entries = 121}), lanes);
  EXPECT_EQ(shape(10, 288), (CsrShape{8, 4}));
  EXPECT_EQ(shape(10, 289), (CsrShape{16, 4}));
  EXPECT_EQ(shape(10, 577), (CsrShape{16, 6}));
  EXPECT_EQ(shape(10, 865), (CsrShape{32, 4}));
  EXPECT_EQ(shape(10, 1153), (CsrShape{32, 8}));
  EXPECT_EQ(shape(10, 100000), (CsrShape{32, 8}));
}

TEST(Designs, ProductsThatAreNotOurs) {
  using enum CsrProductDesign;
  const auto design = [](const CsrProductCase& given) { return csr_product_policy(given).design; };
  EXPECT_EQ(design({.rows = 10, .columns = 500, .entries = 79, .longest_row = 64 + 16 * 7}), streamed);
  EXPECT_EQ(design({.rows = 10, .columns = 500, .entries = 79, .longest_row = 64 + 16 * 7 + 1}), cusparse);
  EXPECT_EQ(design({.rows = 10, .columns = 500, .entries = 200, .longest_row = 64 + 16 * 20}), lanes);
  EXPECT_EQ(design({.rows = 10, .columns = 500, .entries = 200, .longest_row = 64 + 16 * 20 + 1}), cusparse);
  constexpr offset_t n = 1 << 20, most = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(design({.rows = n, .columns = n, .entries = csr_entries_limit}), lanes);
  EXPECT_EQ(design({.rows = n, .columns = n, .entries = csr_entries_limit + 1}), cusparse);
  EXPECT_EQ(design({.rows = n, .columns = n, .entries = most}), cusparse);
  EXPECT_EQ(design({.rows = n, .columns = n, .entries = most, .base = 1}), unlimited) << "the last offset is larger";
  EXPECT_EQ(design({.rows = n, .columns = n, .entries = most + 1}), unlimited);
  EXPECT_EQ(design({.rows = 2, .columns = 3, .entries = 6}), streamed);
  EXPECT_EQ(design({.rows = 2, .columns = 3, .entries = 7}), unlimited) << "duplicates";
}

TEST(Designs, UpdateOfCgLoadsWholePieces) {
  using detail::Format;
  for (const ScalarType scalar : scalars) {
    const int parts = is_complex(scalar) ? 2 : 1, real_bytes = 4 * words(scalar) / parts;
    for (const Format format : {Format::full, Format::packed, Format::fp32, Format::bf16, Format::fp16})
      for (int n = 1; n <= largest_order; ++n) {
        const CgUpdatePolicy policy = cg_update_policy(h200, scalar, n, {.format = format});
        const int bytes = policy.piece * parts * detail::format_part_bytes(format, real_bytes);
        if (policy.design == CgUpdateDesign::pieces) {
          EXPECT_TRUE(bytes == 8 || bytes == 16) << n;
          EXPECT_EQ(n % policy.piece, 0) << n;
        }
        EXPECT_EQ(policy.design == CgUpdateDesign::blocks, n <= largest_tiny_order && format == Format::full) << n;
        const bool narrow = detail::is_narrow(format) && detail::format_part_bytes(format, real_bytes) < real_bytes;
        EXPECT_EQ(policy.piece > 0, n <= largest_tiny_order && narrow && (format == Format::fp32 || n % 4 == 0)) << n;
        // Pieces of a column begin where the one before ends, which takes one order.
        const CgUpdatePolicy mixed = cg_update_policy(h200, scalar, n, {.format = format, .one_order = false});
        EXPECT_NE(mixed.design, CgUpdateDesign::pieces) << n;
      }
  }
}

TEST(Designs, UpdateOfCgWithoutKnownBlocks) {
  EXPECT_EQ(cg_update_policy(h200, ScalarType::d, 8, {.preconditioned = false}).design,
            CgUpdateDesign::unpreconditioned);
  EXPECT_EQ(cg_update_policy(h200, ScalarType::d, 8, {.known = false}).design, CgUpdateDesign::apart);
  EXPECT_EQ(cg_update_policy(h200, ScalarType::d, 8, {.coarse = true, .known = false}).design,
            CgUpdateDesign::coarse_apart);
}

TEST(Designs, SeveralColumnsAreUpdatedByBlocksInFull) {
  const auto design = [](int n, const CgUpdateCase& given) {
    return cg_columns_update_policy(h200, ScalarType::d, n, given).design;
  };
  EXPECT_EQ(design(8, {.preconditioned = false}), CgUpdateDesign::unpreconditioned);
  EXPECT_EQ(design(largest_tiny_order, {}), CgUpdateDesign::blocks);
  EXPECT_EQ(design(largest_tiny_order, {.one_order = false}), CgUpdateDesign::blocks);
  EXPECT_EQ(design(largest_tiny_order + 1, {}), CgUpdateDesign::apart);
  EXPECT_EQ(design(8, {.known = false}), CgUpdateDesign::apart);
  EXPECT_EQ(design(8, {.format = detail::Format::bf16}), CgUpdateDesign::apart);
  EXPECT_EQ(design(8, {.format = detail::Format::fp32}), CgUpdateDesign::apart);
  EXPECT_EQ(design(8, {.coarse = true}), CgUpdateDesign::apart);
}

TEST(Designs, TallPassesHaveRoomForTheirColumns) {
  for (const ScalarType scalar : scalars) {
    const int most = most_tall_columns(scalar);
    for (int columns = 1; columns <= most; ++columns) {
      const OrthogonalizationPolicy policy = orthogonalization_policy(h200, scalar, columns);
      EXPECT_EQ(policy.design, OrthogonalizationDesign::tall) << columns;
      EXPECT_EQ(policy.columns % tall_step, 0) << columns;
      EXPECT_TRUE(policy.columns >= columns && policy.columns < columns + tall_step) << columns;
      EXPECT_LE(policy.columns, most) << columns;
    }
    EXPECT_EQ(orthogonalization_policy(h200, scalar, most + 1).design, OrthogonalizationDesign::apart);
  }
}

TEST(Designs, SmallSystemsReside) {
  const auto reside = [](const Device& device, int n, const IterationCase& given) {
    return iteration_policy(device, ScalarType::d, n, given).design == IterationDesign::resident;
  };
  const IterationPolicy most = iteration_policy(h200, ScalarType::d, 8, {});
  EXPECT_TRUE(reside(h200, largest_tiny_order, {.rows = most.rows, .entries = most.entries}));
  EXPECT_FALSE(reside(h200, largest_tiny_order + 1, {}));
  EXPECT_FALSE(reside(h200, 8, {.rows = 0}));
  EXPECT_FALSE(reside(h200, 8, {.rows = most.rows + 1}));
  EXPECT_FALSE(reside(h200, 8, {.entries = most.entries + 1}));
  EXPECT_TRUE(reside(h200, 8, {.coarse_order = most.coarse_order}));
  EXPECT_FALSE(reside(h200, 8, {.coarse_order = most.coarse_order + 1}));
  EXPECT_FALSE(reside(h200, 8, {.solver = ResidentSolver::bicgstab, .coarse_order = 1}));
  EXPECT_TRUE(reside(h200, 8, {.solver = ResidentSolver::gmres, .restart = resident_restart}));
  EXPECT_FALSE(reside(h200, 8, {.solver = ResidentSolver::gmres, .restart = resident_restart + 1}));
  EXPECT_FALSE(reside({80, 108, 163 << 10}, 8, {})) << "less shared memory";
  EXPECT_FALSE(reside({90, resident_most_ctas + 1, h200.shared_bytes}, 8, {})) << "no room for what they exchange";
}

TEST(Designs, CoarseRowsGoToOneThreadBlockAMultiprocessor) {
  EXPECT_EQ(coarse_solve_rows(h200, 8 * 132), 8);
  EXPECT_EQ(coarse_solve_rows(h200, 8 * 132 + 1), 16);
  EXPECT_EQ(coarse_solve_rows(h200, 16 * 132), 16);
  EXPECT_EQ(coarse_solve_rows(h200, 16 * 132 + 1), 32);
  EXPECT_EQ(coarse_solve_rows(a100, 8 * 132), 16);
  EXPECT_EQ(coarse_solve_rows(a100, max_coarse_size), 32) << "as a warp has lanes, whatever is left to do";
}

TEST(Designs, LanesOfProductsHaveRoomAndWork) {
  const auto lanes = [](SparseProductCase given) { return sparse_product_lanes(h200, given); };
  // The finest level of 7 points on 128^3, and the next ones.
  EXPECT_EQ(lanes({2097152, 14581760, 2097152, 7180000, 16800000}), few_product_lanes);
  EXPECT_EQ(lanes({188540, 7180000, 2097152, 16800000, 6100000}), few_product_lanes);
  EXPECT_EQ(lanes({3696, 1100000, 188540, 2200000, 244000}), 32);
  EXPECT_EQ(lanes({96, 55000, 3696, 92000, 5100}), coarse_threads);
  // Rows of B.
  EXPECT_EQ(lanes({100000, 1, 10, 160, 1}), few_product_lanes);
  EXPECT_EQ(lanes({100000, 1, 10, 161, 1}), 32);
  // Room.
  EXPECT_EQ(lanes({100000, 1, 1, 17, 14400000}), 32) << "192 columns for 144 in the mean";
  EXPECT_EQ(lanes({100000, 1, 1, 17, 14400001}), coarse_threads);
  // Work.
  EXPECT_EQ(lanes({132 * 64, 1, 1, 1, 1}), few_product_lanes);
  EXPECT_EQ(lanes({132 * 64 - 1, 1, 1, 1, 1}), 32);
  EXPECT_EQ(lanes({132 * 4, 1, 1, 1, 1}), coarse_threads);
  EXPECT_EQ(sparse_product_lanes(a100, {132 * 4, 1, 1, 1, 1}), 32);
  EXPECT_EQ(lanes({}), coarse_threads);
  EXPECT_EQ(lanes({96, 55000, 3696, 92000, 5100, true}), few_product_lanes) << "whatever the rows are";
}

TEST(Designs, LanesOfPatternsHaveRoomForHalfTheTerms) {
  const auto lanes = [](SparseProductCase given) { return sparse_pattern_lanes(h200, given); };
  // The finest level of 7 points on 128^3, and the next ones.
  EXPECT_EQ(lanes({2097152, 14581760, 2097152, 2097152}), 8);
  EXPECT_EQ(lanes({2097152, 14581760, 2097152, 7180000}), 8);
  EXPECT_EQ(lanes({188540, 7180000, 2097152, 16800000}), 32);
  EXPECT_EQ(lanes({3696, 1100000, 188540, 2200000}), coarse_threads);
  EXPECT_EQ(lanes({96, 55000, 3696, 92000}), coarse_threads);
  EXPECT_EQ(lanes({100000, 9600000, 10, 10}), 8);
  EXPECT_EQ(lanes({100000, 9600001, 10, 10}), 16);
  EXPECT_EQ(lanes({64 * 132, 64 * 132 * 500, 10, 20}), coarse_threads);
  EXPECT_EQ(lanes({64 * 132 + 1, 64 * 132 * 500, 10, 20}), 32);
  EXPECT_EQ(lanes({}), 8);
}

TEST(Designs, ListsAreSharedOutByTheDevice) {
  constexpr int lane_groups = 8;
  EXPECT_EQ(list_stretch(h200, 0, lane_groups), lane_groups);
  EXPECT_EQ(list_stretch(h200, striding_policy.ctas(h200), lane_groups), 32);
  EXPECT_EQ(list_stretch(h200, 33 * striding_policy.ctas(h200), lane_groups), 64);
  EXPECT_EQ(list_stretch(a100, 33 * striding_policy.ctas(a100), lane_groups), 64);
  EXPECT_EQ(list_stretch(h200, 1 << 30, lane_groups), lists_policy.threads);
}

}  // namespace
}  // namespace blockjacobi::kernels
