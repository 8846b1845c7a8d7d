#pragma once
#include <string>
#include <vector>

namespace porthole {

/// The one of `known` that was probably meant by the mistyped `word`; "" if none is similar enough.
std::string closest_word(const std::string& word, const std::vector<std::string>& known);

}  // namespace porthole
