/// A `task_group` in an arena of two threads.

#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <memory>

#include "producer.hpp"

namespace producer {

namespace {
std::unique_ptr<tbb::global_control> threads;
std::unique_ptr<tbb::task_arena> arena;
}  // namespace

void start() {
  threads = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism, 2);
  arena = std::make_unique<tbb::task_arena>(2);
}
void stop() { arena.reset(); }

void produce(long tasks, long turns) {
  arena->execute([=] {
    be_the_producer();
    tbb::task_group group;
    for (long k = 0; k < tasks; ++k) group.run([=] { run_task(turns); });
    group.wait();
  });
}

}  // namespace producer
