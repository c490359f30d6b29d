# CPack: `cpack --config build/CPackConfig.cmake` makes archives and, where dpkg is, packages of Debian, of three
# components: blockjacobi (library, headers, CMake package, program), petsc (the adapter to link with) and petsc_plugin
# (the adapter for programs that are there already).
set(CPACK_GENERATOR TGZ)
find_program(DPKG_DEB_PROGRAM dpkg-deb)
mark_as_advanced(DPKG_DEB_PROGRAM)
if(DPKG_DEB_PROGRAM)
  list(APPEND CPACK_GENERATOR DEB)
endif()

set(CPACK_PACKAGE_NAME blockjacobi)
set(CPACK_PACKAGE_VENDOR "the blockjacobi authors")
set(CPACK_PACKAGE_CONTACT "the blockjacobi authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_STRIP_FILES ON)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL blockjacobi)
set(CPACK_COMPONENT_BLOCKJACOBI_DESCRIPTION
    "Library, headers, CMake package and program, which solves systems of Matrix Market files")
if(BLOCKJACOBI_WITH_PETSC)
  list(APPEND CPACK_COMPONENTS_ALL petsc petsc_plugin)
  set(CPACK_COMPONENT_PETSC_DEPENDS blockjacobi)
  set(CPACK_COMPONENT_PETSC_PLUGIN_DESCRIPTION
      "The preconditioner as the type blockjacobi of PETSc's PC, loaded by an option")
  set(CPACK_COMPONENT_PETSC_DESCRIPTION "The preconditioner as the type blockjacobi of PETSc's PC")
endif()

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}/src")
set(CPACK_DEBIAN_BLOCKJACOBI_PACKAGE_NAME blockjacobi)
set(CPACK_DEBIAN_PETSC_PACKAGE_NAME blockjacobi-petsc)
set(CPACK_DEBIAN_PETSC_PLUGIN_PACKAGE_NAME blockjacobi-petsc-plugin)
set(CPACK_DEBIAN_BLOCKJACOBI_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PETSC_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PETSC_PLUGIN_PACKAGE_SECTION libs)
# What the header-only adapters and the module of Fortran are for, what draws the program's plots, and who loads the plugin.
set(CPACK_DEBIAN_BLOCKJACOBI_PACKAGE_SUGGESTS "libeigen3-dev, libdune-istl-dev, gfortran, gnuplot-nox, pkg-config")
set(CPACK_DEBIAN_PETSC_PLUGIN_PACKAGE_SUGGESTS "python3-petsc4py, python3-dolfinx")
# What a static library is linked with, who links it needs too; dpkg-shlibdeps sees programs and shared libraries alone.
get_target_property(library_type blockjacobi TYPE)
if(library_type STREQUAL "STATIC_LIBRARY")
  set(CPACK_DEBIAN_BLOCKJACOBI_PACKAGE_DEPENDS "g++, zlib1g-dev")
  if(BLOCKJACOBI_WITH_METIS)
    string(APPEND CPACK_DEBIAN_BLOCKJACOBI_PACKAGE_DEPENDS ", libmetis-dev")
  endif()
  set(CPACK_DEBIAN_PETSC_PACKAGE_DEPENDS
      "petsc-dev | libpetsc-real-dev | libpetsc-complex-dev, mpi-default-dev, pkg-config")
elseif(BLOCKJACOBI_WITH_PETSC)
  set(CPACK_COMPONENT_PETSC_PLUGIN_DEPENDS petsc)
endif()

include(CPack)
