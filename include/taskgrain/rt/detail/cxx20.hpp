#pragma once

/// The first thing that each public header includes: an older language, or one without exceptions, gets one error that
/// says what to do. Compilers go on after an #error, and what follows would be hundreds of others; a header that is not
/// there stops them.

#if __cplusplus < 202002L
#include "taskgrain::rt needs C++20: compile with -std=c++20 or newer"
#elif !defined(__cpp_exceptions)
#include "taskgrain::rt needs exceptions: compile without -fno-exceptions"
#endif
