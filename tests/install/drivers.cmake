# Builds drivers of systems outside of the tree, with what is installed and with the build folder TREE, and asks them how they were
# compiled.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
set(prefix ${BUILD}/prefix)
file(REMOVE_RECURSE ${BUILD})
file(WRITE ${BUILD}/hello "{\"op\":\"hello\"}\n")
set(configure ${CMAKE_COMMAND} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_C_COMPILER=${CC})

function(says pattern driver)
  run(0 "${pattern}" ${driver} --batch ${BUILD}/hello)
endfunction()

run(0 "" ${CMAKE_COMMAND} --install ${TREE} --prefix ${prefix} --component driver)
set(drivers ${configure} -S ${SOURCE}/tests/install/drivers)
run(0 "taskgrain-default-driver is compiled with -O3 -DNDEBUG, because there is no CMAKE_BUILD_TYPE"
  ${drivers} -B ${BUILD}/installed -DCMAKE_PREFIX_PATH=${prefix})
run(0 "" ${CMAKE_COMMAND} --build ${BUILD}/installed)
says("\"flags\":\"-O3 -DNDEBUG\"" ${BUILD}/installed/driver)
says("\"flags\":\"-O1 -fno-math-errno -DQUOTED=.\"a,b.\"\"" ${BUILD}/installed/optimised)
says("\"flags\":\"-O2 -DQUOTED=.\"a,b.\"\"" ${BUILD}/installed/object)
says("\"flags\":\"unknown\"" ${BUILD}/installed/plain)

run(0 "" ${drivers} -B ${BUILD}/from_tree -DCMAKE_PREFIX_PATH=${TREE} -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS=-ffast-math)
run(0 "" ${CMAKE_COMMAND} --build ${BUILD}/from_tree --target taskgrain-default-driver)
says("\"flags\":\"-ffast-math -g\"" ${BUILD}/from_tree/driver)

set(misused ${configure} -S ${SOURCE}/tests/install/misused -B ${BUILD}/misused)
run(1 "'SOURCE' is not allowed; allowed: DRIVER, SOURCES, LIBRARIES" ${misused} -DCMAKE_PREFIX_PATH=${prefix} -DKEYWORD=SOURCE)
run(1 "SOURCES is missing" ${misused} -DCMAKE_PREFIX_PATH=${prefix} -DKEYWORD=SOURCES)
set(right -DKEYWORD=SOURCES -DFILE=${SOURCE}/systems/serial/serial.cpp)
run(1 "set TASKGRAIN_RT_ONLY to OFF" ${misused} -DADDED=ON ${right})
# As a part of another build that asks for it.
run(0 "" ${misused} -DADDED=ON -DTASKGRAIN_RT_ONLY=OFF ${right})
