#pragma once

#include "faults/band_system.hpp"
#include "faults/failing_new.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <vector>

namespace blockjacobi::test {

/// Runs `work` again and again, and lets its first allocation fail, then its second, until none is left to fail. A
/// failure comes out as std::bad_alloc or as a ParseError that names the memory, or is made up for; nothing leaks.
/// `behind` follows each failure.
inline void expect_every_failure_comes_out(
    const std::function<void()>& work, const std::function<void()>& behind = [] {}) {
  work();  // threads and tables that are made once
  long failures = 0;
  for (long allocation = 0;; ++allocation) {
    ASSERT_LT(allocation, 100'000);
    const long live = FailingNew::live();
    bool failed = false;
    try {
      const FailingNew failing(allocation);
      work();
      failed = FailingNew::stop();
    } catch (const std::bad_alloc&) {
      failed = true;
      ++failures;
    } catch (const ParseError& e) {
      FailingNew::stop();
      failed = true;
      EXPECT_NE(std::strstr(e.what(), "memory"), nullptr) << e.what();
    }
    EXPECT_LE(FailingNew::live(), live) << "allocation " << allocation;
    if (!failed) break;
    behind();
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(failures, 0);
}

/// The first allocation would fail.
inline void expect_no_allocation(const std::function<void()>& work) {
  const FailingNew first(0);
  EXPECT_NO_THROW(work());
  EXPECT_FALSE(FailingNew::stop());
}

/// Of typed suites.
struct ScalarName {
  template <class T>
  static std::string GetName(int) {
    return {to_char(scalar_type<T>)};
  }
};

class HostFaults : public ::testing::TestWithParam<int> {
 protected:
  const Backend backend_ = Backend::host(GetParam());
  const System sorted_{400, true}, unsorted_{400, false};
  const BlockPartition blocks_ = BlockPartition::uniform(400, 8);
  const std::vector<double> ones_ = std::vector<double>(400, 1.0);
};

}  // namespace blockjacobi::test
