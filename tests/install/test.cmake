# Builds the runtime alone and installs it into a folder of its own; builds and runs an example against what is there, and configures
# it with the runtime as a part of its build. All of it anew but the objects of the runtime, which take longest.
set(prefix ${BUILD}/prefix)
file(REMOVE_RECURSE ${prefix} ${BUILD}/installed ${BUILD}/wrong ${BUILD}/fetched)

# Runs a command that must end with `rc`, and whose output must match `pattern`.
function(run rc pattern)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE out)
  string(REGEX REPLACE "[ \n]+" " " out_line "${out}")
  if(NOT result STREQUAL rc OR NOT out_line MATCHES "${pattern}")
    string(JOIN " " command ${ARGN})
    message(FATAL_ERROR "${command}\nends with ${result}, expected: ${rc} and '${pattern}'\n${out}")
  endif()
endfunction()

# As it compiles fastest. What is not needed must not even be looked for.
set(configure ${CMAKE_COMMAND} -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DCMAKE_CXX_COMPILER=${CXX})
set(alone -DCMAKE_C_COMPILER=${CC} -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON)
run(0 "" ${configure} ${alone} -DTASKGRAIN_RT_ONLY=ON -S ${SOURCE} -B ${BUILD}/runtime)
run(0 "" ${CMAKE_COMMAND} --build ${BUILD}/runtime --parallel)
run(0 "" ${CMAKE_COMMAND} --install ${BUILD}/runtime --prefix ${prefix})

set(find ${configure} -DCMAKE_PREFIX_PATH=${prefix})
run(0 "" ${find} -S ${SOURCE}/examples/rt/installed -B ${BUILD}/installed)
run(0 "" ${CMAKE_COMMAND} --build ${BUILD}/installed)
run(0 "hello from the last task" ${BUILD}/installed/hello)
set(wrong ${find} -S ${SOURCE}/tests/install/wrong -B ${BUILD}/wrong)
run(1 "taskgrain has no component 'mpi'; it has: rt" ${wrong} -DVERSION=${VERSION} -DCOMPONENT=mpi)
run(1 "version: ${VERSION}" ${wrong} -DVERSION=99 -DCOMPONENT=rt)

run(0 "" ${configure} ${alone} -S ${SOURCE}/examples/rt/fetched -B ${BUILD}/fetched)
