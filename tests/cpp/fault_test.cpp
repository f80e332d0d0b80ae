/// Runs that are asked for a fault: it strikes as often as asked and no more, what is executed again is counted, and
/// what is wrong is still found.

#include "taskgrain/fault.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>

#include "executor.hpp"
#include "request.hpp"
#include "taskgrain/error.hpp"

namespace taskgrain {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// A file that no other run has.
std::string new_file() {
  static int number = 0;
  return (test_folder() / ("fault_" + std::to_string(number++))).string();
}

const GraphSpec graph{
    .pattern = "stencil_1d", .steps = 12, .width = 6, .kernel = {.name = "busy_wait", .iterations = 7}};

Fault fault_of(std::string kind, std::int64_t times = 1) {
  return {.kind = std::move(kind), .step = 7, .point = 3, .times = times, .file = new_file()};
}

std::unique_ptr<Execution> execution_of(const Fault& fault) {
  return std::make_unique<Execution>(std::vector{graph}, Validation::full, Isa::automatic, fault);
}

bool struck(const Call& call) { return call.step == 7 && call.point == 3; }

/// Executes all tasks, the one that the fault strikes until it does not fail. \returns how often it has failed
int execute_with_retries(Execution& run) {
  Executor executor(run);
  int failures = 0;
  executor.execute([&](Call& call) {
    if (!struck(call)) return;
    for (;; ++failures) {
      try {
        return executor.execute(run.context(0), call);
      } catch (const std::runtime_error&) {
        call.times = 0;  // executed here
      }
    }
  });
  return failures;
}

TEST(Fault, ATaskFailsAsOftenAsAsked) {
  for (const int times : {1, 3}) {
    const auto run = execution_of(fault_of("fail", times));
    EXPECT_EQ(execute_with_retries(*run), times);
    EXPECT_EQ(run->strikes(), times);
    EXPECT_FALSE(run->verify()) << run->verify()->text();
    EXPECT_EQ(run->accounts().executed, run->tasks() + times) << "a failure is an execution, too";
    EXPECT_EQ(run->accounts().work, 7.0 * static_cast<double>(run->tasks())) << "but has done no work";
    EXPECT_EQ(run->accounts().dependencies, 11 * 16);
  }
}

TEST(Fault, ATaskThatThereIsNotIsKnownToAllProcesses) {
  const Fault fault = fault_of("note");
  const pid_t child = fork();
  if (child == 0) {
    const auto run = execution_of(fault);
    run->book_point(run->context(0), 0, 3, 100);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  const auto run = execution_of(fault);
  Executor(*run).execute();
  EXPECT_EQ(run->verify().value().kind, ViolationKind::no_such_task);
}

TEST(Fault, SaysWhatItIs) {
  const auto run = execution_of(fault_of("fail", 2));
  Executor executor(*run);
  EXPECT_THAT([&] { executor.execute(); },
              ThrowsMessage<std::runtime_error>(HasSubstr("task (7, 3) fails, time 1 of 2")));
  EXPECT_EQ(run->verify().value().kind, ViolationKind::skipped);
}

TEST(Fault, ATaskThatOnlyFailedIsSkipped) {
  Fault fault = fault_of("fail");
  fault.step = 11;  // nobody reads what it has not written
  const auto run = execution_of(fault);
  Executor executor(*run);
  executor.execute([&](Call& call) {
    if (call.step != 11 || call.point != 3) return;
    EXPECT_THROW(executor.execute(run->context(0), call), std::runtime_error);
    call.times = 0;
  });
  EXPECT_EQ(run->accounts().executed, run->tasks()) << "the failure is counted";
  EXPECT_EQ(run->verify().value().text(), "skipped: graph 0, step 11, point 3");
}

TEST(Fault, AProcessIsKilledOnceAndItsWorkIsCounted) {
  const Fault fault = fault_of("kill");
  const pid_t child = fork();
  if (child == 0) {
    const auto run = execution_of(fault);
    Executor(*run).execute();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  const auto run = execution_of(fault);
  EXPECT_EQ(run->strikes(), 1);
  EXPECT_EQ(run->accounts().executed, 7 * 6 + 3 + 1) << "all up to the task, and its beginning";
  Executor(*run).execute();  // does not kill this process
  EXPECT_FALSE(run->verify());
  EXPECT_EQ(run->accounts().executed, 7 * 6 + 3 + 1 + run->tasks());
}

TEST(Fault, ANoteChangesNothing) {
  const auto run = execution_of(fault_of("note"));
  Executor(*run).execute();
  EXPECT_FALSE(run->verify());
  EXPECT_EQ(run->strikes(), 1);
  EXPECT_EQ(run->accounts().executed, run->tasks());
}

TEST(Fault, WhatOneProcessFindsAllKnow) {
  const Fault fault = fault_of("note");
  const auto one = execution_of(fault), other = execution_of(fault);
  Executor(*one).execute([](Call& call) {
    if (call.step == 4 && call.point == 2) call.inputs.pop_back();
  });
  ASSERT_TRUE(other->verify());
  EXPECT_EQ(other->verify()->kind, ViolationKind::missing_input);
  EXPECT_EQ(other->verify()->step, 4);
  EXPECT_EQ(other->verify()->point, 2);
}

TEST(Fault, WhatIsExecutedAgainIsNoViolationAndWhatIsSkippedIs) {
  const auto verified = [](int times) {
    const auto run = execution_of(fault_of("note"));
    Executor(*run).execute([&](Call& call) {
      if (call.step == 11 && call.point == 1) call.times = times;
    });
    return run->verify();
  };
  EXPECT_FALSE(verified(3));
  EXPECT_EQ(verified(0).value().kind, ViolationKind::skipped);
}

TEST(Fault, AProducerMustHaveEndedAlsoInAnotherProcess) {
  const auto run = execution_of(fault_of("note"));
  run->distribute();
  Executor executor(*run);
  executor.execute(run->context(0), Call{0, 1, 0, {output_of(0, 0, 0, 16), output_of(0, 0, 1, 16)}});
  EXPECT_EQ(run->verify().value().kind, ViolationKind::early);
}

TEST(Fault, WhatARunCannotDoIsRefused) {
  const auto refusal = [](Fault fault, Validation validation = Validation::full) {
    try {
      const Execution run({graph}, validation, Isa::automatic, fault);
    } catch (const InvalidSpec& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  Fault fault = fault_of("kil");
  EXPECT_EQ(refusal(fault), "fault.kind: 'kil' is not allowed; allowed: kill, fail, note");
  fault = fault_of("kill");
  EXPECT_EQ(refusal(fault, Validation::sample),
            "validate: 'sample' is not allowed; allowed: full in a run with a fault");
  fault.graph = 1;
  EXPECT_EQ(refusal(fault), "fault.graph: '1' is not allowed; allowed: 0 to 0");
  fault.graph = 0, fault.step = 12;
  EXPECT_EQ(refusal(fault), "fault.step: '12' is not allowed; allowed: 0 to 11");
  fault.step = 7, fault.point = -1;
  EXPECT_EQ(refusal(fault), "fault.point: '-1' is not allowed; allowed: 0 to 5");
  fault.point = 3, fault.times = 0;
  EXPECT_EQ(refusal(fault), "fault.times: '0' is not allowed; allowed: 1 or more");
  fault.times = 1, fault.file = "/no/such/folder/file";
  EXPECT_THAT(refusal(fault), HasSubstr("fault.file: '/no/such/folder/file' is not allowed"));
  const GraphSpec wide{.pattern = "trivial", .steps = 1 << 14, .width = 1 << 14};
  EXPECT_THROW(Execution({wide}, Validation::full, Isa::automatic, fault_of("kill")), Unsupported);
}

// ---- requests

RunRequest parsed(const std::string& fields) {
  return run_request(nlohmann::json::parse(
      R"({"op":"run","validate":"full","graphs":[{"pattern":"trivial","steps":3,"width":4}],)" + fields + "}"));
}

TEST(FaultRequest, IsRead) {
  const Fault fault =
      parsed(R"("fault":{"kind":"fail","graph":0,"step":2,"point":3,"times":4,"file":"/tmp/x"})").fault.value();
  EXPECT_EQ(fault.kind, "fail");
  EXPECT_EQ(fault.step, 2);
  EXPECT_EQ(fault.point, 3);
  EXPECT_EQ(fault.times, 4);
  EXPECT_EQ(fault.file, "/tmp/x");
  EXPECT_FALSE(parsed(R"("id":1)").fault);
}

TEST(FaultRequest, WhatIsWrongIsNamed) {
  const auto refusal = [](const std::string& fields) {
    try {
      parsed(fields);
    } catch (const InvalidSpec& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string right = R"("fault":{"kind":"kill","step":2,"point":3,"file":"/tmp/x"})";
  EXPECT_EQ(refusal(right), "");
  EXPECT_THAT(refusal(right + R"(,"repeats":2)"), HasSubstr("repeats: '2' is not allowed; allowed: 1 in a run with"));
  EXPECT_THAT(refusal(right + R"(,"warmup":1)"), HasSubstr("warmup: '1' is not allowed; allowed: 0 in a run with"));
  EXPECT_THAT(refusal(R"("fault":7)"), HasSubstr("fault: '7' is not allowed; allowed: an object"));
  EXPECT_THAT(refusal(R"("fault":{"kind":"kill","step":2,"point":3})"), HasSubstr("fault.file: ''"));
  EXPECT_THAT(refusal(R"("fault":{"kind":"kill","step":"x","point":3,"file":"y"})"), HasSubstr("fault.step: '\"x\"'"));
  EXPECT_THAT(refusal(R"("fault":{"when":3})"), HasSubstr("fault: 'when' is not allowed; allowed: file, graph, kind"));
}

}  // namespace
}  // namespace taskgrain
