/// taskgrain-run, with programs of the system and one of ours.

#include <fcntl.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "comm/watch.hpp"
#include "rt/asleep.hpp"
#include "rt/comm/processes.hpp"
#include "rt/refuse_calls.hpp"

namespace taskgrain::rt::detail {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// taskgrain-run with these arguments.
class Launched {
 public:
  explicit Launched(const std::vector<std::string>& arguments, const std::string& input = "")
      : input_(path("input")), output_(path("output")), launcher_([&] {
          std::ofstream(input_) << input;
          dup2(open(input_.c_str(), O_RDONLY), STDIN_FILENO);
          const int output = open(output_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
          dup2(output, STDOUT_FILENO);
          dup2(output, STDERR_FILENO);
          close(output);
          std::vector<char*> all{const_cast<char*>(TASKGRAIN_RUN)};
          for (const std::string& each : arguments) all.push_back(const_cast<char*>(each.c_str()));
          all.push_back(nullptr);
          execv(all[0], all.data());
          return 98;
        }) {}
  ~Launched() {
    std::filesystem::remove(input_);
    std::filesystem::remove(output_);
  }

  const Process& launcher() const { return launcher_; }
  int exit_code() { return launcher_.exit_code(); }
  void wait() { launcher_.wait(); }
  std::string output() const {
    std::ostringstream all;
    all << std::ifstream(output_).rdbuf();
    return all.str();
  }
  /// The lines of the output, once there are so many.
  std::vector<std::string> lines(std::size_t number) const {
    std::vector<std::string> all;
    EXPECT_TRUE(eventually([&] {
      all.clear();
      std::istringstream in(output());
      for (std::string line; std::getline(in, line);) all.push_back(line);
      return all.size() >= number;
    })) << output();
    return all;
  }

 private:
  static std::string path(const char* what) {
    static int number = 0;
    return testing::TempDir() + "taskgrain-run." + std::to_string(getpid()) + "." + std::to_string(++number) + "." +
           what;
  }

  const std::string input_, output_;
  Process launcher_;
};

std::vector<std::string> shell(const char* ranks, const char* script) { return {"-n", ranks, "sh", "-c", script}; }

/// The program that attaches.
std::vector<std::string> ranks_program(const char* ranks, const char* rank, const char* deed) {
  return {"-n", ranks, TASKGRAIN_RANKS_PROGRAM, rank, deed};
}

bool gone(pid_t process) {
  const auto state = process_state(process);
  return !state || state->ended();
}

TEST(Run, TellsEachRankWhichItIs) {
  Launched run(shell("3", "echo rank $TASKGRAIN_RANK of $TASKGRAIN_RANKS, $(readlink /proc/$$/fd/$TASKGRAIN_SEGMENT)"));
  EXPECT_EQ(run.exit_code(), 0);
  for (const char* rank : {"0", "1", "2"})
    EXPECT_THAT(run.output(), HasSubstr("rank " + std::string(rank) + " of 3, /memfd:taskgrain ranks (deleted)\n"));
}

TEST(Run, GivesTheInputToRankZero) {
  Launched run(shell("3", "echo $TASKGRAIN_RANK has $(cat)"), "bread");
  EXPECT_EQ(run.exit_code(), 0);
  EXPECT_THAT(run.output(), AllOf(HasSubstr("0 has bread\n"), HasSubstr("1 has\n"), HasSubstr("2 has\n")));
}

TEST(Run, EndsWithTheCodeOfTheFirstRankThatFails) {
  EXPECT_EQ(Launched(shell("1", "exit 5")).exit_code(), 5);
  EXPECT_EQ(Launched(shell("1", "kill -9 $$")).exit_code(), 137);
}

TEST(Run, EndsRanksThatDoNotEnd) {  // side by side: each of them takes five seconds or more
  Launched ends(shell("2", "test $TASKGRAIN_RANK = 1 && exit 3; trap 'exit 7' TERM; while :; do sleep 0.1; done"));
  Launched stays(shell("2", "test $TASKGRAIN_RANK = 0 && kill -9 $$; trap '' TERM; while :; do sleep 0.1; done"));
  Launched stopped(ranks_program("2", "1", "stop"));
  EXPECT_EQ(ends.exit_code(), 3);
  EXPECT_THAT(ends.output(), AllOf(HasSubstr("rank 1 (process "), HasSubstr(") ended with exit code 3\n"),
                                   HasSubstr("sends signal 15 (Terminated) to the ranks that have not ended: 0\n")));
  EXPECT_EQ(stays.exit_code(), 137);
  EXPECT_THAT(stays.output(), AllOf(HasSubstr(") ended by signal 9 (Killed)\n"),
                                    HasSubstr("sends signal 9 (Killed) to the ranks that have not ended: 1\n")));
  EXPECT_EQ(stopped.exit_code(), 137);
  EXPECT_THAT(stopped.output(),
              AllOf(HasSubstr("rank 0 loses 1: its process is stopped (SIGSTOP)\n"),
                    HasSubstr(") ended with exit code 0, because rank 1 has failed: its process is stopped "
                              "(SIGSTOP)\n")));
}

TEST(Run, TellsTheOthersThatARankIsKilled) {
  Launched run(ranks_program("3", "1", "kill"));
  EXPECT_EQ(run.exit_code(), 137);
  EXPECT_THAT(run.output(), AllOf(HasSubstr("rank 0 loses 1: ended by signal 9 (Killed)\n"),
                                  HasSubstr("rank 2 loses 1: ended by signal 9 (Killed)\n")));
}

TEST(Run, TellsTheOthersTheLastWordsOfARank) {
  Launched run(ranks_program("2", "1", "throw"));
  EXPECT_EQ(run.exit_code(), 3);
  EXPECT_THAT(run.output(), AllOf(HasSubstr("rank 0 loses 1: it said: no bread\n"),
                                  HasSubstr(") ended with exit code 3: no bread\n")));
}

TEST(Run, TellsTheOthersThatARankHasEndedTooEarly) {
  Launched run(ranks_program("2", "1", "return"));
  EXPECT_EQ(run.exit_code(), 0);
  EXPECT_THAT(run.output(), HasSubstr("rank 0 loses 1: ended with exit code 0, but has not left the others\n"));
  Launched other(ranks_program("2", "1", "never attach"));
  EXPECT_EQ(other.exit_code(), 0);
  EXPECT_THAT(other.output(), HasSubstr("rank 0 loses 1: ended with exit code 0, and never attached to the others\n"));
}

TEST(Run, TellsRanksThatAttachAgainOfOneThatDoesNot) {
  Launched run(ranks_program("3", "1", "come once"));
  run.wait();
  EXPECT_THAT(run.output(), HasSubstr("rank 1 failed: it has ended, and made fewer communicators than this rank\n"));
}

TEST(Run, TellsNothingOfRanksThatLeave) {
  Launched run(ranks_program("3", "1", "leave"));
  EXPECT_EQ(run.exit_code(), 0);
  EXPECT_EQ(run.output(), "");
}

/// The parent ignores how its children end and has closed its input; a sandbox or an old kernel lacks calls.
TEST(Run, WorksWhereLittleIsAllowed) {
  const std::string script =
      std::string("trap '' CHLD; exec ") + TASKGRAIN_RUN + " -n 2 " + TASKGRAIN_RANKS_PROGRAM + " 1 kill 0<&-";
  Process process([&] {
    if (!refuse_calls({SYS_memfd_create, SYS_pidfd_open})) return 0;
    Launched run(shell("1", script.c_str()));
    if (run.exit_code() != 137) return 1;
    return run.output().find("rank 0 loses 1: ended by signal 9 (Killed)\n") == std::string::npos ? 2 : 0;
  });
  EXPECT_EQ(process.exit_code(), 0);
}

TEST(Run, PassesSignalsOn) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    Launched run(shell("2", "trap 'echo got it; exit 0' INT TERM HUP; echo ready; while :; do sleep 0.05; done"));
    run.lines(2);
    run.launcher().send(signal);
    EXPECT_EQ(run.exit_code(), 0);
    EXPECT_THAT(run.lines(4), testing::UnorderedElementsAre("ready", "ready", "got it", "got it"));
  }
}

TEST(Run, EndsByASignalIfTheRanksDo) {
  Launched run(shell("2", "echo ready; exec sleep 100"));
  run.lines(2);
  run.launcher().send(SIGTERM);
  EXPECT_EQ(run.exit_code(), 128 + SIGTERM);
}

TEST(Run, LeavesNoRankWhenItIsKilled) {
  Launched run(shell("3", "echo $$; exec sleep 100"));
  const auto lines = run.lines(3);
  run.launcher().send(SIGKILL);
  run.wait();
  for (const std::string& line : lines) EXPECT_TRUE(eventually([&] { return gone(std::stoi(line)); }));
}

TEST(Run, LeavesNothingThatARankHasStarted) {
  if (!std::filesystem::exists("/proc/thread-self/children")) GTEST_SKIP() << "this kernel does not list children";
  Launched run(shell("2", "sleep 100 & echo $!"));
  const auto lines = run.lines(2);
  EXPECT_EQ(run.exit_code(), 0);
  for (const std::string& line : lines) EXPECT_TRUE(gone(std::stoi(line)));
}

TEST(Run, StartsNothingIfTheProgramIsMissing) {
  Launched missing({"-n", "2", "/no/such/program"});
  EXPECT_EQ(missing.exit_code(), 127);
  EXPECT_EQ(missing.output(), "taskgrain-run: cannot start '/no/such/program': No such file or directory\n");
  Launched refused({"-n2", "--", "/etc/passwd"});
  EXPECT_EQ(refused.exit_code(), 126);
  EXPECT_EQ(refused.output(), "taskgrain-run: cannot start '/etc/passwd': Permission denied\n");
}

TEST(Run, SharesOutProcessors) {
  const char* const script = "echo $TASKGRAIN_RANK: $(grep Cpus_allowed_list /proc/self/status | cut -f2)";
  Launched one({"-n", "2", "--cores=0", "sh", "-c", script});
  EXPECT_EQ(one.exit_code(), 0);
  EXPECT_THAT(one.lines(2), testing::UnorderedElementsAre("0: 0", "1: 0"));
  Launched all({"-n", "1", "--cores", "all", "sh", "-c", script});
  EXPECT_EQ(all.exit_code(), 0);
  std::ifstream status("/proc/self/status");
  std::string allowed;
  while (status >> allowed && allowed != "Cpus_allowed_list:") {
  }
  status >> allowed;
  EXPECT_EQ(all.output(), "0: " + allowed + "\n");
}

TEST(Run, SaysWhichArgumentsItDoesNotUnderstand) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{}, "-n: how many ranks?"},
      {{"true"}, "-n: how many ranks?"},
      {{"-n"}, "-n: the value is missing"},
      {{"-n", "two", "true"}, "-n: 'two'; allowed are 1 to 1024"},
      {{"-n", "0", "true"}, "-n: '0'; allowed are 1 to 1024"},
      {{"--ranks=1025", "true"}, "--ranks: '1025'; allowed are 1 to 1024"},
      {{"-n", "2"}, "PROGRAM is missing"},
      {{"-n", "2", "--core", "1", "true"}, "option '--core'; there are -n, --ranks, --cores and --help"},
      {{"-n", "2", "--cores", "0,,1", "true"}, "--cores: ''; allowed are 0 to"},
      {{"-n", "2", "--cores", "3-1", "true"}, "--cores: '3-1' ends before it begins"},
      {{"-n", "2", "--cores", "0,0", "true"}, "--cores: processor 0 is there twice"},
      {{"-n", "2", "--cores", "99999", "true"}, "--cores: processor 99999; this process may use 0"},
      {{"-n", "2", "--cores"}, "--cores: the value is missing"},
  };
  for (const auto& [arguments, said] : wrong) {
    Launched run(arguments);
    EXPECT_EQ(run.exit_code(), 2);
    EXPECT_THAT(run.output(), HasSubstr("taskgrain-run: " + said));
  }
}

TEST(Run, Helps) {
  Launched run({"--help"});
  EXPECT_EQ(run.exit_code(), 0);
  EXPECT_THAT(run.output(), AllOf(HasSubstr("taskgrain-run -n RANKS"), Not(HasSubstr("taskgrain-run: "))));
}

TEST(Run, SaysThatMemoryIsShort) {
  if (sanitized) GTEST_SKIP() << "sanitizers use most of the address space";
  Process process([] {
    limit_to(RLIMIT_AS, 200 << 20);
    Launched run({"-n", "64", "true"});
    if (run.exit_code() != 1) return 1;
    return run.output().find("taskgrain-run: cannot map ") == std::string::npos ? 2 : 0;
  });
  EXPECT_EQ(process.exit_code(), 0);
}

}  // namespace
}  // namespace taskgrain::rt::detail
