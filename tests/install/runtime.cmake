# Builds the runtime alone and installs it into a folder of its own; builds and runs an example against what is there, and configures
# it with the runtime as a part of its build. All of it anew but the objects of the runtime, which take longest.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
set(prefix ${BUILD}/prefix)
file(REMOVE_RECURSE ${prefix} ${BUILD}/installed ${BUILD}/wrong ${BUILD}/fetched)

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
run(1 "taskgrain has no component 'driver'; it has: rt. It was built with TASKGRAIN_RT_ONLY=ON"
  ${wrong} -DVERSION=${VERSION} -DCOMPONENT=driver)
run(1 "version: ${VERSION}" ${wrong} -DVERSION=99 -DCOMPONENT=rt)

run(0 "" ${configure} ${alone} -S ${SOURCE}/examples/rt/fetched -B ${BUILD}/fetched)
