# Builds for 64-bit Arm with Debian's cross compiler, and runs what was built in qemu-user. The libraries are Debian's for arm64,
# unpacked into a folder: `tools/test_aarch64` puts them there.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

cmake_path(SET TASKGRAIN_AARCH64_ROOT NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../build/aarch64-root")
if(NOT EXISTS ${TASKGRAIN_AARCH64_ROOT})
  message(FATAL_ERROR "The libraries for Arm are missing in ${TASKGRAIN_AARCH64_ROOT}; tools/test_aarch64 downloads them")
endif()
set(libraries ${TASKGRAIN_AARCH64_ROOT}/usr/lib/aarch64-linux-gnu ${TASKGRAIN_AARCH64_ROOT}/lib/aarch64-linux-gnu)
list(JOIN libraries ":" library_path)

# Libraries and headers of this machine are for another processor. Programs, such as Python, are this machine's.
set(CMAKE_FIND_ROOT_PATH ${TASKGRAIN_AARCH64_ROOT} /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${TASKGRAIN_AARCH64_ROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${TASKGRAIN_AARCH64_ROOT}/usr/lib/aarch64-linux-gnu/pkgconfig)

# What belongs to a processor lies in a folder that the compiler looks for elsewhere.
foreach(language C CXX)
  set(CMAKE_${language}_STANDARD_INCLUDE_DIRECTORIES ${TASKGRAIN_AARCH64_ROOT}/usr/include/aarch64-linux-gnu)
endforeach()
# GCC 12 warns without cause of `"text" + std::string` (its bug 105329), and of how GCC 9 passed arguments.
set(CMAKE_CXX_FLAGS_INIT "-Wno-restrict -Wno-psabi")
# The libraries that a library needs.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${library_path}")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH=${library_path})
