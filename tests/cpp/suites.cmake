# CTest reads this when it begins: each suite of a program of GoogleTest becomes a test. Suites and not cases, because most cases take
# less time than a process.
function(taskgrain_add_suites target program prefix)
  if(NOT EXISTS ${program})
    add_test(${prefix}${target}_NOT_BUILT ${target}_NOT_BUILT)
    return()
  endif()
  execute_process(COMMAND ${program} --gtest_list_tests OUTPUT_VARIABLE listed RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${program} --gtest_list_tests ends with ${result}\n${listed}")
  endif()
  # `Suite.`, and under it its cases. A parameter follows them as a comment, and may be any text.
  string(REGEX REPLACE " *#[^\n]*" "" listed "${listed}")
  string(REGEX REPLACE "\n+" ";" lines "${listed}")
  foreach(line IN LISTS lines)
    if(line MATCHES "^[^ ]+\\.$")
      set(suite ${line})
      list(APPEND suites ${suite})
    elseif(line MATCHES "^  (.+)")
      string(APPEND "${suite}cases" ":${suite}${CMAKE_MATCH_1}")
    endif()
  endforeach()
  foreach(suite IN LISTS suites)
    set(filter "${suite}*")
    if(NOT "$ENV{GTEST_FILTER}" STREQUAL "")
      set(filter "${${suite}cases}")  # what it leaves of the suite
    endif()
    string(REGEX REPLACE "\\.$" "" name ${suite})
    add_test(${prefix}${name} ${program} "--gtest_filter=${filter}")
    # All are skipped, and none has failed: CTest believes this more than how a program ends.
    set_tests_properties(${prefix}${name} PROPERTIES SKIP_REGULAR_EXPRESSION
      "PASSED  \\] 0 tests\\.\n(\\[  SKIPPED \\][^\n]*\n)*(\n *YOU HAVE [^\n]*\n)?\n*$")
  endforeach()
endfunction()
