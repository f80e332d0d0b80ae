/// The fields that set how large a task is, as the table describes them.

#include <cstdio>

#include "taskgrain/fields.hpp"

using namespace taskgrain;

int main() {
  for (const Field& field : fields()) {
    if (field.type != FieldType::bytes && field.name != "iterations") continue;
    std::printf("%s (%s, default %s, allowed %s)\n  %s\n", std::string(field.name).c_str(),
                std::string(name(field.type)).c_str(), text_of(default_of(field)).c_str(), allowed(field).c_str(),
                std::string(field.help).c_str());
  }
}
