# Resolves BLOCKJACOBI_METIS to BLOCKJACOBI_WITH_METIS and the target METIS::METIS.
#   auto   BlockPartition::metis if METIS 5 is there; never within another project
#   metis  BlockPartition::metis, or an error
#   none   it throws
set(BLOCKJACOBI_METIS "auto" CACHE STRING "METIS partitions: auto, metis or none")
set_property(CACHE BLOCKJACOBI_METIS PROPERTY STRINGS auto metis none)

set(BLOCKJACOBI_WITH_METIS FALSE)
if(NOT BLOCKJACOBI_METIS MATCHES "^(auto|metis|none)$")
  message(FATAL_ERROR "BLOCKJACOBI_METIS is \"${BLOCKJACOBI_METIS}\", must be auto, metis or none")
endif()
if(BLOCKJACOBI_METIS STREQUAL "metis" OR (BLOCKJACOBI_METIS STREQUAL "auto" AND PROJECT_IS_TOP_LEVEL))
  find_package(METIS 5 QUIET)
  if(METIS_FOUND)
    set(BLOCKJACOBI_WITH_METIS TRUE)
    message(STATUS "blockjacobi: METIS ${METIS_VERSION}")
  elseif(BLOCKJACOBI_METIS STREQUAL "metis")
    message(FATAL_ERROR "BLOCKJACOBI_METIS=metis: no METIS 5 (metis.h and libmetis)")
  else()
    message(STATUS "blockjacobi: no METIS, which was not found")
  endif()
endif()
