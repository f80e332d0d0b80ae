/// The producer is a task of worker 0, and so are the tasks that it makes, unless a thief takes them.

#include <memory>

#include "producer.hpp"
#include "taskgrain/rt.hpp"

namespace producer {

namespace {
std::unique_ptr<taskgrain::rt::Runtime> runtime;
}

void start() { runtime = std::make_unique<taskgrain::rt::Runtime>(taskgrain::rt::RuntimeOptions{.workers = 2}); }
void stop() { runtime.reset(); }

void produce(long tasks, long turns) {
  taskgrain::rt::Taskflow<long> make(*runtime, "make"), flow(*runtime);
  flow.indegree([](long) { return 1; }).worker([](long) { return 0; }).run([=](long) { run_task(turns); });
  make.indegree([](long) { return 1; }).worker([](long) { return 0; }).bound([](long) { return true; });
  make.run([&](long) {
    be_the_producer();
    for (long k = 0; k < tasks; ++k) flow.fulfill(k);
  });
  make.fulfill(0);
  runtime->wait();
}

}  // namespace producer
