#include "partition/metis.hpp"

#include <blockjacobi/block_partition.hpp>
#include <blockjacobi/error.hpp>

namespace blockjacobi {

bool BlockPartition::metis_available() noexcept { return false; }

namespace detail {

std::vector<index_t> metis_parts(const CsrMatrix<double>&, std::span<const index_t>, index_t) {
  throw Unavailable(
      "BlockPartition::metis: this library was built without METIS (BLOCKJACOBI_METIS=metis asks for it)");
}

}  // namespace detail
}  // namespace blockjacobi
