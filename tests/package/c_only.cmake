# A project without C++ that asks for the package: refused with what to do.
#   cmake -D PREFIX=... -D BINARY=... -D GENERATOR=... -D CC=... -P c_only.cmake
file(REMOVE_RECURSE "${BINARY}")
file(WRITE "${BINARY}/CMakeLists.txt" "cmake_minimum_required(VERSION 3.25)\nproject(c_only LANGUAGES C)\n"
                                      "find_package(blockjacobi REQUIRED)\n")
execute_process(
  COMMAND ${CMAKE_COMMAND} -S "${BINARY}" -B "${BINARY}/build" -G "${GENERATOR}" "-DCMAKE_C_COMPILER=${CC}"
          "-DCMAKE_PREFIX_PATH=${PREFIX}" -DCMAKE_FIND_PACKAGE_NO_PACKAGE_REGISTRY=ON
  RESULT_VARIABLE status
  OUTPUT_QUIET
  ERROR_VARIABLE errors)
string(REGEX REPLACE "[ \n]+" " " errors "${errors}")
if(status EQUAL 0 OR NOT errors MATCHES "enable it, project\\(... LANGUAGES C CXX\\)")
  message(FATAL_ERROR "status ${status}, no word on C++ in: ${errors}")
endif()
