#include "protocol.hpp"

#include <cstdio>
#include <exception>
#include <stdexcept>

#include "commit.hpp"
#include "taskgrain/error.hpp"
#include "taskgrain/kernel.hpp"

namespace taskgrain {

namespace {

using Json = nlohmann::json;

Json error(const Json& request, const char* kind, const std::string& message) {
  const Json id = request.is_object() && request.contains("id") ? request["id"] : Json(nullptr);
  return {{"event", "error"}, {"id", id}, {"kind", kind}, {"message", message}};
}

}  // namespace

void print_answer(const Json& answer) {
  // A runtime may print bytes that are no UTF-8 into a message: replace them rather than throw.
  const std::string text = answer.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::printf("%.*s%s\n", static_cast<int>(answer_prefix.size()), answer_prefix.data(), text.c_str());
  std::fflush(stdout);
}

Json answer_line(const std::string& line, const std::function<Json(const Json&)>& handle) {
  const Json request = Json::parse(line, nullptr, false);
  try {
    if (!request.is_object() || !request.contains("op") || !request["op"].is_string())
      throw InvalidSpec("request", line.substr(0, 200), "a JSON object with a string 'op'");
    return handle(request);
  } catch (const InvalidSpec& invalid) {
    return error(request, "invalid", invalid.what());
  } catch (const Unsupported& unsupported) {
    return error(request, "unsupported", unsupported.what());
  } catch (const std::bad_alloc&) {
    return error(request, "unsupported", "not enough memory for these graphs");
  } catch (const std::length_error&) {  // of a vector
    return error(request, "unsupported", "not enough memory for these graphs");
  } catch (const std::exception& failure) {
    return error(request, "system", failure.what());
  }
}

Json build_facts(Build build) {
  return {{"compiler", build.compiler},
          {"flags", build.flags},
          {"commit", commit()},
          {"isa", name(best_isa())}};
}

Json build_facts() { return build_facts(this_build); }

}  // namespace taskgrain
