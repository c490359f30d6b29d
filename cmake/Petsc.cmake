# Resolves BLOCKJACOBI_PETSC to BLOCKJACOBI_WITH_PETSC and the targets PkgConfig::PETSC and MPI::MPI_CXX.
#   auto   the adapter if PETSc 3.18 or newer and its MPI are there; never within another project
#   petsc  the adapter, or an error
#   none   no adapter
# BLOCKJACOBI_PETSC_PLUGIN_DIR is where the plugin is installed, relative to the prefix or not; PETSc looks for it where
# its option -dll_append says, and nowhere else.
set(BLOCKJACOBI_PETSC "auto" CACHE STRING "PETSc adapter: auto, petsc or none")
set_property(CACHE BLOCKJACOBI_PETSC PROPERTY STRINGS auto petsc none)

set(BLOCKJACOBI_WITH_PETSC FALSE)
if(NOT BLOCKJACOBI_PETSC MATCHES "^(auto|petsc|none)$")
  message(FATAL_ERROR "BLOCKJACOBI_PETSC is \"${BLOCKJACOBI_PETSC}\", must be auto, petsc or none")
endif()
if(BLOCKJACOBI_PETSC STREQUAL "petsc" OR (BLOCKJACOBI_PETSC STREQUAL "auto" AND PROJECT_IS_TOP_LEVEL))
  find_package(PkgConfig QUIET)
  find_package(MPI QUIET COMPONENTS CXX)
  if(PkgConfig_FOUND)
    pkg_search_module(PETSC QUIET IMPORTED_TARGET GLOBAL "PETSc >= 3.18" "petsc >= 3.18")
  endif()
  if(MPI_CXX_FOUND AND PETSC_FOUND)
    set(BLOCKJACOBI_WITH_PETSC TRUE)
    message(STATUS "blockjacobi: adapter for PETSc ${PETSC_VERSION}")
  elseif(BLOCKJACOBI_PETSC STREQUAL "petsc")
    message(FATAL_ERROR "BLOCKJACOBI_PETSC=petsc: no PETSc 3.18 (pkg-config PETSc) or no MPI")
  else()
    message(STATUS "blockjacobi: no adapter for PETSc, which was not found")
  endif()
endif()
set(BLOCKJACOBI_PETSC_PLUGIN_DIR "${CMAKE_INSTALL_LIBDIR}" CACHE STRING "Where the plugin for PETSc is installed")
