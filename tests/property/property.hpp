#pragma once

#include "support/backends.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace blockjacobi::test {

/// The fixture of what must hold for every input.
template <class Case>
class PropertyOnBackend : public BackendTest<Case> {
 protected:
  /// check(seed) for seed 1, 2, ... until the time is over, 20 of them at least; the seed of a failure is printed, and
  /// a line with the first seed and the number of them, by which a run can be repeated.
  ///   BLOCKJACOBI_PROPERTY_SEED     this seed alone
  ///   BLOCKJACOBI_PROPERTY_SECONDS  for each property, backend and scalar; 0.5 if not set
  ///   BLOCKJACOBI_PROPERTY_FIRST    the first seed; 1 if not set
  ///   BLOCKJACOBI_PROPERTY_COUNT    so many seeds, whatever time that takes
  template <class Check>
  static void for_seeds(Check&& check) {
    if (const char* seed = std::getenv("BLOCKJACOBI_PROPERTY_SEED")) return check_one(number(seed), check);
    const char* const seconds = std::getenv("BLOCKJACOBI_PROPERTY_SECONDS");
    const char* const first = std::getenv("BLOCKJACOBI_PROPERTY_FIRST");
    const char* const count = std::getenv("BLOCKJACOBI_PROPERTY_COUNT");
    const std::chrono::duration<double> limit(seconds != nullptr ? std::strtod(seconds, nullptr) : 0.5);
    const auto start = std::chrono::steady_clock::now();
    const std::uint64_t begin = first != nullptr ? number(first) : 1;
    std::uint64_t seed = begin;
    const auto goes_on = [&] {
      if (::testing::Test::HasFailure()) return false;
      if (count != nullptr) return seed - begin < number(count);
      return seed < begin + 20 || std::chrono::steady_clock::now() - start < limit;
    };
    for (; goes_on(); ++seed) check_one(seed, check);
    const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
    std::printf("property: %s.%s: seeds from %llu on, %llu of them\n", test.test_suite_name(), test.name(),
                static_cast<unsigned long long>(begin), static_cast<unsigned long long>(seed - begin));
    ::testing::Test::RecordProperty("seeds", std::to_string(seed - begin));
  }

 private:
  static std::uint64_t number(const char* text) { return std::strtoull(text, nullptr, 10); }

  template <class Check>
  static void check_one(std::uint64_t seed, Check&& check) {
    const ::testing::ScopedTrace trace(__FILE__, __LINE__, "BLOCKJACOBI_PROPERTY_SEED=" + std::to_string(seed));
    check(seed);
  }
};

}  // namespace blockjacobi::test
