# Compiles a program that includes HEADER with C++17: the compiler says one thing, that C++20 is needed.
string(MAKE_C_IDENTIFIER ${HEADER} name)
set(source ${CMAKE_CURRENT_BINARY_DIR}/cxx17_${name}.cpp)
file(WRITE ${source} "#include \"${HEADER}\"\nint main() { taskgrain::rt::Runtime runtime; }\n")
execute_process(COMMAND ${CXX} -std=c++17 -I${INCLUDE} -fsyntax-only ${source} RESULT_VARIABLE code ERROR_VARIABLE said)
string(REGEX MATCHALL "error:" errors "${said}")
if(code EQUAL 0 OR NOT errors STREQUAL "error:" OR NOT said MATCHES "taskgrain::rt needs C\\+\\+20")
  message(FATAL_ERROR "expected one error that names C++20, but ${CXX} ended with ${code} and said:\n${said}")
endif()
