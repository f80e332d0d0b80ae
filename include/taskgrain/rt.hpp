#pragma once

/// taskgrain::rt, a runtime for fine-grained task graphs. This header has all of it but the ranks of MPI
/// (taskgrain/rt/mpi.hpp); docs/rt/ explains it. The headers in rt/detail/ are no interface.

#include "taskgrain/rt/detail/cxx20.hpp"

#include "taskgrain/rt/combinable.hpp"
#include "taskgrain/rt/communicator.hpp"
#include "taskgrain/rt/compiled_graph.hpp"
#include "taskgrain/rt/cores.hpp"
#include "taskgrain/rt/error.hpp"
#include "taskgrain/rt/event.hpp"
#include "taskgrain/rt/fork_join.hpp"
#include "taskgrain/rt/future.hpp"
#include "taskgrain/rt/global_array.hpp"
#include "taskgrain/rt/global_forks.hpp"
#include "taskgrain/rt/issue.hpp"
#include "taskgrain/rt/options.hpp"
#include "taskgrain/rt/parallel.hpp"
#include "taskgrain/rt/runtime.hpp"
#include "taskgrain/rt/sequence.hpp"
#include "taskgrain/rt/serialize.hpp"
#include "taskgrain/rt/task_graph.hpp"
#include "taskgrain/rt/taskflow.hpp"
