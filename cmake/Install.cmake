# Installs headers, library, CMake package, pkg-config file; exports the build tree as the same CMake package. The
# adapter for PETSc is the component petsc, the plugin of it petsc_plugin, all else the component blockjacobi.
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME blockjacobi)

get_target_property(library_type blockjacobi TYPE)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/blockjacobi")

# A static library hands its private dependencies on to whoever links it, a shared one has them in itself.
set(BLOCKJACOBI_PACKAGE_DEPENDENCIES "")
set(BLOCKJACOBI_PC_REQUIRES "")
set(BLOCKJACOBI_PC_LIBS "")
set(BLOCKJACOBI_PC_CFLAGS "")
if(library_type STREQUAL "STATIC_LIBRARY")
  set(BLOCKJACOBI_PACKAGE_DEPENDENCIES "find_dependency(OpenMP COMPONENTS CXX)\n")
  if(NOT BLOCKJACOBI_PYTHON_ALONE)
    string(APPEND BLOCKJACOBI_PACKAGE_DEPENDENCIES "find_dependency(ZLIB)\n")
    set(BLOCKJACOBI_PC_REQUIRES "zlib")
  endif()
  set(BLOCKJACOBI_PC_LIBS "${OpenMP_CXX_FLAGS} -lstdc++ -lm")
  set(BLOCKJACOBI_PC_CFLAGS "-DBLOCKJACOBI_STATIC")
  if(BLOCKJACOBI_WITH_METIS)
    # METIS has no package of its own: the package brings the module that finds it.
    string(APPEND BLOCKJACOBI_PACKAGE_DEPENDENCIES "list(APPEND CMAKE_MODULE_PATH \"\${CMAKE_CURRENT_LIST_DIR}\")\n"
                                                   "find_dependency(METIS 5)\nlist(POP_BACK CMAKE_MODULE_PATH)\n")
    set(BLOCKJACOBI_PC_LIBS "-lmetis ${BLOCKJACOBI_PC_LIBS}")
    cmake_path(GET METIS_LIBRARY PARENT_PATH metis_folder)
    if(NOT metis_folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
      string(PREPEND BLOCKJACOBI_PC_LIBS "-L${metis_folder} ")
    endif()
  endif()
  if(BLOCKJACOBI_WITH_CUDA)
    string(APPEND BLOCKJACOBI_PACKAGE_DEPENDENCIES "find_dependency(CUDAToolkit ${BLOCKJACOBI_MINIMUM_CUDA})\n")
    set(BLOCKJACOBI_PC_LIBS "-L${CUDAToolkit_LIBRARY_DIR} -lcusolver -lcusparse -lcudart ${BLOCKJACOBI_PC_LIBS}")
  endif()
endif()

configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/blockjacobiConfig.cmake.in" "${PROJECT_BINARY_DIR}/blockjacobiConfig.cmake"
  INSTALL_DESTINATION "${package_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/blockjacobiConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH BLOCKJACOBI_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file("${PROJECT_SOURCE_DIR}/cmake/blockjacobi.pc.in" "${PROJECT_BINARY_DIR}/blockjacobi.pc" @ONLY)

install(
  TARGETS blockjacobi
  EXPORT blockjacobiTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(
  DIRECTORY "${PROJECT_SOURCE_DIR}/include/blockjacobi"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING
  PATTERN "*.f90"
  PATTERN "*.h"
  PATTERN "*.hpp")
install(
  EXPORT blockjacobiTargets
  NAMESPACE blockjacobi::
  DESTINATION "${package_dir}")
if(BLOCKJACOBI_WITH_PETSC)
  # A set of its own: only who asks for the component needs PETSc.
  install(
    TARGETS blockjacobi_petsc
    EXPORT blockjacobiPetscTargets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT petsc
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT petsc)
  install(
    EXPORT blockjacobiPetscTargets
    NAMESPACE blockjacobi::
    DESTINATION "${package_dir}"
    COMPONENT petsc)
  install(TARGETS blockjacobi_petsc_plugin LIBRARY DESTINATION "${BLOCKJACOBI_PETSC_PLUGIN_DIR}"
                                                   COMPONENT petsc_plugin)
  foreach(component IN ITEMS petsc petsc_plugin)
    string(REPLACE "_" "-" package "blockjacobi-${component}")
    install(
      FILES "${PROJECT_SOURCE_DIR}/LICENSE"
      DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${package}"
      RENAME copyright
      COMPONENT ${component})
  endforeach()
  export(
    EXPORT blockjacobiPetscTargets
    NAMESPACE blockjacobi::
    FILE "${PROJECT_BINARY_DIR}/blockjacobiPetscTargets.cmake")
endif()
install(FILES "${PROJECT_BINARY_DIR}/blockjacobiConfig.cmake" "${PROJECT_BINARY_DIR}/blockjacobiConfigVersion.cmake"
        DESTINATION "${package_dir}")
if(BLOCKJACOBI_WITH_METIS)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/FindMETIS.cmake" "${PROJECT_BINARY_DIR}/FindMETIS.cmake" COPYONLY)
  install(FILES "${PROJECT_SOURCE_DIR}/cmake/FindMETIS.cmake" DESTINATION "${package_dir}")
endif()
install(FILES "${PROJECT_BINARY_DIR}/blockjacobi.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
install(
  FILES "${PROJECT_SOURCE_DIR}/LICENSE"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/blockjacobi"
  RENAME copyright)
if(TARGET blockjacobi-solve)
  install(TARGETS blockjacobi-solve RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()

export(
  EXPORT blockjacobiTargets
  NAMESPACE blockjacobi::
  FILE "${PROJECT_BINARY_DIR}/blockjacobiTargets.cmake")
