# Not run yet; see packaging/README.md. The sources are those around this file.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

set(gpu none)
if("cuda" IN_LIST FEATURES)
  set(gpu cuda)
endif()
set(metis none)
if("metis" IN_LIST FEATURES)
  set(metis metis)
endif()

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DBLOCKJACOBI_BUILD_TESTS=OFF -DBLOCKJACOBI_BUILD_BENCHMARKS=OFF -DBLOCKJACOBI_PETSC=none
          -DBLOCKJACOBI_GPU=${gpu} -DBLOCKJACOBI_METIS=${metis})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/blockjacobi)
vcpkg_fixup_pkgconfig()
vcpkg_copy_tools(TOOL_NAMES blockjacobi-solve AUTO_CLEAN)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
