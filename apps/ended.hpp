#pragma once

/// How a program ends. flags.cpp has the flags of all programs, and README.md says what they mean.

#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>

#include "taskgrain/error.hpp"

namespace apps {

/// Flags that cannot be read.
struct WrongFlags : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// Calls the body of a program. \returns the exit code: 2 for flags that are not allowed, which every rank finds itself
template <typename Body>
int ended(const std::string& program, int rank, const Body& body) {
  const auto refused = [&](const std::exception& error) {
    if (rank == 0) std::cerr << program << ": " << error.what() << std::endl;
    return 2;
  };
  try {
    body();
    return 0;
  } catch (const WrongFlags& error) {
    return refused(error);
  } catch (const taskgrain::InvalidSpec& error) {
    return refused(error);
  } catch (const std::exception& error) {
    std::cerr << program << ", rank " << rank << ": " << error.what() << std::endl;
    return 1;
  }
}

}  // namespace apps
