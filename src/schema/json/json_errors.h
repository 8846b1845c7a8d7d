#pragma once
#include <string_view>

#include <boost/json/error.hpp>

#include "base/result.h"

namespace porthole::schema {

/// What Boost.JSON's parser complained about after reading `at` bytes, as far as possible in Go's words.
Error json_syntax_error(std::string_view text, std::size_t at, boost::json::error_code code);
/// Error: BadRequest when something other than whitespace follows the value that ends at byte `used`.
Result<void> check_nothing_follows(std::string_view text, std::size_t used);

}  // namespace porthole::schema
