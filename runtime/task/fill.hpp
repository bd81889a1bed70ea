#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace swage {

/// What stands for each {name} of a template.
using substitutions = std::vector<std::pair<std::string_view, std::string>>;

/// `text` with each {name} replaced; a name without a value stays as it is.
std::string fill(std::string_view text, const substitutions& values);

} // namespace swage
