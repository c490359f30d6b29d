#include "matrices/generators/elasticity.hpp"
#include "matrices/generators/stencil.hpp"
#include "suggest/captured.hpp"
#include "suggest/cost_model.hpp"
#include "suggest/probe.hpp"
#include "support/messages.hpp"
#include "support/random.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace blockjacobi::test {
namespace {

CsrMatrix<double> banded(index_t n, double near, double far, index_t distance) {
  std::vector<Triplet<double>> entries;
  for (index_t i = 0; i < n; ++i) {
    entries.push_back({i, i, 2.0 * (std::abs(near) + std::abs(far)) + 1e-3});
    for (const auto& [step, value] : {std::pair{index_t{1}, near}, {distance, far}})
      if (value != 0.0 && i + step < n) {
        entries.push_back({i, i + step, value});
        entries.push_back({i + step, i, value});
      }
  }
  return CsrMatrix<double>::from_triplets(n, n, entries);
}

TEST(CostModel, CountsTheBytesOfAnIteration) {
  // cg in double: (8 + 4) nnz + 8 (n + 1) + 16 n, 8 sum N^2 + 16 n, 64 n
  const SuggestOptions options{.bandwidth = 1e9, .latency = 1e-3};
  const auto model = detail::cost_model(Backend::host(2), 100, 500, 8, options);
  const auto blocks = BlockPartition::uniform(100, 10);
  // Inverses are read at twice the rate; the set-up on two threads: 30 us, 25 ns a row, 3.5 ns an entry.
  EXPECT_DOUBLE_EQ(model.iteration_seconds(blocks),
                   1e-3 + (12 * 500 + 8 * 101 + 16 * 100 + 0.5 * 8 * 1000 + 16 * 100 + 64 * 100) / 1e9);
  EXPECT_DOUBLE_EQ(model.setup_seconds(blocks), 30e-6 + (25e-9 * 100 + 3.5e-9 * 500) / 2.0 +
                                                    (12 * 500 + 8 * 1000) / 1e9 + 2.0 * 10 * 1000 / (2 * 7e9));
  auto gmres = options;
  gmres.method = Method::gmres;
  gmres.restart = 9;
  const auto longer = detail::cost_model(Backend::host(2), 100, 500, 8, gmres);
  EXPECT_NEAR(longer.iteration_seconds(blocks) - model.iteration_seconds(blocks), (31.0 - 8.0) * 8 * 100 / 1e9, 1e-15);
  // The first iterations have half of the basis at most.
  EXPECT_NEAR(longer.probe(0.0, 1.0).iteration, 1.0 - 0.5 * 2.5 * 10 * 8 * 100 / 1e9, 1e-15);
  EXPECT_EQ(model.probe(0.0, 1.0).iteration, 1.0);
}

TEST(CostModel, LargeBlocksThatLeaveTheCacheTakeLonger) {
  const auto model = detail::cost_model(Backend::host(1), 10000, 50000, 8, {.bandwidth = 1e9, .latency = 1e-3});
  const auto bytes_of = [&](index_t size) {
    const detail::BlockShape shape(BlockPartition::uniform(10000, size));
    return 1e9 * (model.iteration_seconds(shape) - model.iteration_seconds(detail::BlockShape())) /
           (8.0 * shape.squares);
  };
  EXPECT_NEAR(bytes_of(25), 0.5, 1e-9);
  EXPECT_NEAR(bytes_of(100), 2.0, 1e-9);
  const auto small = detail::cost_model(Backend::host(1), 1000, 5000, 8, {.bandwidth = 1e9, .latency = 1e-3});
  const detail::BlockShape shape(BlockPartition::uniform(1000, 100));
  EXPECT_NEAR(
      1e9 * (small.iteration_seconds(shape) - small.iteration_seconds(detail::BlockShape())) / (8.0 * shape.squares),
      0.5, 1e-9);
}

TEST(CostModel, AMultigridTakesProductsAndApplications) {
  const auto model = detail::cost_model(Backend::host(2), 100, 500, 8, {.bandwidth = 1e9});
  const detail::ProbeCost cost = model.multigrid(BlockPartition::uniform(100, 10));
  EXPECT_DOUBLE_EQ(cost.start, 1e-3 + 500 * (230e-9 + 5 * 3e-9) / 2.0);
  EXPECT_DOUBLE_EQ(cost.iteration, 5e-6 + 4.2 * (12 * 500 + 8 * 101 + 16 * 100 + 0.5 * 8 * 1000 + 16 * 100) / 1e9);
}

TEST(CostModel, AMultigridOnSingleRowsTakesLonger) {
  const auto model = detail::cost_model(Backend::host(2), 100, 500, 8, {.bandwidth = 1e9});
  EXPECT_DOUBLE_EQ(model.multigrid(BlockPartition::uniform(100, 1)).iteration,
                   5e-6 + 7.5 * (12 * 500 + 8 * 101 + 16 * 100 + 0.5 * 8 * 100 + 16 * 100) / 1e9);
}

TEST(PredictedIterations, AreBetweenThePresumedOnesAndThePace) {
  EXPECT_DOUBLE_EQ(detail::depth_of(1e-4, 1e-8), 0.5);
  EXPECT_EQ(detail::depth_of(1e-9, 1e-8), 1.0);
  EXPECT_EQ(detail::depth_of(1.0, 1e-8), 0.0);
  EXPECT_DOUBLE_EQ(detail::predicted_iterations(5, 0.5, 1000.0), 100.0);
  EXPECT_DOUBLE_EQ(detail::predicted_iterations(7, 1.0, 1000.0), 7.0);
}

TEST(PredictedIterations, OfAFastStartAreNearerToThePresumedOnes) {
  EXPECT_DOUBLE_EQ(detail::predicted_iterations(5, 0.5, 1000.0, true), std::pow(10.0, 0.25) * std::pow(1000.0, 0.75));
  EXPECT_DOUBLE_EQ(detail::predicted_iterations(7, 1.0, 1000.0, true), 7.0);
}

TEST(PredictedIterations, AreNoFewerThanAtThePaceOfTheStart) {
  EXPECT_DOUBLE_EQ(detail::predicted_iterations(50, 0.5, 25.0), 100.0);
}

TEST(PredictedIterations, AreThePresumedOnesWhereAFewGainedNothing) {
  EXPECT_EQ(detail::predicted_iterations(7, 0.0, 80.0), 80.0);
  EXPECT_TRUE(std::isinf(detail::predicted_iterations(8, 0.0, 80.0)));
}

TEST(Suggest, ReportsEveryCandidate) {
  const auto a = banded(600, -1.0, -1.0, 25);
  const Suggestion s = suggest(Backend::host(), a, {.probe_share = 1.0});
  ASSERT_GE(s.candidates.size(), 5U);
  EXPECT_EQ(s.candidates[0].name, "scalar");
  EXPECT_EQ(s.candidates[0].captured, 0.0);
  EXPECT_EQ(s.candidates[0].bytes, 600 * sizeof(double));
  for (const BlockCandidate& c : s.candidates) {
    EXPECT_EQ(c.blocks.rows(), 600) << c.name;
    EXPECT_GE(c.captured, 0.0);
    EXPECT_LE(c.captured, 1.0);
    EXPECT_GT(c.iteration_seconds, 0.0);
    EXPECT_DOUBLE_EQ(c.seconds, c.setup_seconds + c.iterations * c.iteration_seconds);
  }
  EXPECT_EQ(s.candidates[1].name, "node");
  EXPECT_EQ(s.candidates[4].name, "detect 32");
  EXPECT_NEAR(s.candidates[4].captured, (31.0 + 7.0) / 32.0 / 2.0, 0.02);
  EXPECT_TRUE(s.candidates.front().probed);
}

TEST(Suggest, BlocksDoNotPayForADiagonalMatrix) {
  const Suggestion s = suggest(Backend::host(), banded(500, 0.0, 0.0, 2));
  EXPECT_FALSE(s.blocks_pay());
  EXPECT_NE(to_text(s).find("blocks do not pay"), std::string::npos);
}

TEST(Suggest, TextSaysWhereEveryProbeBrokeDown) {
  Suggestion s;
  s.candidates.resize(1);
  s.candidates[0].name = "scalar";
  s.candidates[0].probed = s.candidates[0].failed = true;
  EXPECT_NE(to_text(s).find("recommended: scalar, since every probe broke down"), std::string::npos);
}

TEST(Suggest, BlocksPayWhereTheyHoldTheCouplings) {
  // Chains of 10 rows, each nearly singular, that are all but cut from each other.
  std::vector<Triplet<double>> entries;
  Random random(8);
  const index_t n = 3000;
  std::vector<double> diagonal(static_cast<std::size_t>(n), 1e-3);
  for (index_t i = 0; i + 1 < n; ++i) {
    const double value = i % 10 == 9 ? 1e-4 : 2.0 + random.real();
    entries.push_back({i, i + 1, -value});
    entries.push_back({i + 1, i, -value});
    diagonal[static_cast<std::size_t>(i)] += value;
    diagonal[static_cast<std::size_t>(i) + 1] += value;
  }
  for (index_t i = 0; i < n; ++i) entries.push_back({i, i, diagonal[static_cast<std::size_t>(i)]});
  const auto a = CsrMatrix<double>::from_triplets(n, n, entries);
  for (const Method method : {Method::cg, Method::gmres}) {
    const Suggestion s = suggest(Backend::host(), a, {.method = method});
    EXPECT_TRUE(s.blocks_pay()) << to_text(s);
    EXPECT_GT(s.best().captured, 0.9) << to_text(s);
  }
}

TEST(Suggest, AFailedProbeIsNotRecommended) {
  // Indefinite: cg breaks down with any blocks but says so.
  auto a = banded(20000, -1.0, 0.0, 2);
  for (double& v : a.values()) v = v > 0.0 ? 0.5 : v;
  const Suggestion s = suggest(Backend::host(), a, {.probe_share = 1.0});
  EXPECT_TRUE(s.candidates[0].failed);
  EXPECT_TRUE(std::isinf(s.candidates[0].iterations));
  EXPECT_NE(to_json(s).find("\"iterations\": null"), std::string::npos);
  EXPECT_TRUE(std::ranges::any_of(s.candidates, [&s](const BlockCandidate& c) {
    return c.failed && !(c.blocks == s.candidates[0].blocks);
  })) << to_text(s);
  EXPECT_FALSE(s.best().failed) << to_text(s);
}

TEST(Suggest, AFailedProbeIsNotRecommendedWhereTheOtherGainedNothing) {
  int failed = 0;
  for (unsigned seed = 1; seed <= 150; ++seed) {
    Random random(seed);
    const index_t n = 20 + random.index(60);
    std::vector<Triplet<double>> entries;
    for (index_t i = 0; i < n; ++i)
      for (int k = 0; k < 5; ++k) entries.push_back({i, k == 0 ? i : random.index(n), random.scalar<double>()});
    const Suggestion s =
        suggest(Backend::host(1), CsrMatrix<double>::from_triplets(n, n, entries), {.probe_share = 1.0});
    const auto all = std::ranges::count_if(s.candidates, &BlockCandidate::failed);
    if (all == std::ssize(s.candidates)) continue;
    EXPECT_FALSE(s.best().failed) << "seed " << seed << "\n" << to_text(s);
    failed += all > 0;
  }
  EXPECT_GT(failed, 0) << "no probe failed alone";
}

TEST(Suggest, BlocksThatFailedFailUnderEveryName) {
  // Coupled so weakly that coupled blocks are those of scalar Jacobi; mostly negative.
  std::vector<Triplet<double>> entries;
  for (index_t i = 0; i < 400; ++i) {
    entries.push_back({i, i, i % 8 == 0 ? 1.0 : -1.0});
    entries.push_back({i, (i + 100) % 400, 1e-3});
  }
  const Suggestion s =
      suggest(Backend::host(), CsrMatrix<double>::from_triplets(400, 400, entries), {.probe_share = 1.0});
  const BlockCandidate& scalar = s.candidates.front();
  ASSERT_TRUE(scalar.failed) << to_text(s);
  int names = 0;
  for (const BlockCandidate& c : s.candidates) {
    EXPECT_TRUE(!(c.blocks == scalar.blocks) || c.failed) << c.name;
    names += c.blocks == scalar.blocks;
  }
  EXPECT_GT(names, 1);
  EXPECT_FALSE(s.best().failed) << to_text(s);
}

TEST(Suggest, TheFastestProbeIsRecommended) {
  // Blocks that hold all couplings, and far ones that they do not hold but pay for.
  for (const double near : {-1.0, -0.1}) {
    const Suggestion s = suggest(Backend::host(1), banded(4000, near, -0.3, 900), {.probe_share = 1.0});
    const BlockCandidate& scalar = s.candidates.front();
    const BlockCandidate* fastest = &scalar;
    int probed = 0;
    for (const BlockCandidate& c : s.candidates) {
      probed += c.probed;
      if (c.probed && c.seconds < fastest->seconds) fastest = &c;
    }
    ASSERT_GE(probed, 2) << to_text(s);
    EXPECT_EQ(&s.best(), fastest->seconds <= 0.95 * scalar.seconds ? fastest : &scalar) << to_text(s);
  }
}

TEST(Suggest, AProbeOfBlocksThatMustNotBeSingularFails) {
  const std::vector<Triplet<double>> ones{{0, 0, 1.0}, {0, 1, 1.0}, {1, 0, 1.0}, {1, 1, 1.0}};
  const SparseMatrix<double> a(Backend::host(), CsrMatrix<double>::from_triplets(2, 2, ones));
  BlockCandidate candidate;
  candidate.blocks = BlockPartition::uniform(2, 2);
  candidate.permutation = Permutation::identity(2);
  const std::vector<double> b(2, 1.0);
  EXPECT_FALSE(detail::probe_candidate(a, candidate, b, {}, 1, 1.0).failed);
  const auto probe = detail::probe_candidate(a, candidate, b, {.singular = SingularPolicy::fail}, 1, 1.0);
  EXPECT_TRUE(probe.failed);
}

TEST(Suggest, WithoutAProbeTheModelDecides) {
  const Suggestion s = suggest(Backend::host(), banded(300, -1.0, 0.0, 2), {.probe_share = 0.0});
  const BlockCandidate* fastest = &s.candidates.front();
  for (const BlockCandidate& c : s.candidates) {
    EXPECT_FALSE(c.probed);
    if (c.seconds < fastest->seconds) fastest = &c;
  }
  EXPECT_EQ(s.probe_seconds, 0.0);
  ASSERT_LT(fastest->seconds, 0.5 * s.candidates.front().seconds) << to_text(s);
  EXPECT_EQ(&s.best(), fastest) << to_text(s);
}

/// Products with A: iterations, the residual before and after each probe, and the right-hand side.
double products(const Suggestion& s) {
  double count = 0.0;
  for (const BlockCandidate& c : s.candidates)
    if (c.probed) count += c.probe_iterations + 2.0;
  return count > 0.0 ? count + 1.0 : 0.0;
}

void expect_probes_within_budget(const Backend& backend, const CsrMatrix<double>& a, const SuggestOptions& options) {
  SuggestOptions unprobed = options;
  unprobed.probe_share = 0.0;
  const double presumed = suggest(backend, a, unprobed).best().seconds;
  const Suggestion s = suggest(backend, a, options);
  EXPECT_LE(s.probe_cost, s.probe_budget);
  double longest = presumed;
  for (const BlockCandidate& c : s.candidates)
    if (std::isfinite(c.seconds)) longest = std::max(longest, c.seconds);
  EXPECT_LE(s.probe_cost, options.probe_share * longest) << to_text(s);
}

TEST(Suggest, ProbesKeepToTheirBudget) {
  for (const double near : {-1.0, -0.1, 0.0})
    for (const Method method : {Method::cg, Method::gmres})
      for (const double share : {0.01, 0.1, 1.0}) {
        expect_probes_within_budget(Backend::host(1), banded(4000, near, -1.0, 60),
                                    {.method = method, .probe_share = share});
        if (Backend::cuda_available())
          expect_probes_within_budget(Backend::cuda(), banded(4000, near, -1.0, 60),
                                      {.method = method, .probe_share = share});
      }
}

TEST(Suggest, ProbesTakeTheirShareOfTheProductsOfASolve) {
  const auto host = Backend::host(1);
  const index_t n = 40000;
  const double share = 0.25;
  const auto a = banded(n, -1.0, -1.0, 200);
  // An iteration with a level above the blocks has other products.
  const Suggestion s = suggest(host, a, {.probe_share = share, .coarse = false});
  ASSERT_TRUE(s.candidates.front().probed) << to_text(s);
  const std::vector<double> b(n, 1.0);
  std::vector<double> x(n, 0.0);
  const SuggestedSystem<double> system(SparseMatrix<double>(host, a), s.best());
  const SolveReport report = system.solve(Method::cg, b, x);
  ASSERT_TRUE(report.converged());
  EXPECT_LE(products(s), share * report.iterations) << to_text(s);
}

TEST(Suggest, WhatTheFirstProbeLeavesNothingForIsNotProbed) {
  // One iteration of scalar Jacobi says that a few will do.
  const Suggestion s = suggest(Backend::host(1), banded(3000, -1e-6, 0.0, 2), {.probe_share = 0.5});
  EXPECT_TRUE(s.candidates.front().probed) << to_text(s);
  EXPECT_FALSE(s.candidates.back().probed) << to_text(s);
}

TEST(Suggest, WithoutTheFirstProbeThereIsNoSecond) {
  const Suggestion s = suggest(Backend::host(1), banded(3000, -1.0, -1.0, 25), {.probe_share = 1e-9});
  for (const BlockCandidate& c : s.candidates) EXPECT_FALSE(c.probed) << to_text(s);
  EXPECT_EQ(s.probe_cost, 0.0);
}

TEST(Suggest, OnADeviceThereAreNoCoupledBlocks) {
  if (!Backend::cuda_available()) GTEST_SKIP() << "no CUDA device";
  // A tenth of such a solve on a device is too little for the checks of a probe.
  const Suggestion s = suggest(Backend::cuda(), banded(3000, -1.0, -1.0, 25), {.probe_share = 1.0});
  EXPECT_TRUE(s.candidates.front().probed) << to_text(s);
  for (const BlockCandidate& c : s.candidates) EXPECT_NE(c.name, "coupled 32");
}

/// A chain, numbered at random: no neighbours share a block.
SparseMatrix<double> scattered_chain(index_t n, const Backend& backend = Backend::host(1)) {
  const auto number = [n](index_t i) { return static_cast<index_t>(std::int64_t{i} * 3677 % n); };
  std::vector<Triplet<double>> entries;
  for (index_t i = 0; i < n; ++i) {
    entries.push_back({number(i), number(i), 2.0 + 1e-6});
    if (i + 1 == n) continue;
    entries.push_back({number(i), number(i + 1), -1.0});
    entries.push_back({number(i + 1), number(i), -1.0});
  }
  return {backend, CsrMatrix<double>::from_triplets(n, n, entries)};
}

TEST(Suggest, ClustersPayWhereTheSolveIsLong) {
  const SparseMatrix<double> a = scattered_chain(10000);
  const Suggestion s = suggest(a, {.method = Method::gmres, .probe_share = 1.0});
  const auto has = [&s](const std::string& name) {
    return std::ranges::any_of(s.candidates, [&](const BlockCandidate& c) { return c.name.starts_with(name); });
  };
  EXPECT_TRUE(has("clusters")) << to_text(s);
  EXPECT_FALSE(s.best().permutation.is_identity()) << to_text(s);
  EXPECT_NE(to_json(s).find("\"renumbered\": true"), std::string::npos);
  for (const BlockCandidate& c : suggest(a, {.method = Method::gmres, .probe_share = 1.0, .coarse = false}).candidates)
    EXPECT_FALSE(c.coarse) << c.name;
  for (const BlockCandidate& c :
       suggest(a, {.method = Method::gmres, .probe_share = 1.0, .renumber = false}).candidates)
    EXPECT_TRUE(c.permutation.is_identity()) << c.name;
}

TEST(Suggest, ACoarseLevelThatIsPredictedToPayIsRecommendedWithoutAProbe) {
  const SuggestOptions options{.method = Method::gmres, .probe_share = 0.0, .renumber = false};
  const SparseMatrix<double> a = scattered_chain(2000);
  const Suggestion s = suggest(a, options);
  EXPECT_TRUE(s.best().coarse) << to_text(s);
  EXPECT_FALSE(s.best().probed);
  auto without = options;
  without.coarse = false;
  for (const BlockCandidate& c : suggest(a, without).candidates) EXPECT_FALSE(c.coarse) << c.name;
}

/// On a square of so many points a side.
CsrMatrix<double> diffusion(index_t edge) { return matrices::stencil<double>({.grid = {edge, edge, 1}}); }

bool has_multigrid(const BlockCandidate& c) { return c.multigrid.has_value(); }

/// Where iterations are dear, small systems are as large ones.
SuggestOptions slow_iterations(double probe_share = 0.0) { return {.probe_share = probe_share, .latency = 1e-2}; }

TEST(Suggest, AMultigridIsRecommendedForADiffusion) {
  const SparseMatrix<double> a(Backend::host(1), diffusion(60));
  for (const double share : {0.0, 1.0}) {
    SuggestOptions options = slow_iterations(share);
    options.renumber = share == 0.0;  // else probes of clusters leave nothing for one of the multigrid
    const Suggestion s = suggest(a, options);
    const BlockCandidate& best = s.best();
    ASSERT_TRUE(best.multigrid) << to_text(s);
    EXPECT_FALSE(best.coarse);
    EXPECT_TRUE(best.name.ends_with(" + multigrid")) << best.name;
    EXPECT_EQ(best.probed, share > 0.0) << to_text(s);
    EXPECT_NE(to_json(s).find("\"coarse\": false, \"multigrid\": true"), std::string::npos);
    EXPECT_LE(s.probe_cost, s.probe_budget);
    const auto base =
        std::ranges::find(s.candidates, best.name.substr(0, best.name.find(" + ")), &BlockCandidate::name);
    ASSERT_NE(base, s.candidates.end()) << to_text(s);
    EXPECT_EQ(base->blocks, best.blocks);
    if (share == 0.0) {
      EXPECT_DOUBLE_EQ(best.iterations, 2.0 * std::sqrt(base->iterations));
    }
    std::vector<double> b(static_cast<std::size_t>(a.rows()), 1.0), x(b.size());
    const SolveReport report = SuggestedSystem<double>(a, best).solve(Method::cg, b, x);
    EXPECT_TRUE(report.converged());
    EXPECT_LE(report.iterations, 2 * best.iterations) << to_text(s);
  }
}

TEST(Suggest, AMultigridIsOfLargeHermitianDiffusions) {
  const Backend host = Backend::host(1);
  const auto weighs_multigrid = [&](const CsrMatrix<double>& a, SuggestOptions options) {
    return std::ranges::any_of(suggest(host, a, options).candidates, has_multigrid);
  };
  const CsrMatrix<double> a = diffusion(60);
  EXPECT_TRUE(weighs_multigrid(a, slow_iterations()));
  SuggestOptions options = slow_iterations();
  options.coarse = false;
  EXPECT_FALSE(weighs_multigrid(a, options));
  options = slow_iterations();
  options.method = Method::gmres;
  EXPECT_FALSE(weighs_multigrid(a, options));
  EXPECT_FALSE(weighs_multigrid(diffusion(22), slow_iterations())) << "484 rows";
  EXPECT_FALSE(weighs_multigrid(matrices::elasticity<double>({.elements = {8, 8, 8}}), slow_iterations()));
  CsrMatrix<double> rounded = a, unsymmetric = a;
  rounded.values()[1] *= 1.0 + 1e-15;
  unsymmetric.values()[1] *= 1.0 + 1e-6;
  EXPECT_TRUE(weighs_multigrid(rounded, slow_iterations()));
  EXPECT_FALSE(weighs_multigrid(unsymmetric, slow_iterations()));
  EXPECT_TRUE(std::ranges::any_of(
      suggest(SparseMatrix<double>(host, unsymmetric, {.symmetry = Symmetry::symmetric}), slow_iterations()).candidates,
      has_multigrid));
}

TEST(Suggest, AMultigridThatTakesLongerIsNotMade) {
  const Suggestion s = suggest(Backend::host(1), diffusion(60));
  EXPECT_TRUE(std::ranges::none_of(s.candidates, has_multigrid)) << to_text(s);
}

TEST(Suggest, ACoarseLevelIsProbedWithWhatIsLeftOfTheBudget) {
  const SparseMatrix<double> a(Backend::host(1), diffusion(100));
  const auto coarse = [](const BlockCandidate& c) { return c.coarse.has_value(); };
  const Suggestion s = suggest(a, {.probe_share = 1.0});
  const auto found = std::ranges::find_if(s.candidates, coarse);
  ASSERT_NE(found, s.candidates.end()) << to_text(s);
  EXPECT_TRUE(found->probed) << to_text(s);
  EXPECT_GE(found->probe_iterations, 1) << to_text(s);  // whatever the coarse level does to the residual before
  EXPECT_LE(s.probe_cost, s.probe_budget);
  EXPECT_TRUE(std::ranges::none_of(suggest(a).candidates, coarse));
}

TEST(Suggest, WhatTakesWorkIsMadeOnlyWhereItIsPredictedToBeTheFastest) {
  // Few iterations, and none that are saved.
  const Suggestion s = suggest(Backend::host(1), banded(3000, -1e-6, 0.0, 2));
  for (const BlockCandidate& c : s.candidates) EXPECT_TRUE(c.permutation.is_identity() && !c.coarse) << c.name;
}

TEST(Suggest, IterationsArePresumedToGrowWithTheEdgeOfAMesh) {
  const auto of = [](Method method, const CsrMatrix<double>& a) {
    const SuggestOptions options{.method = method, .probe_share = 0.0, .renumber = false, .coarse = false};
    return suggest(Backend::host(1), a, options).candidates.front().iterations;
  };
  const auto presumed = [&](index_t n, Method method, double near) { return of(method, banded(n, near, 0.0, 2)); };
  EXPECT_EQ(presumed(1000, Method::cg, 1.0), 120.0);
  EXPECT_EQ(presumed(30000, Method::cg, 1.0), 120.0);
  EXPECT_NEAR(presumed(240000, Method::cg, 1.0), 240.0, 1e-9);
  EXPECT_EQ(presumed(1000, Method::gmres, -1.0), 300.0);
  EXPECT_NEAR(presumed(240000, Method::gmres, -1.0), 600.0, 1e-9);
  // A diffusion with few entries a row, and one that is plane or not.
  EXPECT_NEAR(presumed(10000, Method::cg, -1.0), 230.0, 1e-9);
  EXPECT_NEAR(presumed(90000, Method::cg, -1.0), 690.0, 1e-9);
  matrices::StencilOptions grid;
  grid.grid = {300, 100, 1};
  grid.shape = matrices::StencilShape::box;
  EXPECT_EQ(of(Method::cg, matrices::stencil<double>(grid)), 120.0);
  grid.grid = {300, 900, 1};
  EXPECT_NEAR(of(Method::cg, matrices::stencil<double>(grid)), 360.0, 1e-9);
}

TEST(Suggest, IterationsFollowTheWeightThatIsLeftOutside) {
  const Suggestion s = suggest(Backend::host(1), banded(3000, -1.0, -0.2, 25), {.probe_share = 0.0});
  const double scalar = 2.3 * std::sqrt(3000.0);
  for (const BlockCandidate& c : s.candidates) {
    const double alone = scalar * std::pow(1.0 - c.captured, 0.7);
    const double with_level = c.coarse && c.coarse->relaxed > 0 ? 0.5 : 0.7;
    EXPECT_NEAR(c.iterations,
                c.multigrid ? 2.0 * std::sqrt(alone)
                : c.coarse  ? with_level * alone
                            : alone,
                1e-9)
        << c.name;
  }
}

TEST(Suggest, CoupledBlocksAreFoundWhereASolveIsLong) {
  const auto has_coupled = [](Method method, double value) {
    const Suggestion s = suggest(Backend::host(1), banded(3000, 0.0, value, 900), {.method = method});
    return std::ranges::find(s.candidates, "coupled 32", &BlockCandidate::name) != s.candidates.end();
  };
  EXPECT_FALSE(has_coupled(Method::cg, -1.0));
  EXPECT_TRUE(has_coupled(Method::gmres, -1.0));
}

TEST(Suggest, DetectedBlocksAreThoseOfThePartition) {
  for (const index_t node : {1, 3, 8, 11}) {
    std::vector<Triplet<double>> entries;
    constexpr index_t n = 330;
    for (index_t i = 0; i < n; ++i)
      for (index_t j = i / node * node; j < std::min(n, (i / node + 1) * node); ++j)
        entries.push_back({i, j, i == j ? 20.0 : -1.0});
    const SparseMatrix<double> a(Backend::host(1), CsrMatrix<double>::from_triplets(n, n, entries));
    const Suggestion s = suggest(a);
    for (const auto& [index, size] : {std::pair{2, 8}, {3, 16}, {4, 32}})
      EXPECT_EQ(s.candidates[static_cast<std::size_t>(index)].blocks, BlockPartition::detect(a, size)) << node;
  }
}

TEST(Suggest, NodesAreThoseOfTheStatedBlockSize) {
  const SparseMatrix<double> a(Backend::host(1), banded(600, -1.0, -1.0, 25), {.block_size = 3});
  EXPECT_EQ(suggest(a).candidates[1].blocks, BlockPartition::uniform(600, 3));
}

TEST(CapturedWeights, CountCouplingsInsideTheBlocks) {
  // |a_01| / sqrt(4 * 1) = 0.5, |a_12| / sqrt(1 * 9) = 1 after the minimum, and their transposes.
  const auto a = CsrMatrix<double>::from_triplets(
      3, 3,
      std::vector<Triplet<double>>{
          {0, 0, 4.0}, {0, 1, -1.0}, {1, 0, -1.0}, {1, 1, 1.0}, {1, 2, 6.0}, {2, 1, 6.0}, {2, 2, 9.0}});
  const auto pair = BlockPartition::from_offsets({0, 2, 3}), all = BlockPartition::uniform(3, 3),
             none = BlockPartition::uniform(3, 1);
  const auto captured = detail::captured_weights(a.view(), {&pair, &all, &none}, 1);
  EXPECT_EQ(captured, (std::vector<double>{1.0 / 3.0, 1.0, 0.0}));
}

TEST(CapturedWeights, KnowTheStrongestCouplingOfEachRow) {
  // Weights of the rows: 1 and 0.5, 1, 0.5, none.
  const auto a = CsrMatrix<double>::from_triplets(
      4, 4,
      std::vector<Triplet<double>>{
          {0, 0, 4.0}, {0, 1, 9.0}, {0, 2, -2.0}, {1, 0, 9.0}, {1, 1, 4.0}, {2, 0, -2.0}, {2, 2, 4.0}, {3, 3, 1.0}});
  detail::CouplingShares shares;
  detail::captured_weights(a.view(), {}, 1, &shares);
  EXPECT_DOUBLE_EQ(shares.strongest, 2.5 / 3.0);
  EXPECT_DOUBLE_EQ(shares.positive, 2.0 / 3.0);
  detail::captured_weights(banded(5, 0.0, 0.0, 2).view(), {}, 1, &shares);
  EXPECT_EQ(shares.strongest, 1.0);
  EXPECT_EQ(shares.positive, 0.0);
}

TEST(CapturedWeights, KnowThePositiveRealParts) {
  using C = std::complex<double>;
  const auto a = CsrMatrix<C>::from_triplets(
      2, 2, std::vector<Triplet<C>>{{0, 0, 10.0}, {0, 1, C(3.0, 4.0)}, {1, 0, C(-3.0, 4.0)}, {1, 1, 10.0}});
  detail::CouplingShares shares;
  detail::captured_weights(a.view(), {}, 1, &shares);
  EXPECT_DOUBLE_EQ(shares.positive, 0.3);
}

TEST(CapturedWeights, OfRenumberedRowsAreThoseOfTheRenumberedMatrix) {
  const auto a = banded(3000, -1.0, -0.3, 30);
  const PermutedPartition found = BlockPartition::clusters(a.view(), 16);
  ASSERT_FALSE(found.permutation.is_identity());
  const PermutedMatrix<double> renumbered(a.view(), found.permutation);
  for (const int threads : {1, 4})
    EXPECT_NEAR(detail::captured_weight(a.view(), found, threads),
                detail::captured_weights(renumbered.view(), {&found.blocks}, 1)[0], 1e-12);
}

TEST(CapturedWeights, DoNotDependOnTheThreads) {
  Random random(3);
  std::vector<Triplet<double>> entries;
  const index_t n = 5000;
  for (index_t i = 0; i < n; ++i)
    for (index_t j = std::max(index_t{0}, i - 5); j < std::min(n, i + 6); ++j) entries.push_back({i, j, random.real()});
  const auto a = CsrMatrix<double>::from_triplets(n, n, entries);
  const auto blocks = BlockPartition::uniform(n, 7);
  detail::CouplingShares of_one, of_four;
  EXPECT_EQ(detail::captured_weights(a.view(), {&blocks}, 1, &of_one),
            detail::captured_weights(a.view(), {&blocks}, 4, &of_four));
  EXPECT_EQ(of_one.strongest, of_four.strongest);
  EXPECT_EQ(of_one.positive, of_four.positive);
}

TEST(Suggest, TheSameInputGivesTheSameRecommendation) {
  const auto a = banded(900, -1.0, -0.3, 30);
  const Suggestion s = suggest(Backend::host(), a), t = suggest(Backend::host(), a);
  EXPECT_EQ(s.recommended, t.recommended);
  for (std::size_t i = 0; i < s.candidates.size(); ++i) EXPECT_EQ(s.candidates[i].seconds, t.candidates[i].seconds);
}

TEST(Suggest, TakesEmptyAndTinyMatrices) {
  EXPECT_FALSE(suggest(Backend::host(), CsrMatrix<double>()).blocks_pay());
  EXPECT_EQ(suggest(Backend::host(), banded(1, 0.0, 0.0, 1)).candidates.size(), 6U);
}

TEST(Suggest, NamesAnEntryThatIsNotFinite) {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const auto expect_named = [](const auto& matrix) {
    const Suggestion s = suggest(Backend::host(), matrix);
    EXPECT_EQ(s.non_finite, std::pair(index_t{17}, index_t{18}));
    ASSERT_EQ(s.candidates.size(), 1U);
    EXPECT_EQ(s.best().name, "scalar");
    EXPECT_TRUE(std::isinf(s.best().seconds));
    EXPECT_NE(to_text(s).find("recommended: scalar, since element (17, 18) of the matrix is NaN or Inf"),
              std::string::npos);
    EXPECT_NE(to_json(s).find("\"non_finite\": [17, 18]"), std::string::npos);
    const SparseMatrix A(Backend::host(), matrix);
    EXPECT_GT(SuggestedSystem(A, s.best()).matrix().rows(), 0);
  };
  for (const double bad : {nan, inf, -inf})
    for (const index_t rows : {600, 20000}) {  // on one thread, and on all
      auto a = banded(rows, -1.0, 0.0, 2);
      a.values()[static_cast<std::size_t>(a.row_offsets()[17] + 2)] = bad;
      a.values()[static_cast<std::size_t>(a.row_offsets()[static_cast<std::size_t>(rows) - 1])] = bad;
      expect_named(a);
      std::vector<std::complex<double>> values(a.values().begin(), a.values().end());
      for (auto& value : values) value = {0.5, value.real()};
      expect_named(CsrMatrix<std::complex<double>>(rows, rows, {a.row_offsets().begin(), a.row_offsets().end()},
                                                   {a.columns().begin(), a.columns().end()}, std::move(values)));
    }
  const Suggestion s = suggest(Backend::host(), banded(600, -1.0, 0.0, 2));
  EXPECT_FALSE(s.non_finite);
  EXPECT_NE(to_json(s).find("\"non_finite\": null"), std::string::npos);
}

TEST(Suggest, RefusesWhatItCannotUse) {
  const auto host = Backend::host();
  const auto a = banded(4, -1.0, 0.0, 2);
  const CsrMatrix<double> rectangle(2, 3, {0, 0, 0}, {}, {});
  EXPECT_EQ(message_of([&] { (void)suggest(host, rectangle); }), "suggest: the matrix is 2 x 3, must be square");
  EXPECT_EQ(message_of([&] { (void)suggest(host, a, {.rtol = 1.0}); }), "suggest: rtol is 1, must be between 0 and 1");
  EXPECT_EQ(message_of([&] { (void)suggest(host, a, {.probe_share = 2.0}); }),
            "suggest: probe_share is 2, must be in [0, 1]");
  EXPECT_EQ(message_of([&] { (void)suggest(host, a, {.restart = 0}); }), "suggest: restart is 0, must be >= 1");
  EXPECT_EQ(message_of([&] { (void)suggest(host, a, {.bandwidth = -1.0}); }),
            "suggest: bandwidth is -1, latency is 0, must be finite and >= 0");
  EXPECT_EQ(message_of([&] { (void)suggest(host, a, {.latency = std::numeric_limits<double>::infinity()}); }),
            "suggest: bandwidth is 0, latency is inf, must be finite and >= 0");
  EXPECT_EQ(message_of([&] { (void)suggest(host, a, {.method = static_cast<Method>(2)}); }),
            "suggest: method is 2, no enumerator");
  EXPECT_EQ(message_of([&] { (void)suggest(host, a, {.singular = static_cast<SingularPolicy>(9)}); }),
            "suggest: singular is 9, no enumerator");
}

}  // namespace
}  // namespace blockjacobi::test
