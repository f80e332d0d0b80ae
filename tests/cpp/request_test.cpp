/// Requests: what the driver protocol allows, and that whatever is wrong is named.

#include "request.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

#include "byte_count.hpp"
#include "taskgrain/error.hpp"
#include "taskgrain/pattern.hpp"

namespace taskgrain {
namespace {

using Json = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

RunRequest parsed(const std::string& text) { return run_request(Json::parse(text)); }

// The fields of graphs and kernels, and their defaults: fields_test.cpp.
TEST(RunRequest, ReadsEveryField) {
  const RunRequest run = parsed(
      R"({"op":"run","id":7,"repeats":5,"warmup":2,"validate":"full","isa":"portable","graphs":[
    {"pattern":"spread","steps":100,"width":16,"seed":9,"kernel":{"name":"memory_bound","iterations":3}},
    {"pattern":"fft","steps":4,"width":4}]})");
  EXPECT_EQ(run.id, 7);
  EXPECT_EQ(run.repeats, 5);
  EXPECT_EQ(run.warmup, 2);
  EXPECT_EQ(run.validation, Validation::full);
  EXPECT_EQ(run.isa, Isa::portable);
  ASSERT_EQ(run.graphs.size(), 2U);
  EXPECT_EQ(run.graphs[0].pattern, "spread");
  EXPECT_EQ(run.graphs[0].seed, 9U);
  EXPECT_EQ(run.graphs[0].kernel.iterations, 3);
  EXPECT_EQ(run.graphs[1].pattern, "fft");
}

TEST(RunRequest, HasTheDefaultsOfTheProtocol) {
  const RunRequest run = parsed(R"({"op":"run","graphs":[{"pattern":"stencil_1d","steps":10,"width":4}]})");
  EXPECT_EQ(run.repeats, 1);
  EXPECT_EQ(run.warmup, 0);
  EXPECT_EQ(run.validation, Validation::sample);
  EXPECT_EQ(run.isa, Isa::automatic);
  const GraphSpec& graph = run.graphs.at(0);
  EXPECT_EQ(graph.radix, 3);
  EXPECT_EQ(graph.fraction, 0.25);
  EXPECT_EQ(graph.output_bytes, 16U);
  EXPECT_EQ(graph.kernel.samples, 16);
}

TEST(RunRequest, IntegersMayBeWrittenWithAnExponentOrPoint) {
  EXPECT_EQ(graph_spec(Json::parse(R"({"steps":1e6})")).steps, 1'000'000);
  EXPECT_EQ(graph_spec(Json::parse(R"({"steps":12.0})")).steps, 12);
  EXPECT_EQ(graph_spec(Json::parse(R"({"output_bytes":1.6e1})")).output_bytes, 16U);
}

TEST(RunRequest, IntegersMayBeAsLargeAs2To63) {
  EXPECT_EQ(graph_spec(Json::parse(R"({"steps":9223372036854775807})")).steps, largest);
  EXPECT_EQ(parsed(R"({"id":9223372036854775807})").id, largest);
}

TEST(RunRequest, OnlyAFileMaySayStepsAndWidth) {
  for (const Pattern& pattern : patterns()) {
    SCOPED_TRACE(pattern.name);
    const std::string request = R"({"graphs":[{"pattern":")" + std::string(pattern.name) + R"("}]})";
    if (pattern.from_file) {
      EXPECT_EQ(parsed(request).graphs.front().pattern, pattern.name);
    } else {
      EXPECT_THROW(parsed(request), InvalidSpec);
    }
  }
}

struct InvalidRequest {
  const char* what;
  const char* request;
  const char* field;    ///< what the message begins with
  const char* message;  ///< what else it holds
};
void PrintTo(const InvalidRequest& invalid, std::ostream* out) { *out << invalid.request; }

class InvalidRequests : public testing::TestWithParam<InvalidRequest> {};

TEST_P(InvalidRequests, AreRefusedNamingTheField) {
  EXPECT_THAT([&] { parsed(GetParam().request); },
              testing::ThrowsMessage<InvalidSpec>(AllOf(StartsWith(std::string(GetParam().field) + ": "),
                                                        HasSubstr("allowed: "), HasSubstr(GetParam().message))));
}

INSTANTIATE_TEST_SUITE_P(
    All, InvalidRequests,
    testing::Values(
        InvalidRequest{"no_object", R"([1])", "request", "an object"},
        InvalidRequest{"unknown_field", R"({"op":"run","repeat":3})", "request", "'repeat'"},
        InvalidRequest{"unknown_field_says_the_known", R"({"x":3})", "request", "repeats, validate, warmup"},
        InvalidRequest{"unknown_graph_field", R"({"graphs":[{"height":3}]})", "graph", "'height'"},
        InvalidRequest{"unknown_kernel_field", R"({"graphs":[{"kernel":{"type":"empty"}}]})", "kernel", "'type'"},
        InvalidRequest{"graphs_no_list", R"({"graphs":{}})", "graphs", "a list of graphs"},
        InvalidRequest{"graph_no_object", R"({"graphs":[3]})", "graph", "an object"},
        InvalidRequest{"kernel_no_object", R"({"graphs":[{"kernel":"empty"}]})", "kernel", "an object"},
        InvalidRequest{"integer_list", R"({"id":[1]})", "id", "an integer"},
        InvalidRequest{"integer_above_2_63", R"({"graphs":[{"steps":9223372036854775808}]})", "steps", "below 2^63"},
        InvalidRequest{"integer_far_above", R"({"graphs":[{"steps":1e30}]})", "steps", "an integer"},
        InvalidRequest{"integer_just_above_as_float", R"({"graphs":[{"period":9.223372036854775808e18}]})", "period",
                       "an integer"},
        InvalidRequest{"no_repeats", R"({"repeats":0})", "repeats", "1 or more"},
        InvalidRequest{"negative_repeats", R"({"repeats":-2})", "repeats", "'-2'"},
        InvalidRequest{"negative_warmup", R"({"warmup":-1})", "warmup", "0 or more"},
        InvalidRequest{"unknown_validation", R"({"validate":"some"})", "validate", "off, sample, full"},
        InvalidRequest{"validation_no_text", R"({"validate":true})", "validate", "a string"},
        InvalidRequest{"unknown_isa", R"({"isa":"sse"})", "isa", "avx512"}),
    [](const auto& test) { return std::string(test.param.what); });

/// docs/reference/protocol.md: "only `pattern`, `steps` and `width` must be there".
TEST(RunRequest, GraphsWithoutPatternStepsOrWidthAreRefused) {
  for (const std::string missing : {"pattern", "steps", "width"}) {
    SCOPED_TRACE(missing);
    Json graph = {{"pattern", "trivial"}, {"steps", 3}, {"width", 3}};
    graph.erase(missing);
    EXPECT_THAT([&] { run_request({{"op", "run"}, {"graphs", Json::array({graph})}}); },
                testing::ThrowsMessage<InvalidSpec>(HasSubstr(missing)));
  }
}

TEST(Integer, IsReadFromText) {
  EXPECT_EQ(integer("--steps", "1000"), 1000);
  EXPECT_EQ(integer("--steps", "-5"), -5);
  EXPECT_EQ(integer("--steps", "1e3"), 1000);
  EXPECT_EQ(integer("--steps", "2.5e1"), 25);
  EXPECT_EQ(integer("--steps", "9223372036854775807"), largest);
  EXPECT_EQ(integer("--steps", "-9223372036854775808"), -largest - 1);
}

TEST(Integer, NothingElseIs) {
  for (const char* text :
       {"", " ", "1.5", "x", "1x", "1 ", " 1", "0x10", "1e", "1e30", "9223372036854775808", "inf", "nan", "--1"}) {
    SCOPED_TRACE(text);
    EXPECT_THAT([&] { integer("--steps", text); },
                testing::ThrowsMessage<InvalidSpec>(StartsWith("--steps: '" + std::string(text) + "'")));
  }
}

// The grammar: tests/python/words/test_numbers.py.
TEST(ByteCount, TakesEachWholeNumberThatIsWrittenInDigits) {
  EXPECT_EQ(byte_count("9007199254740993"), (std::int64_t{1} << 53) + 1);
  EXPECT_EQ(byte_count(" 9223372036854775807 "), largest);
  EXPECT_FALSE(byte_count("9223372036854775808"));
  EXPECT_FALSE(byte_count("8388608G"));
}

TEST(ByteCount, IsRefusedWithTheFlagsName) {
  EXPECT_THAT(
      [&] { field_value(*std::ranges::find(fields(), "output_bytes", &Field::name), "--output-bytes", "64KB"); },
      testing::ThrowsMessage<InvalidSpec>(AllOf(StartsWith("--output-bytes: '64KB' is not allowed; allowed: 16 "),
                                                HasSubstr(" bytes, such as 4096, 64K"))));
}

}  // namespace
}  // namespace taskgrain
