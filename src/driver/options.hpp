#pragma once

/// The flags of a driver that a person starts.

#include <CLI/CLI.hpp>
#include <string>

#include "../core/request.hpp"

namespace taskgrain {

struct Options {
  RunRequest run;
  std::string batch;  ///< file of requests; empty: run what the flags say
  bool json = false;
};

/// Declares all flags on `app`; after parsing, `finish()` gives the options. \throws InvalidSpec
class OptionParser {
 public:
  explicit OptionParser(CLI::App& app);
  Options finish();

 private:
  Options options_;
  GraphSpec graph_;
  std::int64_t graphs_ = 1;
};

}  // namespace taskgrain
