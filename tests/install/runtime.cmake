# Builds the runtime alone and installs it into a folder of its own; builds and runs an example against what is there, and configures
# it with the runtime as a part of its build.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
set(prefix ${BUILD}/prefix)
file(REMOVE_RECURSE ${prefix} ${BUILD}/installed ${BUILD}/ranks ${BUILD}/wrong ${BUILD}/fetched)

# What is not needed must not even be looked for.
set(alone -DCMAKE_C_COMPILER=${CC} -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON)
set(configure ${CMAKE_COMMAND} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0)
# The runtime is compiled as in the build folder, and in one beside it: ccache, if there is one, has these objects already. It knows
# sources by their paths from the build folder.
set(runtime ${TREE}.runtime)
run(0 "" ${CMAKE_COMMAND} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=${TYPE} ${alone} -DTASKGRAIN_RT_ONLY=ON
  -S ${SOURCE} -B ${runtime})
run(0 "" ${CMAKE_COMMAND} --build ${runtime} --parallel)
run(0 "" ${CMAKE_COMMAND} --install ${runtime} --prefix ${prefix})
run(0 "^hello hello $" ${prefix}/bin/taskgrain-run -n 2 echo hello)

set(find ${configure} -DCMAKE_PREFIX_PATH=${prefix})
run(0 "" ${find} -S ${SOURCE}/examples/rt/installed -B ${BUILD}/installed)
run(0 "" ${CMAKE_COMMAND} --build ${BUILD}/installed)
run(0 "hello from the last task" ${BUILD}/installed/hello)

# Ranks of MPI, where there is MPI.
set(ranks ${find} -S ${SOURCE}/tests/install/ranks -B ${BUILD}/ranks)
if(MPI)
  set(components "rt, rt_mpi")
  run(0 "" ${ranks})
  run(0 "" ${CMAKE_COMMAND} --build ${BUILD}/ranks)
  run(0 "" ${BUILD}/ranks/ranks)
  file(REMOVE_RECURSE ${BUILD}/ranks)
  run(1 "component 'rt_mpi' needs MPI for C\\+\\+" ${ranks} -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON)
else()
  set(components "rt")
  run(1 "taskgrain has no component 'rt_mpi'; it has: rt. It was built where CMake found no MPI" ${ranks})
endif()

set(wrong ${find} -S ${SOURCE}/tests/install/wrong -B ${BUILD}/wrong)
run(1 "taskgrain has no component 'mpi'; it has: ${components}" ${wrong} -DVERSION=${VERSION} -DCOMPONENT=mpi)
run(1 "taskgrain has no component 'driver'; it has: ${components}. It was built with TASKGRAIN_RT_ONLY=ON"
  ${wrong} -DVERSION=${VERSION} -DCOMPONENT=driver)
run(1 "version: ${VERSION}" ${wrong} -DVERSION=99 -DCOMPONENT=rt)

run(0 "" ${configure} ${alone} -S ${SOURCE}/examples/rt/fetched -B ${BUILD}/fetched)
