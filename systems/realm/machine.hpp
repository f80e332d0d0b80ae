#pragma once

/// Realm in one process: one CPU processor for each core of TASKGRAIN_CORES, bound to it.

#include <realm.h>

#include <algorithm>
#include <future>
#include <string>
#include <vector>

#include "taskgrain/binding.hpp"

class RealmMachine {
 public:
  static constexpr Realm::Processor::TaskFuncID first_free_task = Realm::Processor::TASK_ID_FIRST_AVAILABLE + 1;

  RealmMachine() {
    // What cannot be bound is said here: a task of Realm must not throw.
    std::async(std::launch::async, [this] { std::ranges::for_each(cores_, taskgrain::pin_this_thread); }).get();
    // No processor for the utility tasks of higher-level runtimes, no memory for instances. Its allocations of cores
    // may fail, for it wants cores of its own for threads that sleep; so each processor is bound by a task.
    std::vector<std::string> words = {
        "realm",  "-ll:cpu", std::to_string(cores_.size()), "-ll:util", "0", "-ll:csize", "0", "-ll:ib_rsize", "0",
        "-level", "5,gpu=6"};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    int count = static_cast<int>(arguments.size());
    arguments.push_back(nullptr);
    char** first = arguments.data();
    runtime_.init(&count, &first);
    Realm::Machine::ProcessorQuery processors(Realm::Machine::get_machine());
    processors.only_kind(Realm::Processor::LOC_PROC);
    processors_.assign(processors.begin(), processors.end());
    add_task(bind_task, bind);
    binding();
  }
  ~RealmMachine() {
    runtime_.shutdown();
    runtime_.wait_for_shutdown();
  }

  int size() const { return static_cast<int>(processors_.size()); }
  const std::vector<Realm::Processor>& processors() const { return processors_; }
  static std::string version() { return std::string("Realm ") + Realm::Runtime::get_library_version(); }

  void add_task(Realm::Processor::TaskFuncID id, Realm::Processor::TaskFuncPtr function) {
    runtime_.register_task(id, function);
  }

  /// The processors of the operating system that each of Realm's may run on, observed by itself.
  std::vector<std::vector<int>> binding() {
    std::vector<std::vector<int>> found(processors_.size());
    for (std::size_t k = 0; k < processors_.size(); ++k) {
      const Bind bind{cores_[k % cores_.size()], &found[k]};
      processors_[k].spawn(bind_task, &bind, sizeof bind).external_wait();
    }
    return found;
  }

 private:
  static constexpr Realm::Processor::TaskFuncID bind_task = Realm::Processor::TASK_ID_FIRST_AVAILABLE;
  struct Bind {
    int core;
    std::vector<int>* found;
  };
  static void bind(const void* arguments, std::size_t, const void*, std::size_t, Realm::Processor) {
    const auto& [core, found] = *static_cast<const Bind*>(arguments);
    taskgrain::pin_this_thread(core);
    *found = taskgrain::binding_of_this_thread();
  }

  const std::vector<int> cores_ = taskgrain::cores();
  Realm::Runtime runtime_;
  std::vector<Realm::Processor> processors_;
};
