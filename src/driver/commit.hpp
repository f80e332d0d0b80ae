#pragma once

#include <string_view>

namespace taskgrain {

/// The commit that is built, or nothing outside of a checkout. In a source of its own, because it changes often.
std::string_view commit();

}  // namespace taskgrain
