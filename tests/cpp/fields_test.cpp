/// The table of fields: each can be set from a request and from a flag, and what it does not allow is refused by name.

#include "taskgrain/fields.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "options.hpp"
#include "request.hpp"
#include "taskgrain/error.hpp"

namespace taskgrain {
namespace {

using Json = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// A value that the field allows and that is not its default.
FieldValue another(const Field& field) {
  switch (field.type) {
    case FieldType::integer:
    case FieldType::bytes:
      return std::get<std::int64_t>(default_of(field)) + 1;
    case FieldType::number:
      return field.high;
    case FieldType::flag:
      return !std::get<bool>(default_of(field));
    case FieldType::text:
      return std::string("a/file");
    case FieldType::choice:
      return std::string(field.choices().back());
  }
  return {};
}

/// A value that the field refuses; nothing where it takes all values of its type.
std::vector<FieldValue> refused(const Field& field) {
  std::vector<FieldValue> values;
  if (field.type == FieldType::choice) values.emplace_back(std::string("no_such_name"));
  if (field.type == FieldType::integer || field.type == FieldType::bytes) {
    values.emplace_back(static_cast<std::int64_t>(field.low) - 1);
    if (std::isfinite(field.high)) values.emplace_back(static_cast<std::int64_t>(field.high) + 1);
  }
  if (field.type == FieldType::number) values = {field.low - 0.5, field.high + 0.5};
  return values;
}

Json json_of(const FieldValue& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

GraphSpec from_json(const Field& field, const FieldValue& value) {
  if (field.name == "kernel") return graph_spec({{"kernel", {{"name", json_of(value)}}}});
  const Json object = {{field.name, json_of(value)}};
  return graph_spec(field.of_kernel ? Json{{"kernel", object}} : object);
}

std::string flag_of(const Field& field) {
  std::string flag = "--" + std::string(field.name);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

GraphSpec from_flag(const Field& field, const FieldValue& value) {
  CLI::App app;
  OptionParser parser(app);
  std::string words = flag_of(field);
  if (field.type != FieldType::flag) words += "=" + text_of(value);
  app.parse(words);
  return parser.finish().run.graphs.at(0);
}

/// The members that differ from those of a new specification, by name.
std::set<std::string_view> changed(const GraphSpec& spec) {
  std::set<std::string_view> names;
  for (const Field& field : fields())
    if (field.get(spec) != default_of(field)) names.insert(field.name);
  return names;
}

template <typename Call>
void expect_refused(Call call, const std::string& named, const Field& field, const FieldValue& value) {
  EXPECT_THAT(call, testing::ThrowsMessage<std::exception>(AllOf(HasSubstr(named + ": '" + text_of(value) + "'"),
                                                                 HasSubstr("allowed: " + allowed(field)))));
}

class EveryField : public testing::TestWithParam<Field> {};

TEST_P(EveryField, IsSetFromARequestAlone) {
  const GraphSpec spec = from_json(GetParam(), another(GetParam()));
  EXPECT_EQ(GetParam().get(spec), another(GetParam()));
  EXPECT_THAT(changed(spec), testing::ElementsAre(GetParam().name));
}

TEST_P(EveryField, IsSetFromAFlagAlone) {
  const GraphSpec spec = from_flag(GetParam(), another(GetParam()));
  EXPECT_EQ(GetParam().get(spec), another(GetParam()));
  EXPECT_THAT(changed(spec), testing::ElementsAre(GetParam().name));
}

TEST_P(EveryField, AllowsItsDefault) {
  GraphSpec spec;
  set_field(spec, GetParam(), default_of(GetParam()));
  EXPECT_TRUE(changed(spec).empty());
}

TEST_P(EveryField, IsRefusedByNameWhereItIsOutOfRange) {
  for (const FieldValue& value : refused(GetParam())) {
    SCOPED_TRACE(text_of(value));
    const std::string name(GetParam().name);
    expect_refused([&] { from_json(GetParam(), value); }, name, GetParam(), value);
    expect_refused([&] { from_flag(GetParam(), value); }, flag_of(GetParam()), GetParam(), value);
  }
}

/// A C++ program fills in a specification by itself.
TEST_P(EveryField, IsCheckedInASpecification) {
  if (GetParam().type == FieldType::choice || GetParam().unit == "B")
    GTEST_SKIP() << "holds nothing else, or is unsigned";
  for (const FieldValue& value : refused(GetParam())) {
    GraphSpec spec;
    GetParam().put(spec, value);
    if (GetParam().get(spec) != value) continue;  // an unsigned member cannot hold it
    expect_refused([&] { check_fields(spec); }, std::string(GetParam().name), GetParam(), value);
    expect_refused([&] { GetParam().of_kernel ? void(Kernel(spec.kernel, Isa::automatic)) : void(Graph(spec)); },
                   std::string(GetParam().name), GetParam(), value);
  }
}

TEST_P(EveryField, RefusesAnotherType) {
  const FieldType type = GetParam().type;
  const auto takes = [&](const Json& value) {
    if (type == FieldType::flag) return value.is_boolean();
    if (type == FieldType::text || type == FieldType::choice) return value.is_string();
    return type == FieldType::number ? value.is_number() : value.is_number_integer();
  };
  for (const Json& value : {Json(), Json(true), Json(1), Json(1.5), Json("1"), Json::array(), Json::object()}) {
    if (takes(value)) continue;
    SCOPED_TRACE(value);
    EXPECT_THAT([&] { field_value(GetParam(), value); },
                testing::ThrowsMessage<InvalidSpec>(
                    AllOf(StartsWith(std::string(GetParam().name) + ": '"), HasSubstr("allowed: "))));
  }
}

TEST_P(EveryField, HasAHelpThatIsASentence) {
  EXPECT_THAT(std::string(GetParam().help), testing::MatchesRegex("[A-Z].*[.]"));
}

INSTANTIATE_TEST_SUITE_P(All, EveryField, testing::ValuesIn(fields().begin(), fields().end()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Fields, NumbersThatAreNoneAreRefused) {
  for (const Field& field : fields()) {
    if (field.type != FieldType::number) continue;
    GraphSpec spec;
    EXPECT_THROW(set_field(spec, field, std::nan("")), InvalidSpec) << field.name;
  }
}

TEST(Fields, AllowedIsSaidInWords) {
  std::map<std::string_view, std::string> words;
  for (const Field& field : fields()) words[field.name] = allowed(field);
  EXPECT_EQ(words["steps"], "1 or more");
  EXPECT_EQ(words["fraction"], "0 to 1");
  EXPECT_EQ(words["output_bytes"], "16 to 2^40");
  EXPECT_EQ(words["persistent"], "true, false");
  EXPECT_THAT(words["pattern"], StartsWith("trivial, no_comm, stencil_1d, "));
  EXPECT_THAT(words["kernel"], StartsWith("empty, busy_wait, "));
}

}  // namespace
}  // namespace taskgrain
