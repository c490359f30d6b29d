# Script: lists the tests of a GoogleTest program and writes the commands that register them with ctest, under the names
# that --gtest_filter takes. PROGRAM, PREFIX, LABELS (with commas), OUTPUT. With BY_SUITE a process for each suite and
# scalar, where starting one takes longer than most tests. LEFT_OUT: a filter of tests that are not run.
#
# why not gtest_discover_tests: of CMake 3.25, it loses all labels but the first, and the names given to typed suites.
cmake_policy(VERSION 3.25)
string(REPLACE "," ";" labels "${LABELS}")

set(left_out "")
if(LEFT_OUT)
  set(left_out "-${LEFT_OUT}")
endif()
set(script "")
# Adds the tests of PROGRAM on that backend, of those that exist for several; `pattern` as --gtest_filter has it.
function(add_tests_on backend pattern)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E env "BLOCKJACOBI_TEST_BACKEND=${backend}" "${PROGRAM}" --gtest_list_tests
            "--gtest_filter=${pattern}${left_out}"
    OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
  # Without the comments only names are left.
  string(REGEX REPLACE " +#[^\n]*" "" listing "${listing}")
  string(REGEX REPLACE "Running main[^\n]*\n" "" listing "${listing}")
  string(REGEX MATCHALL "[^\n]+" lines "${listing}")
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "^  (.+)$")
      set(suite "${line}")
      if(BY_SUITE)
        string(REGEX REPLACE "\\.$" "" name "${suite}")
        # Of several tests one that skips itself does not make all of them skipped.
        string(APPEND script "add_test(\"${PREFIX}/${name}\" \"${PROGRAM}\" --gtest_brief=1 "
                             "\"--gtest_filter=${suite}*${left_out}\")\nset_tests_properties(\"${PREFIX}/${name}\" PROPERTIES LABELS \"${labels}\" TIMEOUT 1800 "
                             "ENVIRONMENT \"OMP_WAIT_POLICY=passive;BLOCKJACOBI_TEST_BACKEND=${backend}\")\n")
      endif()
      continue()
    endif()
    set(name "${suite}${CMAKE_MATCH_1}")
    if(BY_SUITE)
      continue()
    endif()
    string(APPEND script "add_test(\"${PREFIX}/${name}\" \"${PROGRAM}\" \"--gtest_filter=${name}\")\n")
    string(APPEND script "set_tests_properties(\"${PREFIX}/${name}\" PROPERTIES LABELS \"${labels}\" TIMEOUT 600 "
                         "SKIP_REGULAR_EXPRESSION [==[\\[  SKIPPED \\]]==] "
                         # Several tests at once share the cores: waiting threads leave them to the others.
                         "ENVIRONMENT \"OMP_WAIT_POLICY=passive;BLOCKJACOBI_TEST_BACKEND=${backend}\")\n")
    if(name MATCHES "DISABLED_")
      string(APPEND script "set_tests_properties(\"${PREFIX}/${name}\" PROPERTIES DISABLED TRUE)\n")
    endif()
  endforeach()
  set(script "${script}" PARENT_SCOPE)
endfunction()

add_tests_on(host "*")
if("cuda" IN_LIST labels)
  add_tests_on(cuda "*/cuda_?.*")
endif()
file(WRITE "${OUTPUT}" "${script}")
