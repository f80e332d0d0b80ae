#pragma once

/// taskgrain::rt, a runtime for fine-grained task graphs. This header has all of it; docs/rt/ explains it.

#include "taskgrain/rt/compiled_graph.hpp"
#include "taskgrain/rt/error.hpp"
#include "taskgrain/rt/runtime.hpp"
#include "taskgrain/rt/taskflow.hpp"
