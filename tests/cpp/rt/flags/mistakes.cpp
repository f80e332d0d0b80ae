/// What a user may get wrong at first, by MISTAKE: the compiler must say it in words of the user's program.

#include "taskgrain/rt.hpp"

namespace rt = taskgrain::rt;

struct Gaps {
  char a;
  int b;
};

struct Tasks {
  int indegree(int) const { return 1; }
  void run(int) const {}
#if MISTAKE == 4
  int priority() const { return 1; }
#elif MISTAKE == 5
  void after(auto notify) const { notify(1); }
#elif MISTAKE == 6
  std::size_t number(const char*) const { return 1; }
  std::size_t number(int, int) const { return 1; }
#elif MISTAKE == 7
 private:
  int worker(int) const { return 1; }
#endif
};

struct ThrowsAtItsEnd {
  ~ThrowsAtItsEnd() noexcept(false) {}
  void operator()() const {}
};

int main() {
  rt::Runtime runtime;
#if MISTAKE == 1
  rt::Taskflow<Gaps> flow(runtime);
  flow.indegree([](Gaps) { return 1; }).run([](Gaps) {}).fulfill({});
#elif MISTAKE == 2
  rt::Communicator comm;
  comm.active_message([](int, auto) {});
#elif MISTAKE == 3
  rt::Communicator comm;
  double place = 0;
  comm.large_active_message([&](std::size_t) { return &place; }, [](auto...) {}, [] {});
#elif MISTAKE == 8
  rt::Sequence(runtime).task({}, ThrowsAtItsEnd{});
#elif MISTAKE == 9
  rt::TaskGraph().task(0, ThrowsAtItsEnd{});
#else
  rt::Taskflow<int, Tasks> flow(runtime, Tasks{});
#endif
}
