#pragma once

/// How a program ends. flags.cpp has the flags of all programs, and README.md says what they mean.

#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>

namespace apps {

/// Calls the body of a program. \returns the exit code: 2 for flags that are not allowed, which each rank finds by itself
template <typename Body>
int ended(const std::string& program, int rank, const Body& body) {
  try {
    body();
    return 0;
  } catch (const std::invalid_argument& error) {
    if (rank == 0) std::cerr << program << ": " << error.what() << std::endl;
    return 2;
  } catch (const std::exception& error) {
    std::cerr << program << ", rank " << rank << ": " << error.what() << std::endl;
    return 1;
  }
}

}  // namespace apps
