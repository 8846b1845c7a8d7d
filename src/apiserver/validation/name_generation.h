#pragma once
#include <string>
#include <string_view>

#include "runtime/random.h"

namespace porthole::apiserver {

/// A name from metadata.generateName: the prefix, cut if necessary, and five random characters that form no words.
std::string generated_name(std::string_view prefix, Random& random);

}  // namespace porthole::apiserver
