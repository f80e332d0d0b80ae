# How drivers are built, in this tree and outside of it: taskgrain_system() and taskgrain_object(). find_package(taskgrain COMPONENTS
# driver) brings them, and so does this project as a part of another build. docs/how-to/add-a-system.md shows them at work.
include_guard(GLOBAL)
cmake_policy(VERSION 3.24)

# taskgrain_system(NAME [DRIVER driver] SOURCES … [LIBRARIES …]): builds the program `driver` in the current binary folder.
#
# DRIVER names one of several builds. The target is taskgrain-NAME-DRIVER.
function(taskgrain_system name)
  cmake_parse_arguments(PARSE_ARGV 1 system "" "DRIVER" "SOURCES;LIBRARIES")
  _taskgrain_check("taskgrain_system(${name})" "DRIVER, SOURCES, LIBRARIES" "${system_UNPARSED_ARGUMENTS}" "${system_SOURCES}" "SOURCES")
  if(NOT TARGET taskgrain::driver)
    message(FATAL_ERROR "taskgrain_system(${name}): the driver library taskgrain::driver is missing here. "
      "Call find_package(taskgrain REQUIRED COMPONENTS driver) first. "
      "If your project adds taskgrain to its own build, set TASKGRAIN_RT_ONLY to OFF before it does.")
  endif()
  if(NOT system_DRIVER)
    set(system_DRIVER driver)
  endif()
  set(target taskgrain-${name}-${system_DRIVER})
  add_executable(${target} ${system_SOURCES})
  target_link_libraries(${target} PRIVATE taskgrain::driver ${system_LIBRARIES})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${system_DRIVER} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
    LINKER_LANGUAGE CXX INSTALL_RPATH_USE_LINK_PATH ON)  # for libraries where the loader does not look by itself
  taskgrain_record_flags(${target})
  if(PROJECT_NAME STREQUAL "taskgrain")
    install(TARGETS ${target} DESTINATION ${TASKGRAIN_INSTALL_SYSTEMS}/${name} OPTIONAL)  # an installation may come before all is built
  endif()
endfunction()

# taskgrain_object(OBJECT COMPILER … SOURCE … [OPTIONS …]): an object file by another compiler than the project's, for systems that
# come with theirs. Give it to taskgrain_system() as a source.
function(taskgrain_object object)
  cmake_parse_arguments(PARSE_ARGV 1 object "" "COMPILER;SOURCE" "OPTIONS")
  _taskgrain_check("taskgrain_object(${object})" "COMPILER, SOURCE, OPTIONS" "${object_UNPARSED_ARGUMENTS}" "${object_SOURCE}" "SOURCE")
  _taskgrain_check("taskgrain_object(${object})" "COMPILER, SOURCE, OPTIONS" "" "${object_COMPILER}" "COMPILER")
  _taskgrain_flags(flags "${CMAKE_BUILD_TYPE}")
  _taskgrain_default_flags(release "${object_OPTIONS}" ${object})
  list(APPEND flags ${release})
  set(words ${flags} ${object_OPTIONS})
  string(REPLACE ";" " " words "${words}")
  # As a file, because not every compiler takes commas and quotes in a definition.
  file(CONFIGURE OUTPUT ${object}.flags.hpp CONTENT "#define TASKGRAIN_FLAGS R\"flags(${words})flags\"\n" @ONLY)
  set(include "$<TARGET_PROPERTY:taskgrain::driver,INTERFACE_INCLUDE_DIRECTORIES>")
  add_custom_command(OUTPUT ${object}
    COMMAND ${object_COMPILER} -std=c++20 -fPIC ${flags} "-I$<JOIN:${include},;-I>" -include ${object}.flags.hpp ${object_OPTIONS}
            -MD -MF ${object}.d -c ${CMAKE_CURRENT_SOURCE_DIR}/${object_SOURCE} -o ${object}
    DEPENDS ${object_SOURCE} DEPFILE ${object}.d WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} VERBATIM COMMAND_EXPAND_LISTS)
endfunction()

# Tells the C++ sources of a target, in TASKGRAIN_FLAGS, how they are compiled: what taskgrain/driver.hpp reports. Options of a single
# source file are not known to it. This is done at the end of the folder, when all flags are set.
function(taskgrain_record_flags target)
  cmake_language(EVAL CODE "cmake_language(DEFER CALL _taskgrain_record_flags [[${target}]])")
endfunction()

function(_taskgrain_record_flags target)
  get_target_property(own ${target} COMPILE_OPTIONS)
  _taskgrain_default_flags(release "${own}" ${target})
  target_compile_options(${target} BEFORE PRIVATE ${release})
  # The flags of the build type; the options of the target and of the libraries that it links, such as -fopenmp; but no warnings, which
  # change no code (-Wa, -Wl, and -Wp, may). One expression, because CMake follows the libraries only once.
  set(words "")
  get_target_property(link_time ${target} INTERPROCEDURAL_OPTIMIZATION)
  if(link_time)
    list(JOIN CMAKE_CXX_COMPILE_OPTIONS_IPO "$<SEMICOLON>" words)
    string(APPEND words "$<SEMICOLON>")
  endif()
  foreach(type IN LISTS CMAKE_CONFIGURATION_TYPES ITEMS "${CMAKE_BUILD_TYPE}")
    _taskgrain_flags(flags "${type}")
    string(REPLACE ">" "$<ANGLE-R>" flags "${flags}")
    string(REPLACE "," "$<COMMA>" flags "${flags}")
    string(REPLACE ";" "$<SEMICOLON>" flags "${flags}")
    string(APPEND words "$<$<CONFIG:${type}>:${flags}>$<SEMICOLON>")
  endforeach()
  set(words "$<FILTER:${words}$<TARGET_PROPERTY:${target},COMPILE_OPTIONS>,EXCLUDE,^-W([^alp]|[alp][^$<COMMA>])>")
  target_compile_definitions(${target} PRIVATE "TASKGRAIN_FLAGS=R\"flags($<JOIN:${words}, >)flags\"")
endfunction()

# What CMake gives to every C++ source of a build type, as a list.
function(_taskgrain_flags result type)
  string(TOUPPER "${type}" type)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}")
  set(${result} "${flags}" PARENT_SCOPE)
endfunction()

# The flags of a Release build if neither a build type nor an option says how to optimise: a driver that nobody optimised would be
# measured as a slow system.
function(_taskgrain_default_flags result options what)
  set(flags "")
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES AND NOT "${CMAKE_CXX_FLAGS};${options}" MATCHES "(^|[ ;])-O")
    message(STATUS "taskgrain: ${what} is compiled with ${CMAKE_CXX_FLAGS_RELEASE}, because there is no CMAKE_BUILD_TYPE")
    separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS_RELEASE}")
  endif()
  set(${result} "${flags}" PARENT_SCOPE)
endfunction()

function(_taskgrain_check call allowed unknown needed needed_name)
  if(unknown)
    list(GET unknown 0 first)
    message(FATAL_ERROR "${call}: '${first}' is not allowed; allowed: ${allowed}")
  elseif(NOT needed)
    message(FATAL_ERROR "${call}: ${needed_name} is missing")
  endif()
endfunction()
