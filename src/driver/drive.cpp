#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "options.hpp"
#include "protocol.hpp"
#include "runs.hpp"
#include "taskgrain/driver.hpp"
#include "taskgrain/error.hpp"
#include "taskgrain/simulation.hpp"

namespace taskgrain {
namespace {

using Json = nlohmann::json;

Json ready(System& system, Build build) {
  Json event = {{"event", "ready"},        {"protocol", protocol_version},
                {"system", system.name()}, {"version", system.version()},
                {"nodes", system.nodes()}, {"cores", system.cores()},
                {"binding", Json::array()}};
  if (simulation == nullptr) event["binding"] = system.binding();
  if (system.ranks() > 0) event["ranks"] = system.ranks();
  if (const std::string library = system.library(); !library.empty()) event["library"] = library;
  event.update(build_facts(build));
  return event;
}

/// Serves requests until `quit` or the end of the stream; `failed` if any answer was an error. Every process of the
/// system takes part in each request.
int serve(System& system, Build build, std::istream& requests, bool& failed) {
  for (;;) {
    std::string line;
    if (system.answers() && !std::getline(requests, line)) line = R"({"op":"quit"})";
    system.share(line);
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    bool quit = false;
    const Json reply = answer_line(line, [&](const Json& request) -> Json {
      const auto& op = request["op"].get_ref<const std::string&>();
      if (op == "hello") return ready(system, build);
      if (op == "run") {
        const RunRequest wanted = run_request(request);
        return answer(wanted, run(system, wanted));
      }
      if (op == "quit") {
        quit = true;
        return nullptr;
      }
      throw InvalidSpec("op", op, "hello, run, quit");
    });
    if (quit) return 0;
    failed = failed || reply["event"] == "error";
    if (system.answers()) print_answer(reply);
  }
}

void print_readable(const System& system, const RunRequest& request, const RunResult& result) {
  std::vector<double> sorted = result.seconds;
  std::ranges::sort(sorted);
  const double median = sorted[sorted.size() / 2];
  const auto tasks = static_cast<double>(result.tasks);
  const auto row = [](const char* label, auto... values) {
    std::printf("  %-14s ", label);
    std::printf(values...);
    std::printf("\n");
  };
  std::printf("%s (%s), %d core%s, pattern %s\n", system.name().c_str(), system.version().c_str(), system.cores(),
              system.cores() == 1 ? "" : "s", request.graphs.front().pattern.c_str());
  row("seconds", "%.6g (median of %zu; %.6g to %.6g)", median, sorted.size(), sorted.front(), sorted.back());
  row("tasks", "%lld, each executed once", static_cast<long long>(result.tasks));
  row("dependences", "%lld", static_cast<long long>(result.accounts.dependencies));
  row("granularity", "%.6g us (wall time x cores / tasks)", 1e6 * median * system.cores() / tasks);
  row("rate", "%.4g %s/s", result.accounts.work / median, std::string(name(result.work_unit)).c_str());
  row("peak memory", "%.1f MiB a process", static_cast<double>(result.peak_rss_bytes) / 0x1p20);
}

int run_once(System& system, const Options& options) {
  const RunResult result = run(system, options.run);
  if (!system.answers()) return 0;
  if (options.json) {
    print_answer(answer(options.run, result));
  } else if (result.violation) {
    std::fprintf(stderr, "%s: validation failed: %s\n", system.name().c_str(), result.violation->text().c_str());
  } else {
    print_readable(system, options.run, result);
  }
  return result.violation ? 1 : 0;
}

int drive(int argc, char** argv, System& system, Build build) {
  CLI::App app("taskgrain driver of the system " + system.name() +
               ".\nWithout options it serves the harness: one JSON request a line on standard input.");
  OptionParser parser(app);
  bool failed = false;
  try {
    if (argc == 1 && !(system.answers() && isatty(STDIN_FILENO) != 0)) return serve(system, build, std::cin, failed);
    if (argc == 1) throw CLI::CallForHelp();
    app.parse(argc, argv);
    const Options options = parser.finish();
    if (options.batch.empty()) return run_once(system, options);
    std::ifstream requests(options.batch);
    const int code = serve(system, build, requests, failed);
    return failed ? 1 : code;
  } catch (const CLI::ParseError& error) {
    if (!system.answers()) return error.get_exit_code() == 0 ? 0 : 2;
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const InvalidSpec& error) {
    if (system.answers()) std::fprintf(stderr, "%s: %s\n", system.name().c_str(), error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", system.name().c_str(), error.what());
    return 1;
  }
}

}  // namespace

int drive(int argc, char** argv, const std::function<std::unique_ptr<System>()>& make, Build build) {
  std::unique_ptr<System> system;
  try {
    system = make();
  } catch (const InvalidSpec& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
  return drive(argc, argv, *system, build);
}

}  // namespace taskgrain
