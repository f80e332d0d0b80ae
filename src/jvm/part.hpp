#pragma once

/// What a `taskgrain.Run` stands for: the run of a request that this process serves, or this process's part of one that
/// another process serves.

#include <jni.h>

#include <memory>
#include <optional>

#include "../core/process_books.hpp"
#include "../core/request.hpp"

namespace taskgrain::jvm {

struct Part {
  explicit Part(Execution& given) : execution(given) {}
  explicit Part(const RunRequest& request)
      : own(std::make_unique<Execution>(request.graphs, request.validation, request.isa, request.fault)),
        execution(*own) {
    execution.distribute();
  }

  std::unique_ptr<Execution> own;
  Execution& execution;
  std::optional<ProcessBooks> others;  ///< what other processes executed
};

inline jlong address(Part& part) { return reinterpret_cast<jlong>(&part); }
inline Part& part_at(jlong address) { return *reinterpret_cast<Part*>(address); }

}  // namespace taskgrain::jvm
